#!/usr/bin/env python3
"""beside_llama.py LIBRARY SOURCE COMPILER: Ingle's shared library and llama.cpp's in one process (beside_llama.cpp).

Looks for llama.cpp's library and headers in $INGLE_LLAMA, or in the folder of peers that the benchmarks make in the
user's cache. Exits with 77 (skipped) where they or a model are missing.
"""
import glob
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def skip(why):
    print("skipped: Ingle beside llama.cpp: " + why)
    return SKIPPED


def first(*patterns):
    found = [path for pattern in patterns for path in sorted(glob.glob(os.path.expanduser(pattern), recursive=True))]
    return found[0] if found else None


def main():
    library, source, compiler = sys.argv[1:]
    root = os.environ.get("INGLE_LLAMA") or "~/.cache/ingle-peers/llama.cpp"
    theirs = first(root + "/build/bin/libllama.so", root + "/**/libllama.so")
    header = first(root + "/include/llama.h", root + "/**/llama.cpp/include/llama.h")
    ggml = first(root + "/ggml/include/ggml.h", root + "/**/ggml/include/ggml.h")
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    model = first(os.environ.get("INGLE_MODEL", ""), data + "/ingle/models/" + MODEL, "~/.cache/ingle-models/" + MODEL)
    if not theirs or not header or not ggml:
        return skip("its library and headers are not there")
    if not model:
        return skip("there is no " + MODEL)
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "beside_llama")
        folders = [os.path.dirname(os.path.abspath(path)) for path in (library, theirs)]
        build = subprocess.run(
            [compiler, "-std=c++20", "-O1", os.path.join(source, "tests", "neighbours", "beside_llama.cpp"), "-o", program,
             "-I" + os.path.join(source, "include"), "-I" + os.path.dirname(header), "-I" + os.path.dirname(ggml),
             library, theirs, "-pthread", "-Wl,--allow-shlib-undefined",
             *["-Wl,-rpath," + f for f in folders], *["-Wl,-rpath-link," + f for f in folders]],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if build.returncode != 0:
            print(build.stdout.decode(errors="replace"))
            return 1
        done = subprocess.run([program, model], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout.decode(errors="replace"))
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
