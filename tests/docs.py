#!/usr/bin/env python3
"""Checks what the documents say of the tree: docs.py ROOT

Relative links and quoted paths exist, README.md stays short and its code is that of the examples, and every code of an
error is explained.
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


def check_codes(text):
    """Each code of the header has its row, with its number in C and its class in Python."""
    with open(os.path.join(root, "include/ingle/error.hpp"), encoding="utf-8") as f:
        body = re.search(r"enum class Code[^{]*\{(.*?)\};", f.read(), re.S).group(1)
    codes = re.findall(r"^\s*(\w+) = (\d+),", body, re.M)
    with open(os.path.join(root, "bindings/python/ingle/errors.py"), encoding="utf-8") as f:
        classes = {number: name for name, number in re.findall(r"^class (\w+)\((?:(?!^class ).)*?^    code = (\d+)$", f.read(),
                                                               re.S | re.M)}
    if len(codes) < 12:
        breaches.append("include/ingle/error.hpp: only %d codes were found" % len(codes))
    for name, number in codes:
        row = re.search(r"^\| `%s` \| `INGLE_(?:E_)?%s` %s \| (\S+) \|([^|]{10,})\|([^|]{5,})\|$" %
                        (name, name.upper(), number), text, re.M)
        if not row:
            breaches.append("docs/contracts/errors.md: no whole row for %s (%s)" % (name, number))
        elif int(number) and row.group(1) != "`%s`" % classes.get(number):
            breaches.append("docs/contracts/errors.md: %s is %s in Python" % (name, classes.get(number)))
        if int(number) and not re.search(r"^\| [^|]*`%s`[^|]* \| \d+ \|$" % name, text, re.M):
            breaches.append("docs/contracts/errors.md: no exit code for %s" % name)


documents = [os.path.relpath(path, root) for path in
             glob.glob(os.path.join(root, "*.md")) + glob.glob(os.path.join(root, "docs/**/*.md"), recursive=True)]
for document in sorted(documents):
    content = open(os.path.join(root, document), encoding="utf-8").read()
    check_paths(document, re.sub(r"^ *```.*?^ *```", "", content, flags=re.S | re.M))
    if document == "README.md":
        check_readme(content)
    if document == "docs/contracts/errors.md":
        check_codes(content)
print("\n".join(breaches) if breaches else f"{len(documents)} documents, 0 breaches")
sys.exit(1 if breaches or len(documents) < 10 else 0)
