#!/usr/bin/env python3
"""Checks what the compiler does not: which room includes which, and a few rules on the text of the sources.

  arrows.py [ROOT]      check the tree, list every breach as file:line, exit 1 if there is one
  arrows.py --self-test check that each rule can fail, on small trees made for it

docs/architecture.md explains the rooms; the tables below are the rules themselves.
"""
import os
import re
import sys
import tempfile

# Each room may include itself and those before it.
CHAIN = ["core", "formats", "quant", "kernels", "kv", "backends", "graph", "models", "engine", "api"]
BESIDE = {"text": ["core", "formats"], "sampling": ["core"], "constrain": ["core"]}
USES_BESIDE = ["engine", "api"]  # the rooms of the chain that may use those beside it
ABOVE = ["cli", "serve", "dist"]  # public headers only

# Third-party headers: the files that may include them.
PACKAGES = {
    "fmt/": ["src/core/format.cpp"],
    "nlohmann/": ["src/core/", "src/formats/", "src/text/", "src/serve/", "src/cli/", "capi/"],
    "pcre2.h": ["src/text/"],
    "utf8proc.h": ["src/text/", "src/constrain/"],
    "protozero/": ["src/text/"],
    "CLI/": ["src/cli/command.cpp"],
    "pybind11/": ["bindings/python/"],
    "simde/": ["src/kernels/x86/"],
    "Eigen/": ["src/backends/eigen/"],
    "cblas.h": ["src/backends/openblas/"],
    "dnnl.hpp": ["src/backends/onednn/"],
    "omp.h": ["src/backends/onednn/"],
}
SYSTEM = re.compile(r"""^( [a-z_0-9]+                                         # the C++ standard library
    | (assert|ctype|errno|float|inttypes|limits|math|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h
    | (dlfcn|fcntl|pthread|sched|semaphore|signal|unistd|poll|termios)\.h | (sys|linux|arpa|netinet)/[a-z_]+\.h
    | (cpuid|immintrin|arm_neon)\.h )$""", re.X)
PUBLIC_SYSTEM = re.compile(r"^([a-z_0-9]+|std(int|def|bool)\.h)$")

# What an instruction-set unit may see, itself and through its headers: nothing that could leave a shared inline
# function compiled for a newer machine in the library.
UNIT_FOLDERS = ["src/kernels/x86/", "src/kernels/arm/"]
UNIT_SYSTEM = re.compile(r"^(stdint\.h|stddef\.h|immintrin\.h|arm_neon\.h|arm_sve\.h|simde/.*)$")
UNIT_HEADERS = re.compile(r"^src/(kernels/([a-z0-9_]+/)?[a-z0-9_]+|quant/blocks)\.h$")

NAMELESS = ["graph", "kv", "engine", "backends", "kernels", "sampling"]  # no family of models is named here
ARCHITECTURE = re.compile(r'const Architecture \w+\{\s*"([^"]*)",\s*"([^"]*)"')
FORBIDDEN = re.compile(r"(?<![\w.>])(?:std::|::)?(abort|exit|_exit|quick_exit|_Exit|terminate|assert|printf|fprintf|vprintf|"
                       r"vfprintf|puts|fputs|putchar|perror|getenv|secure_getenv|setlocale|signal|sigaction)\s*\(|"
                       r"\bstd::(cout|cerr|clog)\b")
MOST_LINES = 800
# A family of models is a short file: what several share is a part in src/models. Those whose layers the common
# decoder cannot describe emit them themselves and may be longer.
FAMILIES = "src/models/arch/"
FAMILY_LINES, OWN_BUILD_LINES, MEAN_FAMILY_LINES = 60, 150, 50
COMMON_BUILD = re.compile(r"\bbuild_decoder\s*\(")
SOURCE_ENDS = (".cpp", ".h", ".hpp", ".c", ".inc")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)


def room_rules():
    allowed = {room: CHAIN[:i + 1] for i, room in enumerate(CHAIN)}
    for room in USES_BESIDE:
        allowed[room] = allowed[room] + list(BESIDE)
    allowed.update({room: [room] + uses for room, uses in BESIDE.items()})
    allowed.update({room: [room] for room in ABOVE})
    allowed["capi"] = CHAIN + list(BESIDE) + ["capi"]
    return allowed


ALLOWED = room_rules()


def strip(text, strings_too):
    """The text with comments (and the insides of strings) blanked; line numbers stay."""
    def blank(match):
        token = match.group(0)
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return re.sub(r"[^\n]", "_", token) if strings_too else token
    return TOKEN.sub(blank, text)


