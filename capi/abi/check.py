#!/usr/bin/env python3
"""check.py LIBRARY SYMBOLS HEADER: the library exports what the committed list names, with the same version nodes, and
the header declares just these functions. A symbol may be added (to the list too, with a new node); none may go."""
import re
import subprocess
import sys


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", "-P", library], check=True, stdout=subprocess.PIPE,
                         universal_newlines=True).stdout
    names = [line.split()[0].replace("@@", "@") for line in out.splitlines()]
    return {n for n in names if not re.fullmatch(r"INGLE_[0-9.]+(@INGLE_[0-9.]+)?", n)}


def main():
    library, listed_path, header_path = sys.argv[1:]
    with open(listed_path, encoding="utf-8") as f:
        listed = {line.strip() for line in f if line.strip() and not line.startswith("#")}
    with open(header_path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    declared = set(re.findall(r"INGLE_API[^;(]*?INGLE_CALL\s+(ingle_\w+)\s*\(", text))
    found = exported(library)
    breaches = ["gone from the library: " + n for n in sorted(listed - found)]
    breaches += ["exported but not in the list: " + n for n in sorted(found - listed)]
    plain = {n.split("@")[0] for n in listed}
    breaches += ["declared but not in the list: " + n for n in sorted(declared - plain)]
    breaches += ["in the list but not declared: " + n for n in sorted(plain - declared)]
    print("\n".join(breaches + ["%d symbols" % len(found)]))
    return 1 if breaches or not found else 0


if __name__ == "__main__":
    sys.exit(main())
