#!/usr/bin/env python3
"""Checks what the documents say of the tree: docs.py ROOT

Relative links and quoted paths exist, README.md stays short, and its code is that of the examples.
"""
import glob
import os
import re
import sys

root = sys.argv[1]
TOP = ("src/", "tests/", "include/", "capi/", "docs/", "examples/", "benchmarks/", "cmake/", "bindings/")
MOST_README_LINES = 150
breaches = []


def check_paths(name, text):
    folder = os.path.dirname(os.path.join(root, name))
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in link and not os.path.exists(os.path.join(folder, link)):
            breaches.append(f"{name}: the link {link} leads nowhere")
    for path in re.findall(r"`([^`\s]+)`", text):
        # A path with <name> in it stands for many.
        if path.startswith(TOP) and "<" not in path and not glob.glob(os.path.join(root, path)):
            breaches.append(f"{name}: there is no {path}")


def check_readme(text):
    if text.count("\n") >= MOST_README_LINES:
        breaches.append(f"README.md: {text.count(chr(10))} lines, expected fewer than {MOST_README_LINES}")
    examples = "".join(open(path).read() for path in sorted(glob.glob(os.path.join(root, "examples/hello.*"))))
    blocks = re.findall(r"```(?:cpp|c)\n(.*?)```", text, re.S)
    if len(blocks) < 2:
        breaches.append("README.md: no code of the examples")
    for block in blocks:
        if block not in examples:
            breaches.append("README.md: this is in no example:\n" + block)


documents = [os.path.relpath(path, root) for path in
             glob.glob(os.path.join(root, "*.md")) + glob.glob(os.path.join(root, "docs/**/*.md"), recursive=True)]
for document in sorted(documents):
    content = open(os.path.join(root, document), encoding="utf-8").read()
    check_paths(document, re.sub(r"^ *```.*?^ *```", "", content, flags=re.S | re.M))
    if document == "README.md":
        check_readme(content)
print("\n".join(breaches) if breaches else f"{len(documents)} documents, 0 breaches")
sys.exit(1 if breaches or len(documents) < 10 else 0)