class Tree:
    def __init__(self, root):
        self.root = root
        self.breaches = []
        self.texts = {}
        for top in ["src", "capi", "include", "examples", "bindings", "benchmarks"]:
            for folder, _, names in os.walk(os.path.join(root, top)):
                for name in sorted(names):
                    if name.endswith(SOURCE_ENDS):
                        path = os.path.join(folder, name)
                        with open(path, encoding="utf-8") as f:
                            self.texts[os.path.relpath(path, root)] = f.read()
        files = [p for p in self.texts if p.startswith("src/models/arch/") and p.endswith(".cpp")]
        self.families = {os.path.basename(p)[:-4] for p in files} - {"list"}
        for path in files:  # and the names that files give them
            for names in ARCHITECTURE.findall(self.texts[path]):
                self.families.update(" ".join(names).split())

    def breach(self, path, line, what):
        self.breaches.append("%s:%d: %s" % (path, line, what))

    def includes(self, path):
        for number, line in enumerate(strip(self.texts[path], False).split("\n"), 1):
            match = INCLUDE.match(line)
            if match:
                yield number, match.group(1) == '"', match.group(2)

    def resolve(self, path, name):
        """The file in this tree that a quoted include means, or None."""
        for base in [os.path.dirname(path), "src", "include", "capi"]:
            candidate = os.path.normpath(os.path.join(base, name))
            if candidate in self.texts:
                return candidate
        return None


def room_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def check_includes(tree, path):
    room = room_of(path)
    for line, quoted, name in tree.includes(path):
        if not quoted:
            check_angle(tree, path, line, name)
            continue
        target = tree.resolve(path, name)
        if target is None:
            tree.breach(path, line, 'the include "%s" is not a file of this tree' % name)
            continue
        to = room_of(target)
        if to == "include" or to == room:
            continue
        if room in ("include", "examples", "bindings", "benchmarks"):
            # Benchmarks of single kernels look inside; nobody else outside src does.
            if room != "benchmarks":
                tree.breach(path, line, '%s may include public headers only, not "%s"' % (room, name))
        elif room not in ALLOWED:
            tree.breach(path, line, "the room %s is not in the list of rooms" % room)
        elif to not in ALLOWED[room]:
            tree.breach(path, line, 'backward arrow: %s may not include %s ("%s")' % (room, to, name))


def check_angle(tree, path, line, name):
    if path.startswith("include/"):
        if not PUBLIC_SYSTEM.match(name) and not name.startswith("ingle/"):
            tree.breach(path, line, "public headers include the standard library only, not <%s>" % name)
        return
    if path.startswith("bindings/") and name.startswith("ingle/") and name != "ingle/ingle.h":
        tree.breach(path, line, "bindings stand on ingle.h alone, not on <%s>" % name)
    for package, places in PACKAGES.items():
        if name.startswith(package):
            if path.startswith(("src/", "capi/")) and not path.startswith(tuple(places)):
                tree.breach(path, line, "<%s> belongs to %s" % (name, ", ".join(places)))
            return
    if path.startswith(("src/", "capi/")) and not SYSTEM.match(name) and not name.startswith("ingle/"):
        tree.breach(path, line, "<%s> is no known system header (tests/arrows.py lists them)" % name)


def check_unit(tree, unit):
    """Follows an instruction-set unit's includes to the end."""
    seen, left = {unit}, [unit]
    while left:
        path = left.pop()
        for line, quoted, name in tree.includes(path):
            if not quoted:
                if not UNIT_SYSTEM.match(name):
                    tree.breach(path, line, "an instruction-set unit (%s) sees <%s>" % (unit, name))
                continue
            target = tree.resolve(path, name)
            if target is None or target in seen:
                continue
            if not UNIT_HEADERS.match(target):
                tree.breach(path, line, 'an instruction-set unit (%s) sees "%s"' % (unit, name))
            else:
                seen.add(target)
                left.append(target)


def check_names(tree, path):
    text = strip(tree.texts[path], False)
    for match in TOKEN.finditer(text):
        token = match.group(0)
        for name in tree.families:
            if token.startswith('"') and re.search(r"(?<![a-z0-9])%s(?![a-z0-9])" % re.escape(name), token):
                line = text.count("\n", 0, match.start()) + 1
                tree.breach(path, line, '%s names the family "%s", which only its own file may' % (room_of(path), name))


def check_calls(tree, path):
    text = strip(tree.texts[path], True)
    for match in FORBIDDEN.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        tree.breach(path, line, "%s is not for a library" % match.group(0).rstrip(" ("))


