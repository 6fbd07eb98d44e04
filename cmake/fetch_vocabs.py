#!/usr/bin/env python3
"""Fetches the vocabularies that the tokenizer tests compare with: fetch_vocabs.py [FOLDER]"""
import os
import sys

from llama_sources import extract

DEFAULT = os.path.expanduser("~/.cache/ingle-models/vocabs")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("INGLE_VOCABS", DEFAULT)
    extract(folder, lambda path: "/models/" in path and os.path.basename(path).startswith("ggml-vocab-"))
    print(folder)


if __name__ == "__main__":
    main()
