#!/usr/bin/env python3
"""Makes small/NAME.gguf and small/NAME.cases.jsonl from trained tokenizers: make_small.py FOLDER [NAME...]

FOLDER holds NAME/tokenizer.json or NAME/tokenizer.model with NAME/cases.jsonl (the goldens of the tokenizer folder).
A vocabulary is written the way llama.cpp's converter does it. Cases whose ids depend on an added token's strip or
word flags are left out, since a GGUF file does not have them.
"""
import json
import os
import struct
import sys

BPE = {"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen2": "qwen2", "qwen35": "qwen35", "o200k": "gpt-4o",
       "deepseek-v3": "deepseek-v3", "deepseek-llm": "deepseek-llm", "deepseek-coder": "deepseek-coder",
       "starcoder": "starcoder", "falcon": "falcon"}
NFC = {"bpe-qwen2", "bpe-qwen35"}
HERE = os.path.dirname(os.path.abspath(__file__))
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)


def text(s):
    b = s if isinstance(s, bytes) else s.encode()
    return struct.pack("<Q", len(b)) + b


def value(v):
    """(type, bytes) of a metadata value; a pair is (element type, list)."""
    if isinstance(v, bool):
        return 7, struct.pack("<?", v)
    if isinstance(v, int):
        return 4, struct.pack("<I", v)
    if isinstance(v, str):
        return 8, text(v)
    kind, items = v
    body = {8: lambda x: text(x), 6: lambda x: struct.pack("<f", x), 5: lambda x: struct.pack("<i", x),
            0: lambda x: struct.pack("<B", x)}[kind]
    return 9, struct.pack("<IQ", kind, len(items)) + b"".join(body(x) for x in items)


def write_gguf(path, meta):
    out = b"GGUF" + struct.pack("<IQQ", 3, 0, len(meta))
    for k, v in meta.items():
        kind, body = value(v)
        out += text(k) + struct.pack("<I", kind) + body
    with open(path, "wb") as f:
        f.write(out + b"\0" * (-len(out) % 32))


def common(model, tokens, types):
    return {"general.architecture": "llama", "tokenizer.ggml.model": model, "tokenizer.ggml.tokens": (8, tokens),
            "tokenizer.ggml.token_type": (5, types)}


def json_tokens(j):
    tokens = [None] * (1 + max([*j["model"]["vocab"].values(), *(a["id"] for a in j["added_tokens"])]))
    types = [NORMAL] * len(tokens)
    for t, i in j["model"]["vocab"].items():
        tokens[i] = t
    for a in j["added_tokens"]:
        tokens[a["id"]] = a["content"]
        types[a["id"]] = CONTROL if a["special"] else USER
    return tokens, types


def bpe(folder, pre):
    j = json.load(open(f"{folder}/tokenizer.json"))
    tokens, types = json_tokens(j)
    m = common("gpt2", tokens, types)
    m["tokenizer.ggml.pre"] = pre
    m["tokenizer.ggml.merges"] = (8, [x if isinstance(x, str) else " ".join(x) for x in j["model"]["merges"]])
    m["tokenizer.ggml.add_bos_token"] = pre in ("llama-bpe", "deepseek-v3")
    m["tokenizer.ggml.bos_token_id"] = m["tokenizer.ggml.eos_token_id"] = tokens.index("<|endoftext|>")
    return m


def wordpiece(folder, lower):
    j = json.load(open(f"{folder}/tokenizer.json"))
    tokens, types = json_tokens(j)
    special = {n: tokens.index(f"[{n}]") for n in ("UNK", "CLS", "SEP", "PAD", "MASK")}
    tokens = [t if k == CONTROL else t[2:] if t.startswith("##") else "\u2581" + t for t, k in zip(tokens, types)]
    m = common("bert", tokens, types)
    m["tokenizer.ggml.unknown_token_id"] = special["UNK"]
    m["tokenizer.ggml.bos_token_id"] = special["CLS"]
    m["tokenizer.ggml.seperator_token_id"] = special["SEP"]
    m["tokenizer.ggml.padding_token_id"] = special["PAD"]
    m["tokenizer.ggml.normalizer.lowercase"] = lower
    return m