def check_targets(tree):
    """The rooms' CMake targets keep to the same arrows."""
    for room in ALLOWED:
        path = os.path.join("src", room, "CMakeLists.txt")
        full = os.path.join(tree.root, path)
        if not os.path.exists(full):
            continue
        with open(full, encoding="utf-8") as f:
            text = f.read()
        for call in re.finditer(r"ingle_room\(%s\b([^)]*)\)" % room, text):
            uses = re.search(r"\bUSES\b([^)]*?)(\bPACKAGES\b|\bSOURCES\b|$)", call.group(1), re.S)
            for used in uses.group(1).split() if uses else []:
                if used not in ALLOWED[room]:
                    line = text.count("\n", 0, call.start()) + 1
                    tree.breach(path, line, "backward arrow: ingle_%s may not use ingle_%s" % (room, used))


def check_families(tree):
    """The files of families are short, each and in the mean."""
    lines = {}
    for path, text in tree.texts.items():
        if not path.startswith(FAMILIES) or path == FAMILIES + "list.cpp":
            continue
        lines[path] = text.count("\n")
        most = FAMILY_LINES if COMMON_BUILD.search(strip(text, True)) else OWN_BUILD_LINES
        if lines[path] > most:
            tree.breach(path, lines[path], "%d lines, expected at most %d for a family %s a build of its own" % (
                lines[path], most, "without" if most == FAMILY_LINES else "with"))
    mean = sum(lines.values()) / len(lines) if lines else 0
    if mean >= MEAN_FAMILY_LINES:
        tree.breach(FAMILIES, 1, "%.1f lines a family in the mean, expected fewer than %d" % (mean, MEAN_FAMILY_LINES))


def check(root):
    tree = Tree(root)
    for path in tree.texts:
        check_includes(tree, path)
        if path.startswith(tuple(UNIT_FOLDERS)) and path.endswith(".cpp"):
            check_unit(tree, path)
        if path.startswith("src/") and room_of(path) in NAMELESS:
            check_names(tree, path)
        if path.startswith(("src/", "capi/")) and not path.startswith("src/cli/"):
            check_calls(tree, path)
        lines = tree.texts[path].count("\n")
        if path.startswith("src/") and lines >= MOST_LINES:
            tree.breach(path, lines, "%d lines, expected fewer than %d" % (lines, MOST_LINES))
    check_targets(tree)
    check_families(tree)
    return sorted(set(tree.breaches)), len(tree.texts)


