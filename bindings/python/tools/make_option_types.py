#!/usr/bin/env python3
"""Writes ingle/_option_types.py, the option keys as types, from what the library itself says of its options:

  PYTHONPATH=build/release/python python3 bindings/python/tools/make_option_types.py          writes it
  … make_option_types.py --check                                                       fails when it would change
"""
import json
import os
import sys

from ingle import _ingle

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ingle", "_option_types.py")
KINDS = {"runtime": "RuntimeOptions", "model": "ModelOptions", "script": "ScriptOptions", "session": "SessionOptions",
         "sampler": "SamplerOptions", "generate": "GenerateOptions", "grammar": "GrammarOptions",
         "beams": "BeamOptions", "engine": "EngineOptions", "request": "SchedulingOptions"}
TYPES = {"int": "int", "float": "float", "flag": "bool", "text": "str", "list of text": "Sequence[str]",
         "list of ids": "Sequence[int]", "list of names": "Sequence[str]", "list of rows": "Sequence[Sequence[float]]",
         "object of ids and numbers": "Mapping[int, float]"}


def row_lines(row):
    kind = row["type"]
    about = row["help"]
    if kind in ("int", "float"):
        about += f" From {row['low']} to {row['high']}; {row['default']} when not given."
    lines, line = [], "    #"
    for word in about.split():
        if len(line) + 1 + len(word) > 115:
            lines.append(line)
            line = "    #"
        line += " " + word
    return lines + [line, f"    {row['key']}: {TYPES.get(kind, 'Any')}"]


def render():
    lines = ['"""The keys of options, as types. Written by bindings/python/tools/make_option_types.py; do not edit."""',
             "from __future__ import annotations", "",
             "from collections.abc import Mapping, Sequence", "from typing import TYPE_CHECKING, Any, TypedDict", "",
             "if TYPE_CHECKING:", "    from ._grammar import Grammar"]
    for kind, name in KINDS.items():
        lines += ["", "", f"class {name}(TypedDict, total=False):"]
        for row in json.loads(_ingle.describe_options(kind)):
            lines += row_lines(row)
        if kind == "generate":  # an object, which the library's options by key cannot hold
            lines += ["    # What the answer must be.", "    grammar: Grammar"]
    # Both at once, for what asks and answers in one call.
    lines += ["", "", "class AnswerOptions(SamplerOptions, GenerateOptions, total=False):",
              '    """Of the sampler and of the answer."""', "", "",
              "class RequestOptions(AnswerOptions, SchedulingOptions, total=False):",
              '    """Of the sampler, the answer, and the schedule of an engine."""', "", "",
              "class PlanOptions(ModelOptions, SessionOptions, total=False):",
              '    """Of the model and of the session."""', "", "",
              "class LoadOptions(RuntimeOptions, ModelOptions, total=False):",
              '    """Of the runtime and of the model."""', "", "", "_ = Any"]
    return "\n".join(lines) + "\n"


def main():
    text = render()
    if "--check" not in sys.argv[1:]:
        with open(PATH, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(PATH, encoding="utf-8") as f:
        same = f.read() == text
    if not same:
        print("ingle/_option_types.py is not what the library's options are; run bindings/python/tools/make_option_types.py")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
