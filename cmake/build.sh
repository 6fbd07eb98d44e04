#!/bin/bash
# build.sh PRESET [TARGET…]: configures build/PRESET when it has not been, and builds. Prints what went wrong only.
set -eu
cd "$(dirname "$0")/.."
preset="$1"
shift
folder="build/$preset"
mkdir -p "$folder"
# A precompiled header lets ccache keep nothing unless it is told to.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"

if [ ! -e "$folder/build.ninja" ]; then
  echo "configuring $folder …"
  if ! cmake --preset "$preset" >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log" >&2
    exit 1
  fi
fi
targets=()
for t in "$@"; do targets+=(--target "$t"); done
echo "building $folder …"
quiet=()
[ -t 1 ] || quiet=(-- --quiet)
cmake --build "$folder" "${targets[@]}" "${quiet[@]}"
