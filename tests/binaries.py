#!/usr/bin/env python3
"""Checks on what was built.

  binaries.py exports LIBRARY   it exports ingle_* and nothing else
  binaries.py needs LIBRARY     at run time it needs the C library alone
  binaries.py size LIBRARY      without symbols it takes at most 6 MB
  binaries.py weak OBJECT…      objects of instruction-set units: no weak symbol (the linker keeps one copy of such a
                                function for the whole program, which may be the one that an older machine cannot run)
"""
import os
import re
import subprocess
import sys
import tempfile

MOST_BYTES = 6000000


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def exports(library):
    names = [line.split()[0] for line in run("nm", "-D", "--defined-only", "-P", library).splitlines()]
    names = [n.split("@")[0] for n in names]
    foreign = [n for n in names if not re.match(r"^(ingle_\w+|INGLE_[0-9.]+)$", n)]
    for name in foreign:
        print("exports " + name + ", expected ingle_* only")
    print("%d symbols" % len(names))
    return not foreign and bool(names)


def needs(library):
    wanted = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library))
    foreign = [n for n in wanted if not re.match(r"^(lib(c|m|pthread|dl|rt)\.so\.|ld-linux)", n)]
    for name in foreign:
        print("needs " + name + ", expected the C library only")
    print("needs " + " ".join(wanted))
    return not foreign


def size(library):
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped")
        run("strip", "-o", stripped, library)
        found = os.path.getsize(stripped)
    print("%d bytes stripped, at most %d expected" % (found, MOST_BYTES))
    return 0 < found <= MOST_BYTES


def weak(objects):
    found = 0
    for path in objects:
        for line in run("nm", "-P", path).splitlines():
            name, kind = line.split()[:2]
            if kind in "WVu":
                found += 1
                print("%s: weak symbol %s" % (path, name))
    print("%d objects" % len(objects))
    return found == 0 and bool(objects)


if __name__ == "__main__":
    mode, arguments = sys.argv[1], sys.argv[2:]
    good = weak(arguments) if mode == "weak" else {"exports": exports, "needs": needs, "size": size}[mode](arguments[0])
    sys.exit(0 if good else 1)
