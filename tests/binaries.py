#!/usr/bin/env python3
"""Checks on what was built.

  binaries.py exports LIBRARY   it exports ingle_* and nothing else
  binaries.py needs LIBRARY     at run time it needs the C library alone
  binaries.py size LIBRARY      without symbols it takes at most 6 MB
  binaries.py quiet OBJECT…     our own objects and archives neither print, read the environment, end the process, nor
                                change its signals or locale
  binaries.py silent LIBRARY    with all that is linked in, it asks for neither streams of text nor the environment
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


# What would print, read the environment, end the process, or change what belongs to all of it.
PRINTING = {"printf", "fprintf", "vprintf", "vfprintf", "dprintf", "__printf_chk", "__fprintf_chk", "__vprintf_chk",
            "__vfprintf_chk", "puts", "putchar", "putc", "fputs", "fputc", "fwrite", "perror", "stdout", "stderr",
            "stdin", "syslog", "_ZSt4cout", "_ZSt4cerr", "_ZSt4clog", "_ZSt3cin"}
ENVIRONMENT = {"getenv", "secure_getenv", "environ", "__environ", "setenv", "putenv", "unsetenv"}
PROCESS = {"exit", "_exit", "_Exit", "quick_exit", "abort", "_ZSt9terminatev", "__assert_fail", "raise", "kill", "fork",
           "vfork", "system", "popen", "execve", "signal", "sigaction", "setlocale", "uselocale", "atexit", "chdir",
           "umask", "srand", "rand"}
# The C++ run-time library that is linked in says why it terminates, to a stream that it opens for nothing else.
OF_THE_RUNTIME = {"fputs", "fputc", "fwrite", "stderr", "abort"}


def wanted(path):
    """(name, object) of each symbol that is looked for elsewhere."""
    where = path
    for line in run("nm", "--undefined-only", "-P", path).splitlines():
        if line.endswith(":"):
            where = line
        elif line:
            yield line.split()[0].split("@")[0], where


def quiet(objects):
    good, n = True, 0
    for path in objects:
        for name, where in wanted(path):
            n += 1
            if name in PRINTING | ENVIRONMENT | PROCESS - {"_ZSt9terminatev"}:
                print("%s: calls %s" % (where, name))
                good = False
    print("%d symbols looked at" % n)
    return good and n > 1000


def silent(library):
    found = {line.split()[0].split("@")[0]
             for line in run("nm", "-D", "--undefined-only", "-P", library).splitlines() if line}
    foreign = sorted(found & ((PRINTING | ENVIRONMENT | PROCESS) - OF_THE_RUNTIME))
    for name in foreign:
        print("asks for " + name)
    print("%d symbols looked at" % len(found))
    return not foreign and len(found) > 20


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
    of_many = {"weak": weak, "quiet": quiet}
    of_one = {"exports": exports, "needs": needs, "size": size, "silent": silent}
    good = of_many[mode](arguments) if mode in of_many else of_one[mode](arguments[0])
    sys.exit(0 if good else 1)
