#!/usr/bin/env python3
"""quietly.py TEST ARGUMENT…: runs a test program with its report in a file, prints the report, and fails where the
program itself, or the library in it, wrote anything to its standard streams.

Lines that a test prints for its reader begin with "| ".
"""
import os
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        done = subprocess.run([*sys.argv[1:], "-o", report], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if os.path.exists(report):
            with open(report, encoding="utf-8", errors="replace") as f:
                print(f.read(), end="")
    said = (done.stdout + done.stderr).decode(errors="replace").splitlines(keepends=True)
    print(*said, sep="", end="")
    stray = [line for line in said if not line.startswith("| ")]
    if stray and done.returncode == 0:
        print("\nSomething was written to the standard streams, by the library or by the test (above). Tests that tell"
              ' their reader something begin the line with "| ".')
        return 1
    # A negative code is a signal, which a shell tells in this way.
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


if __name__ == "__main__":
    sys.exit(main())