# Each: what it shows, the files of the tree, and a part of the breach (None: there must be none).
SELF_TESTS = [
    ("a clean tree", {
        "include/ingle/error.hpp": "#include <string>\n",
        "src/core/error.h": '#include "ingle/error.hpp"\n',
        "src/core/format.cpp": "#include <fmt/format.h>\n",
        "src/formats/gguf.cpp": '#include "core/error.h"\n#include "names.h"\n#include <nlohmann/json.hpp>\n',
        "src/formats/names.h": "// abort() and #include \"engine/engine.h\" in a comment\n",
        "src/engine/engine.cpp": '#include "text/bpe.h"\nstatic_assert(sizeof(int) == 4);\nvoid f() { x.exit(1); }\n',
        "src/text/bpe.h": '#include "formats/names.h"\nconst char* kText = "call abort() or printf()";\n',
        "src/models/arch/llama.cpp": 'const char* kName = "llama";\n',
        "src/models/arch/list.cpp": "", "src/cli/main.cpp": '#include "ingle/error.hpp"\nint main() { exit(1); }\n',
        "src/kernels/x86/a.cpp": '#include <stdint.h>\n#include "kernels/isa.h"\n',
        "src/kernels/isa.h": "#include <stdint.h>\n",
        "src/graph/CMakeLists.txt": "ingle_room(graph SOURCES a.cpp USES backends core)\n",
    }, None),
    ("a backward include", {"src/core/a.cpp": '#include "engine/b.h"\n', "src/engine/b.h": ""},
     "src/core/a.cpp:1: backward arrow"),
    ("a backward include by a relative path", {"src/core/a.cpp": '\n#include "../kv/b.h"\n', "src/kv/b.h": ""},
     "src/core/a.cpp:2: backward arrow"),
    ("text looking at kernels", {"src/text/a.cpp": '#include "kernels/b.h"\n', "src/kernels/b.h": ""}, "backward arrow"),
    ("sampling looking at formats", {"src/sampling/a.cpp": '#include "formats/b.h"\n', "src/formats/b.h": ""},
     "backward arrow"),
    ("models looking at text", {"src/models/a.cpp": '#include "text/b.h"\n', "src/text/b.h": ""}, "backward arrow"),
    ("the command line looking inside", {"src/cli/a.cpp": '#include "api/b.h"\n', "src/api/b.h": ""}, "backward arrow"),
    ("a public header looking inside", {"include/ingle/a.hpp": '#include "core/b.h"\n', "src/core/b.h": ""},
     "public headers only"),
    ("a public header with a package", {"include/ingle/a.hpp": "#include <nlohmann/json.hpp>\n"}, "standard library only"),
    ("fmt outside its file", {"src/core/a.cpp": "#include <fmt/format.h>\n"}, "belongs to src/core/format.cpp"),
    ("the parser outside its file", {"src/cli/run.cpp": "#include <CLI/CLI.hpp>\n"}, "belongs to src/cli/command.cpp"),
    ("a binding beside the C API", {"bindings/python/a.cpp": "#include <ingle/ingle.hpp>\n"}, "ingle.h alone"),
    ("a plug-in's library in a room", {"src/kernels/a.cpp": "#include <cblas.h>\n"}, "belongs to src/backends/openblas/"),
    ("pybind11 in a room", {"src/api/a.cpp": "#include <pybind11/pybind11.h>\n"}, "belongs to bindings/python/"),
    ("an unknown package", {"src/core/a.cpp": "#include <boost/any.hpp>\n"}, "no known system header"),
    ("an include of nothing", {"src/core/a.cpp": '#include "gone.h"\n'}, "not a file of this tree"),
    ("a room that is not listed", {"src/odd/a.cpp": '#include "core/b.h"\n', "src/core/b.h": ""}, "not in the list"),
    ("the standard library in an instruction-set unit", {"src/kernels/x86/a.cpp": "#include <vector>\n"}, "sees <vector>"),
    ("the same through a header", {"src/kernels/x86/a.cpp": '#include "kernels/b.h"\n',
                                   "src/kernels/b.h": "#include <cmath>\n"}, "src/kernels/b.h:1"),
    ("another room in an instruction-set unit", {"src/kernels/x86/a.cpp": '#include "core/b.h"\n', "src/core/b.h": ""},
     'sees "core/b.h"'),
    ("a family's name in the graph", {"src/graph/a.cpp": 'auto s = "llama.rope";\n', "src/models/arch/llama.cpp": ""},
     'names the family "llama"'),
    ("a family's name in a checkpoint", {"src/kv/a.cpp": 'auto s = "made";\n',
                                         "src/models/arch/llama.cpp": 'const Architecture kA{"", "other made", "A"};\n'},
     'names the family "made"'),
    ("abort in the library", {"src/kv/a.cpp": "void f() {\n  std::abort();\n}\n"}, "src/kv/a.cpp:2: std::abort"),
    ("assert in the library", {"src/kv/a.cpp": "void f(int i) { assert(i); }\n"}, "assert is not"),
    ("printing from the library", {"capi/a.cpp": 'void f() { std::cerr << 1; }\n'}, "std::cerr"),
    ("a file that grew too long", {"src/core/a.cpp": "\n" * MOST_LINES}, "expected fewer than"),
    ("short families", {
        "src/models/arch/a.cpp": "build_decoder(b, config, d);\n" + "\n" * 59, "src/models/arch/b.cpp": "\n" * 10,
        "src/models/arch/c.cpp": "\n" * 10, "src/models/arch/list.cpp": "\n" * 400,
    }, None),
    ("a family that grew too long", {
        "src/models/arch/a.cpp": "build_decoder(b, config, d);\n" + "\n" * 60, "src/models/arch/b.cpp": "\n",
    }, "61 lines, expected at most 60 for a family without"),
    ("a comment for a common build", {
        "src/models/arch/a.cpp": "// not build_decoder(b)\n" + "\n" * 60, "src/models/arch/b.cpp": "\n",
    }, None),
    ("a build of its own that grew too long", {
        "src/models/arch/a.cpp": "\n" * 151, **{"src/models/arch/b%d.cpp" % i: "\n" for i in range(9)},
    }, "151 lines, expected at most 150 for a family with"),
    ("families that are long in the mean", {"src/models/arch/a.cpp": "\n" * 50, "src/models/arch/b.cpp": "\n" * 50},
     "src/models/arch/:1: 50.0 lines a family in the mean"),
    ("a backward target", {"src/quant/CMakeLists.txt": "ingle_room(quant SOURCES a.cpp\n  USES core kv PACKAGES x)\n"},
     "ingle_quant may not use ingle_kv"),
]


def self_test():
    failures = 0
    for what, files, expected in SELF_TESTS:
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(text)
            breaches, _ = check(root)
        good = not breaches if expected is None else any(expected in b for b in breaches)
        if not good:
            failures += 1
            print("FAILED: %s: expected %s, found %s" % (what, expected or "no breach", breaches or "none"))
    print("%d of %d rules hold" % (len(SELF_TESTS) - failures, len(SELF_TESTS)))
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    breaches, n_files = check(root)
    for breach in breaches:
        print(breach)
    print("%d files, %d breaches" % (n_files, len(breaches)))
    if n_files == 0:
        print("nothing to check under " + root)
    return 1 if breaches or n_files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
