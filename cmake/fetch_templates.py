#!/usr/bin/env python3
"""Fetches the chat templates that the template tests compare with: fetch_templates.py [FOLDER]"""
import os
import sys

from llama_sources import extract

DEFAULT = os.path.expanduser("~/.cache/ingle-models/templates")


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("INGLE_TEMPLATES", DEFAULT)
    extract(folder, lambda path: "/models/templates/" in path and path.endswith(".jinja"))
    print(folder)


if __name__ == "__main__":
    main()
