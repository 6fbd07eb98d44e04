#!/usr/bin/env python3
"""Makes scripts_table.h with the `regex` package (pip install regex): where in Unicode each script begins."""
import os

import regex
from regex import _regex_core as core

HERE = os.path.dirname(os.path.abspath(__file__))
values = core.PROPERTIES["SCRIPT"][1]
by_number = {}
for name, number in sorted(values.items()):
    by_number.setdefault(number, name)
names = sorted(name for name in by_number.values() if name not in ("UNKNOWN", "ZZZZ", "KATAKANAORHIRAGANA", "HRKT"))
script_of = [0] * 0x110000
everything = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
text = "".join(everything)
for i, name in enumerate(names, 1):
    for match in regex.finditer(rf"\p{{Script={name}}}+", text):
        for c in match.group():
            script_of[ord(c)] = i
starts = [(c, script_of[c]) for c in range(0x110000) if c == 0 or script_of[c] != script_of[c - 1]]
assert max(s for _, s in starts) < 256
number = {name: i for i, name in enumerate(names, 1)}
lines, line = [], ""
for code, script in starts:
    item = f"0x{code << 8 | script:08X},"
    if len(line) + len(item) > 108:
        lines.append(line)
        line = ""
    line += (" " if line else "") + item
lines.append(line)
with open(os.path.join(HERE, "scripts_table.h"), "w") as out:
    out.write("// Made by make_scripts.py: first code point << 8 | script, ascending; script 0 is none.\n#pragma once\n")
    out.write("#include <cstdint>\n\nnamespace ingle::text::hf {\n\n")
    for name in ("HAN", "HIRAGANA", "KATAKANA"):
        key = name if name in number else {"HAN": "HANI", "HIRAGANA": "HIRA", "KATAKANA": "KANA"}[name]
        out.write(f"constexpr int kScript{name.capitalize()} = {number[key]};\n")
    out.write("// clang-format off\nconstexpr uint32_t kScriptStarts[] = {\n")
    out.writelines("    " + l + "\n" for l in lines)
    out.write("};\n// clang-format on\n\n}  // namespace ingle::text::hf\n")
