#!/usr/bin/env python3
"""Makes pretokenize.cases.jsonl with the `regex` package (pip install regex): make_pretokenize.py [--random N SEED]

The patterns are those that models publish in tokenizer.json; each stage cuts every fragment of the one before into
matches and gaps. With --random, prints that many more cases of random text to standard output, for a wider comparison.
"""
import json
import os
import random
import sys

import regex

HERE = os.path.dirname(os.path.abspath(__file__))
ANY_CASE = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
SPACES = r"\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|" + SPACES
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
EAST_ASIA = r"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
HAN_KANA = r"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
SENTENCE = r" ?[^(\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"
MARK_WORD = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"


def lead(digits, spaces=SPACES, before=ANY_CASE + "|", letters=r"\p{L}", mark=r"\s\p{L}\p{N}", tail=r"[\r\n]*"):
    return (before + rf"[^\r\n\p{{L}}\p{{N}}]?[{letters}]+|\p{{N}}{digits}| ?[^{mark}]+{tail}|\s*[\r\n]+|" + spaces)


def cased(digits, after=ANY_CASE + "?", tail=r"[\r\n/]*", upper=UPPER, lower=LOWER, before=""):
    return (before + rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{after}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{after}"
            rf"|\p{{N}}{digits}| ?[^\s\p{{L}}\p{{N}}]+{tail}|\s*[\r\n]+|" + SPACES)


PATTERNS = {
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "llama-bpe": [lead("{1,3}")],
    "jais-2": [lead("{1,3}", spaces="|".join(rf"\s{{{n}}}(?!\S)" for n in (512, 256, 128, 64, 32, 16, 8, 4))
                    + r"|\s{1,2}(?!\S)|\s")],
    "qwen2": [lead("")],
    "qwen35": [lead("", letters=r"\p{L}\p{M}", mark=r"\s\p{L}\p{M}\p{N}")],
    "minicpm5": [r"\p{N}{1,3}", lead("+")],
    "ufakzeka": [lead("", before="")],
    "seed-coder": [lead("", mark=r"\s\p{L}\p{N}\r\n", tail="")],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|" + lead("", before="")],
    "laguna": [r"[^\n]+|\n+", lead("")],
    "gpt-4o": [cased("{1,3}")],
    "tekken": [cased("", after="")],
    "kimi-k2": [cased("{1,3}", tail=r"[\r\n]*", upper=rf"[{UPPER}&&[^\p{{Han}}]]", lower=rf"[{LOWER}&&[^\p{{Han}}]]",
                      before=r"\p{Han}+|")],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", cased("")],
    "exaone-moe": [ANY_CASE + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
                   r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|" + SPACES],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIA, r"\p{N}"],
    "deepseek-v3": [r"\p{N}{1,3}", HAN_KANA, MARK_WORD + r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|" + SPACES],
    "spark2_5": [r"\p{N}{1,3}", HAN_KANA, MARK_WORD + r"| ?[\p{P}\p{S}]+|[\r\n]|" + SPACES, r"\p{N}"],
    "youtu": [r"[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c"
              r"\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|" + HAN_KANA, cased("")],
    "bloom": [SENTENCE],
    "viking": [SENTENCE, r"\p{N}"],
    "superbpe": [r"\p{N}+", r"(?=(?:\d{3})+(?!\d))"],
    "gemma4": [r"[^\n]+|\n+"],
}
RULES = {name: [regex.compile("(?V1)" + p) for p in stages] for name, stages in PATTERNS.items()}

FIXED = ["Hello world", " Hello  world ", "I'm, I'M; you'LL he'd we've 's", "1 12 123 1234 1234567 3.14 1,000", "a1b22c333",
         "XMLHttpRequest helloWorldFooBar CONSTANT", "x \n\n\n y\n", "  \n  \n", "\r\n\r\n\tx", "tab\t\tx", "...!?\n/\n/x",
         "caf\u00e9 cafe\u0301 \u0301\u0301a A\u0301B", "\u4e2d\u6587English\u6df7\u5408 \u30ab\u30ca\u304b\u306a \u3005\u3007",
         "\ud55c\uae00 \u3131\u3134 \u3105\u3106", "\u00bd\u00b2\u0663\u2167 3\u00bd", "\u01c5\u02b0\u00aaX", "\u200d\u200b\u0000\u0001",
         "\U0001f600 \U0001f469\u200d\U0001f680", "\u00a0\u3000\u2028x", "<|x|> `code` $a^2$ foo_bar", "price: $3.50 (about 4%)",
         "\u201cquoted\u201d \u2026\u2014 \uff0c\u3002", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e01\u0e34", " " * 7, " " * 9 + "x", " " * 530 + "x", "(a)[b]{c}#d",
         "if (x) {\n    return y;  // z\n}\n"]
POOL = (list("aaabBzZ''sStTlLdDrReE  \n\n\r\t..,!?/-_()$<`|^0123456789") + list("\u00b2\u00bd\u0663\u00e9\u00c9\u0301\u0308\u02b0\u00aa\u4e2d\u6587\u304b\u30ab\u30fc\ud55c\uae00\u0130\u0131\u01c5\u00df")
        + list("\u200d\u200b\U0001f600\u00a0\u3000\u2028\u0964\u3001\u3002\u2026\u201c\u00ab\u0085\u0e01\u102d\u093e\U0001d4d7\u03a9\u017f\u3105\u314f\u2167\u3005\u3007\ue000\U00020bb7"))


def split(name, text):
    fragments = [text]
    for rule in RULES[name]:
        out = []
        for f in fragments:
            at = 0
            for m in rule.finditer(f):
                out += [f[at:m.start()], m.group()]
                at = m.end()
            out.append(f[at:])
        fragments = [f for f in out if f]
    return fragments


def texts(n, seed):
    r = random.Random(seed)
    for _ in range(n):
        pool = r.sample(POOL, r.choice([3, 5, 8, len(POOL)]))
        yield "".join(r.choice(pool) for _ in range(r.choice([2, 3, 5, 8, 12, 20, 40])))


def write(out, some):
    for name in PATTERNS:
        for text in some:
            ends, at = [], 0
            for f in split(name, text):
                at += len(f.encode())
                ends.append(at)
            out.write(json.dumps({"pre": name, "text": text, "ends": ends}, separators=(",", ":")) + "\n")


def main():
    if sys.argv[1:2] == ["--random"]:
        return write(sys.stdout, list(texts(int(sys.argv[2]), int(sys.argv[3]))))
    with open(f"{HERE}/pretokenize.cases.jsonl", "w") as f:
        write(f, FIXED + list(texts(20, 1)))


if __name__ == "__main__":
    main()
