#!/usr/bin/env python3
"""The kernels on processors that this machine is not, by qemu-user: emulated.py arm|x86 BUILD SOURCE

  arm   builds the kernels and their tests for aarch64 and runs them on processors with and without the dot products
  x86   runs the built tests and a small model on a Nehalem (no AVX) and a Haswell (AVX2)

Exits with 77 after a line "skipped: …" where the cross compiler or the emulator is missing. Nothing is timed.
"""
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

MODE, BUILD, SOURCE = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
MODEL = os.path.join(SOURCE, "tests", "data", "models", "qwen2-q8_0.gguf")
COMPILER = "aarch64-linux-gnu-g++"
# The self-test of every kernel, and every one over tiles of many sizes; more would take an emulator very long.
CASES = "[emulated],a token's result does not depend on the tokens beside it"
# Instruction sets by file, as src/kernels/CMakeLists.txt has them.
ARM_FLAGS = {"matmul_neondot.cpp": "-march=armv8.2-a+dotprod", "matmul_neoni8mm.cpp": "-march=armv8.2-a+dotprod+i8mm"}
# Emulated processors, and the kernels' sets that each must have and must not have.
ARM = {"max": (["neoni8mm", "neondot", "neon"], []), "neoverse-n1": (["neondot", "neon"], ["neoni8mm"]),
       "cortex-a72": (["neon"], ["neondot", "neoni8mm"])}
X86 = {"Nehalem": ([], ["avx2", "avx512"]), "Haswell": (["avx2"], ["avx512"])}


def need(program, package):
    if not shutil.which(program):
        print("skipped: emulated %s: %s is not installed (%s)" % (MODE, program, package))
        sys.exit(77)


def run(*command):
    # What the emulator says itself (of features that it lacks) is on stderr.
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        sys.exit("FAILED: %s\n%s" % (" ".join(command), (done.stdout + done.stderr)[-8000:]))
    return done.stdout


def files(*folders):
    for folder in folders:
        for at, _, names in os.walk(os.path.join(SOURCE, folder)):
            for name in sorted(names):
                if name.endswith(".cpp"):
                    yield os.path.join(at, name)


def compile_for_arm(work):
    """An executable of the rooms below the kernels, and the kernels' tests that every machine can compile."""
    os.makedirs(work, exist_ok=True)
    # The host's own headers must not be seen, header-only packages may.
    for package in ("fmt", "nlohmann", "catch2"):
        link = os.path.join(work, package)
        if not os.path.lexists(link):
            os.symlink(os.path.join("/usr/include", package), link)
    sources = [f for f in files("src/core", "src/quant", "src/kernels") if "/x86/" not in f]
    tests = [os.path.join(SOURCE, "tests", f) for f in
             ("support/main.cpp", "kernels/matmul_rows.cpp", "kernels/matmul_passes.cpp", "kernels/machine_isas.cpp")]
    launcher = [shutil.which("ccache")] if shutil.which("ccache") else []
    flags = ["-std=c++20", "-O2", "-ffunction-sections", "-fdata-sections", "-ffp-contract=off", "-Wall", "-Wextra", "-Wshadow", "-Wno-missing-field-initializers",
             "-I" + os.path.join(SOURCE, "src"), "-I" + os.path.join(SOURCE, "include"), "-I" + os.path.join(SOURCE, "tests"),
             "-isystem", work, '-DINGLE_TEST_DATA="%s"' % os.path.join(SOURCE, "tests", "data"),
             '-DINGLE_SOURCE_DIR="%s"' % SOURCE]

    def compile_one(source):
        name = os.path.relpath(source, SOURCE).replace(os.sep, "_")
        out = os.path.join(work, name + ".o")
        more = [ARM_FLAGS.get(os.path.basename(source), "-march=armv8-a")]
        if source in tests:
            more += ["-O0", "-w"]
        run(*launcher, COMPILER, *flags, *more, "-c", source, "-o", out)
        return out

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, tests + sources))
    units = [o for o in objects if "kernels_arm_matmul" in o]
    for line in run("aarch64-linux-gnu-nm", "-P", *units).splitlines():
        fields = line.split()
        if len(fields) > 1 and fields[1] in "WVu":
            sys.exit("FAILED: a weak symbol in an instruction-set unit: " + line)
    program = os.path.join(work, "test_kernels")
    # Weights need rooms that are not compiled here, but no kernel calls them.
    run(COMPILER, "-static", "-Wl,--gc-sections", "-o", program, *objects)
    return program


def check_isas(listed, wanted, unwanted, cpu):
    sets = {line.split()[2] for line in listed.splitlines() if line.startswith("| isa ")}
    for isa in wanted:
        if isa not in sets:
            sys.exit("FAILED: %s has no %s, expected it: %s" % (cpu, isa, sorted(sets)))
    for isa in unwanted:
        if any(s.startswith(isa) and not (isa == "avx2" and s != isa) for s in sets):
            sys.exit("FAILED: %s has %s, expected none: %s" % (cpu, isa, sorted(sets)))


def arm():
    need(COMPILER, "g++-aarch64-linux-gnu")
    need("qemu-aarch64", "qemu-user")
    program = compile_for_arm(os.path.join(BUILD, "aarch64"))
    for cpu, (wanted, unwanted) in ARM.items():
        emulated = ("qemu-aarch64", "-cpu", cpu, program)
        check_isas(run(*emulated, "instruction sets of this machine", "-s"), wanted, unwanted, cpu)
        print(cpu + ": " + run(*emulated, CASES).strip().splitlines()[-1])


def x86():
    need("qemu-x86_64", "qemu-user")
    ingle, tests = os.path.join(BUILD, "ingle"), os.path.join(BUILD, "tests", "test_kernels")
    ask = (ingle, "logprobs", MODEL, "--ids", "1,2,3,4,5,6,7,8,9,10,11,12", "--json", "--threads", "2")
    expected = json.loads(run(*ask))
    for cpu, (wanted, unwanted) in X86.items():
        emulated = ("qemu-x86_64", "-cpu", cpu)
        kernels = json.loads(run(*emulated, ingle, "doctor", "--json", "--plugins", "/no/such/folder"))["kernels"]
        listed = "".join("| isa %s\n" % isa for isa in ("avx2", "avx512") for k in kernels
                         if k["runs"] and "_%s" % isa in k["name"])
        check_isas(listed, wanted, unwanted, cpu)
        # Every instruction set gives the same bits.
        if json.loads(run(*emulated, *ask)) != expected:
            sys.exit("FAILED: on a %s the model answers otherwise" % cpu)
        print(cpu + ": " + run(*emulated, tests, CASES).strip().splitlines()[-1])


if __name__ == "__main__":
    {"arm": arm, "x86": x86}[MODE]()
