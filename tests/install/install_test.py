#!/usr/bin/env python3
"""Installs a build, moves what was installed, and uses it: install_test.py BUILD SOURCE [--subdirectory]

The small executables are built by find_package and by pkg-config, against the moved prefix, and each answers. With
--subdirectory the whole source tree is built below another project instead, which takes as long as a build does.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(SOURCE, "examples")
MODEL = os.path.join(SOURCE, "tests", "data", "models", "qwen2-q8_0.gguf")


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        sys.exit("FAILED: %s\n%s" % (" ".join(command), done.stdout.decode(errors="replace")))
    return done.stdout.decode(errors="replace")


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH")}
    return {**clean, **more}


def cached(variable):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as f:
        return next((line.split("=", 1)[1].strip() for line in f if line.startswith(variable + ":")), "")


def build_consumer(folder, *arguments):
    run("cmake", "-G", cached("CMAKE_GENERATOR"), "-S", HERE, "-B", folder, "-DEXAMPLES=" + EXAMPLES,
        "-DCMAKE_BUILD_TYPE=" + cached("CMAKE_BUILD_TYPE"), "-DCMAKE_C_COMPILER=" + cached("CMAKE_C_COMPILER"),
        "-DCMAKE_CXX_COMPILER=" + cached("CMAKE_CXX_COMPILER"), *arguments, env=environment())
    run("cmake", "--build", folder)
    for program in ("use_c", "use_cpp"):
        answers(os.path.join(folder, program))


def answers(program, **more):
    out = run(program, MODEL, "Hello", env=environment(**more))
    assert len(out) > 10, (program, out)


def only(folder, suffix):
    found = [os.path.join(at, n) for at, _, names in os.walk(folder) for n in names if os.path.join(at, n).endswith(suffix)]
    assert len(found) == 1, (suffix, found)
    return found[0]


def installed(work):
    first, prefix = os.path.join(work, "first"), os.path.join(work, "a moved prefix")
    run("cmake", "--install", BUILD, "--prefix", first)
    os.rename(first, prefix)
    for at, _, names in os.walk(prefix):
        for name in names:
            with open(os.path.join(at, name), "rb") as f:
                text = f.read() if name.endswith((".cmake", ".pc", ".1")) else b""
            for path in (SOURCE, first):
                assert path.encode() not in text, (name, "names", path)
    build_consumer(os.path.join(work, "found"), "-DCMAKE_PREFIX_PATH=" + prefix)
    if shutil.which("pkg-config"):
        pc = os.path.dirname(only(prefix, os.sep + "ingle.pc"))
        env = environment(PKG_CONFIG_PATH=pc)
        assert run("pkg-config", "--modversion", "ingle", env=env).count(".") == 2
        flags = run("pkg-config", "--cflags", "--libs", "ingle", env=env)
        program = os.path.join(work, "by_pkg_config")
        run("sh", "-c", '"$0" "$1" -o "$2" ' + flags, cached("CMAKE_C_COMPILER"), os.path.join(EXAMPLES, "hello.c"),
            program)
        answers(program, LD_LIBRARY_PATH=os.path.dirname(pc))
    else:
        print("skipped: ingle.pc: pkg-config is not installed")
    ingle = os.path.join(prefix, "bin", "ingle")
    if cached("INGLE_CLI") == "ON":
        run(ingle, "--version")
        for file in ("ingle.1", "_ingle", "ingle.fish"):
            only(os.path.join(prefix, "share"), os.sep + file)
        plugins(ingle, prefix, work)


def plugins(ingle, prefix, work):
    """Those installed are found from the moved program and run; so does one that is built outside the tree."""
    found = json.loads(run(ingle, "doctor", "--json", env=environment()))["plugins"]
    assert {p["name"] for p in found} == {"eigen", "onednn", "openblas"}, found
    for p in found:
        print("%s: %s" % (p["name"], p["about"]) if p["runs"] else "skipped: plug-in %s: %s" % (p["name"], p["about"]))
        if p["runs"]:
            assert p["path"].startswith(os.path.realpath(prefix)), p
            run(ingle, "logprobs", MODEL, "--ids", "1,2,3", "--backend", p["name"], env=environment())
    folder = os.path.join(work, "plugin")
    run("cmake", "-G", cached("CMAKE_GENERATOR"), "-S", os.path.join(EXAMPLES, "plugin"), "-B", folder,
        "-DCMAKE_PREFIX_PATH=" + prefix, "-DCMAKE_C_COMPILER=" + cached("CMAKE_C_COMPILER"), env=environment())
    run("cmake", "--build", folder)
    library = only(folder, os.sep + "libingle_backend_sample.so")
    expected = json.loads(run(ingle, "logprobs", MODEL, "--ids", "1,2,3", "--kernel", "ref", "--json", env=environment()))
    for how in (["--backend", "plugin:" + library], ["--backend", "sample", "--plugins", folder]):
        got = json.loads(run(ingle, "logprobs", MODEL, "--ids", "1,2,3", "--json", *how, env=environment()))
        compare(expected, got)


def compare(a, b):
    """The same JSON, but for numbers that differ in their fourth digit."""
    if isinstance(a, dict):
        assert set(a) == set(b), (a, b)
        for key in a:
            if key != "kernels":
                compare(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b), (a, b)
        for x, y in zip(a, b):
            compare(x, y)
    elif isinstance(a, float):
        assert abs(a - b) < 2e-2, (a, b)  # the attention state is f32 in one, f16 in the other
    else:
        assert a == b, (a, b)


def main():
    with tempfile.TemporaryDirectory(prefix="ingle-install-") as work:
        if "--subdirectory" in sys.argv:
            launcher = shutil.which("ccache")
            build_consumer(os.path.join(work, "below"), "-DINGLE_SOURCE=" + SOURCE,
                           "-DINGLE_WERROR=" + (cached("INGLE_WERROR") or "OFF"),
                           *(["-DCMAKE_CXX_COMPILER_LAUNCHER=" + launcher] if launcher else []))
        else:
            installed(work)


if __name__ == "__main__":
    main()
