#!/bin/bash
# test.sh [--all]: builds and runs the tests and prints a summary. With --all: the long cases, style, clang-tidy and
# the fuzzers too. Goes on after a failure, so that one run shows them all; the exit status is 1 if anything failed.
set -eu
cd "$(dirname "$0")/.."
all=""
[ "${1:-}" = --all ] && all=yes
jobs=$(nproc)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
summary=()
failed=""
# Sanitized programs start reliably only without address randomisation (kernels with 32 random bits and GCC 12).
fixed=()
setarch -R true 2>/dev/null && fixed=(setarch -R)

note() { summary+=("$(printf '  %-8s %-28s %s' "$1" "$2" "$3")"); }
skip() { note skipped "$1" "$2"; }
# step NAME COMMAND…: runs it, shows its output and notes how it ended.
step() {
  local name="$1" start=$SECONDS
  shift
  echo "== $name"
  if "$@"; then
    note passed "$name" "${detail:-}${detail:+, }$((SECONDS - start)) s"
  else
    note FAILED "$name" "$((SECONDS - start)) s"
    failed=yes
  fi
  detail=""
}

# run_ctest PRESET [ARGUMENT…]: leaves "N tests" in $detail and collects what tests said they skipped.
detail=""
: >"$log"
run_ctest() {
  local folder="build/$1" output status=0
  shift
  output=$("${fixed[@]}" ctest --test-dir "$folder" --output-on-failure -j "$jobs" --no-tests=error "$@" 2>&1) || status=$?
  if [ "$status" = 0 ]; then
    detail="$(grep -oE 'out of [0-9]+' <<<"$output" | grep -oE '[0-9]+') tests"
    tail -n 3 <<<"$output" | grep -E 'Total Test time' || true
  else
    echo "$output"
  fi
  grep -hoE 'skipped: .*' "$folder/Testing/Temporary/LastTest.log" >>"$log" 2>/dev/null || true
  return "$status"
}

long=(-LE '^long$')
[ -n "$all" ] && long=()
# The sanitized build leaves out what it cannot tell more about; the long cases run the same code on more.
asan_labels='^(long|static|concurrent)$'

build_and_test() {
  local preset="$1" targets="$2"
  shift 2
  # shellcheck disable=SC2086
  bash cmake/build.sh "$preset" $targets && run_ctest "$preset" "$@"
}

model_found=yes
python3 cmake/fetch_model.py >/dev/null || model_found=""
step "release" build_and_test release "" "${long[@]}"
[ -n "$model_found" ] || skip "the default model" "could not be fetched; tests that need it were skipped"
step "asan+ubsan, fuzz corpora" build_and_test asan "" -LE "$asan_labels"

# The thread sanitizer does not run on every kernel.
probe=$(mktemp -d)
echo 'int main() {}' >"$probe/p.cpp"
if g++ -fsanitize=thread "$probe/p.cpp" -o "$probe/p" 2>/dev/null && "${fixed[@]}" "$probe/p" 2>/dev/null; then
  if [ -n "$all" ]; then
    step "tsan, all tests" build_and_test tsan "" -LE '^(static|long)$'
  else
    step "tsan, concurrent tests" build_and_test tsan concurrent_tests -L '^concurrent$'
  fi
else
  skip "tsan" "the thread sanitizer does not run on this kernel"
fi
rm -rf "$probe"

style() { git ls-files 'src/*.cpp' 'src/*.h' 'include/*' 'capi/*.cpp' 'capi/*.h' 'bindings/*.cpp' 'bindings/*.h' 'tests/*.cpp' 'tests/*.h' \
                       'examples/*.cpp' 'examples/*.c' 'benchmarks/*.cpp' 'benchmarks/*.h' |
          xargs clang-format --dry-run -Werror; }
tidy() { git ls-files 'src/*.cpp' 'capi/*.cpp' | xargs -P "$jobs" -n 4 clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/release 2>/dev/null; }
fuzz() {
  bash cmake/build.sh fuzz fuzzers || return 1
  local target name status=0
  for target in build/fuzz/tests/fuzz/fuzz_*; do
    if [ ! -x "$target" ] || [ ! -f "$target" ]; then continue; fi
    name=$(basename "$target")
    mkdir -p "build/fuzz/corpus/$name"
    # What it finds goes to the first folder; the corpus of the repository is read only.
    "${fixed[@]}" "$target" -max_total_time=60 -print_final_stats=0 -verbosity=0 -artifact_prefix="build/fuzz/$name-" \
      "build/fuzz/corpus/$name" "tests/fuzz/corpus/${name#fuzz_}" || status=1
  done
  return "$status"
}
if [ -n "$all" ]; then
  for tool in clang-format:style clang-tidy:tidy clang++:fuzz; do
    if command -v "${tool%%:*}" >/dev/null 2>&1; then
      step "${tool#*:}" "${tool#*:}"
    else
      skip "${tool#*:}" "${tool%%:*} is not installed"
    fi
  done
fi

echo
echo "summary"
printf '%s\n' "${summary[@]}"
sort -u "$log" | sed 's/^skipped: /  skipped  /'
[ -n "$all" ] || echo "  skipped  long tests, style, clang-tidy, fuzzers (make check-all)"
if [ -n "$failed" ]; then
  echo "FAILED"
  exit 1
fi
echo "all passed in $((SECONDS / 60)) min $((SECONDS % 60)) s"
