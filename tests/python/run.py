#!/usr/bin/env python3
"""Runs the tests of the Python package against a build: run.py BUILD SOURCE prepare | test | debug | types

prepare   makes pytest, mypy and numpy available, in BUILD/python-packages where they are not installed
test      the tests of behaviour
debug     the same under Python's debugging allocator, which finds what is written out of bounds or used after free
types     annotations and stubs

Exits with 77 (skipped) where the tools cannot be had.
"""
import os
import subprocess
import sys

TOOLS = ["pytest", "mypy", "numpy"]
SKIPPED = 77


def environment(build):
    env = dict(os.environ)
    folders = [os.path.join(build, "python"), os.path.join(build, "python-packages")]
    env["PYTHONPATH"] = os.pathsep.join(folders + [p for p in [env.get("PYTHONPATH")] if p])
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    return env


def missing(env):
    check = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if not u.find_spec(m)])"
    found = subprocess.run([sys.executable, "-c", check, *TOOLS], env=env, stdout=subprocess.PIPE, check=True)
    return found.stdout.decode().split()


def prepare(build, env):
    lacking = missing(env)
    if not lacking:
        return 0
    target = os.path.join(build, "python-packages")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                           "--target", target, "--upgrade", *lacking], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        print(done.stdout.decode(errors="replace"))
        print("skipped: the tests of the Python package: pip cannot install", *lacking)
        return SKIPPED
    return 0


def main():
    build, source, what = [*map(os.path.abspath, sys.argv[1:3]), sys.argv[3]]
    env = environment(build)
    if what == "prepare":
        return prepare(build, env)
    if missing(env):
        print("skipped: the tests of the Python package: these are missing:", *missing(env))
        return SKIPPED
    tests = os.path.join(source, "tests", "python")
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tests, "-c", os.devnull]
    if what == "types":
        return subprocess.run(pytest + [os.path.join(tests, "types_check.py")], env=env, cwd=build).returncode
    if what == "debug":
        env["PYTHONMALLOC"] = "debug"
    return subprocess.run(pytest + [tests], env=env, cwd=build).returncode


if __name__ == "__main__":
    sys.exit(main())