def fields(b):
    """(number, value) of a protobuf message's fields."""
    i = 0

    def varint():
        nonlocal i
        v = shift = 0
        while True:
            c = b[i]
            i += 1
            v |= (c & 127) << shift
            shift += 7
            if c < 128:
                return v
    while i < len(b):
        key = varint()
        if key & 7 == 0:
            v = varint()
        else:
            n = {1: 8, 5: 4}.get(key & 7) or varint()
            v = b[i:i + n]
            i += n
        yield key >> 3, v


def sentencepiece(folder, model):
    tokens, scores, types, charsmap = [], [], [], b""
    prefix = extra = True
    ids = {40: 0, 41: 1, 42: 2, 43: -1}  # unk, bos, eos, pad
    for k, v in fields(open(f"{folder}/tokenizer.model", "rb").read()):
        if k == 1:
            p = {1: b"", 2: struct.pack("<f", 0), 3: NORMAL, **dict(fields(v))}
            tokens.append(p[1])
            scores.append(struct.unpack("<f", p[2])[0])
            types.append(p[3])
        elif k == 2:
            ids.update((a, b - 2 ** 64 if b >= 2 ** 63 else b) for a, b in fields(v) if a in ids)
        elif k == 3:
            spec = dict(fields(v))
            charsmap, prefix, extra = spec.get(2, b""), bool(spec.get(3, 1)), bool(spec.get(4, 1))
    m = common(model, tokens, types)
    m["tokenizer.ggml.scores"] = (6, scores)
    m["tokenizer.ggml.add_space_prefix"] = prefix
    m["tokenizer.ggml.remove_extra_whitespaces"] = extra
    if charsmap:
        m["tokenizer.ggml.precompiled_charsmap"] = (0, list(charsmap))
    for k, name in ((40, "unknown"), (41, "bos"), (42, "eos"), (43, "padding")):
        if ids[k] >= 0:
            m[f"tokenizer.ggml.{name}_token_id"] = ids[k]
    return m


def build(folder, name):
    kind, _, style = name.partition("-")
    if kind == "bpe":
        return bpe(folder, BPE[style])
    if kind == "wordpiece":
        return wordpiece(folder, style == "uncased")
    m = sentencepiece(folder, "llama" if kind == "spm" else "t5")
    if style == "xlmr":
        m["tokenizer.ggml.add_bos_token"] = m["tokenizer.ggml.add_eos_token"] = True
    return m


def cases(folder, name):
    for line in open(f"{folder}/cases.jsonl"):
        c = json.loads(line)
        t = c["text"]
        if "wordy" in t or "<tool>" in t or (name != "spm-gemma" and "<mask>" in t):
            continue
        # What the sentencepiece library says comes first: a GGUF file is made from tokenizer.model.
        own = c.get("spm_ids")
        out = {"text": t, "ids": c["ids"] if own is None else own}
        if own is not None and own != c.get("ids"):
            out["plain"] = True  # that library never reads control tokens in a text
        if own is None or own == c.get("ids"):
            for k in ("ids_special", "decoded", "decoded_skip"):
                if k in c and not (k == "decoded" and c[k] == t):
                    out[k] = c[k]
        if name in NFC:
            out["nfc"] = True
        yield out


def main():
    root, names = sys.argv[1], sys.argv[2:]
    names = names or ["bpe-" + n for n in BPE] + ["spm-llama", "spm-gemma", "unigram-t5", "unigram-xlmr",
                                                  "wordpiece-cased", "wordpiece-uncased"]
    os.makedirs(f"{HERE}/small", exist_ok=True)
    for name in names:
        folder = os.path.join(root, name)
        write_gguf(f"{HERE}/small/{name}.gguf", build(folder, name))
        with open(f"{HERE}/small/{name}.cases.jsonl", "w") as f:
            for c in cases(folder, name):
                f.write(json.dumps(c, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
