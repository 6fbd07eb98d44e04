#!/bin/bash
# Installs what the build needs and is not there: by apt when run as root, else it names the packages and stops.
set -eu

missing=()
need_command() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need_command g++ g++
need_command cmake cmake
need_command ninja ninja-build
need_command ccache ccache
need_command git git
need_command python3 python3
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] || missing+=(ca-certificates)
python3 -m pip --version >/dev/null 2>&1 || /usr/bin/python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)

# The headers of the interpreter that CMake will find; another than the system's has brought its own.
python3 -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' 2>/dev/null ||
  missing+=(python3-dev)

# One run of the preprocessor says which headers are there, wherever they were installed.
headers="fmt/format.h:libfmt-dev nlohmann/json.hpp:nlohmann-json3-dev utf8proc.h:libutf8proc-dev
         pcre2.h:libpcre2-dev protozero/version.hpp:libprotozero-dev
         CLI/CLI.hpp:libcli11-dev simde/x86/avx2.h:libsimde-dev catch2/catch.hpp|catch2/catch_all.hpp:catch2
         pybind11/pybind11.h:pybind11-dev
         eigen3/Eigen/Core|Eigen/Core:libeigen3-dev dnnl.hpp:libdnnl-dev"
# OpenBLAS's headers lie where the alternative of the day has put them.
{ compgen -G "/usr/include/openblas*/cblas.h" || compgen -G "/usr/include/*/openblas*/cblas.h" ||
  compgen -G "/usr/include/openblas_config.h"; } >/dev/null || missing+=(libopenblas-dev)
probe() {
  local entry header package
  for entry in $headers; do
    header="${entry%%:*}" package="${entry#*:}"
    echo "#if !__has_include(<${header%%|*}>) && !__has_include(<${header##*|}>)"
    echo "MISSING $package"
    echo "#endif"
  done
}
if command -v g++ >/dev/null 2>&1; then
  mapfile -t -O "${#missing[@]}" missing < <(probe | g++ -std=c++20 -E -P -x c++ - | sed -n "s/^MISSING //p" | tr -d " ")
else
  for entry in $headers; do missing+=("${entry#*:}"); done
fi

[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "These packages are missing: ${missing[*]}" >&2
  echo "Install them and run the command again, on Debian or Ubuntu with:" >&2
  echo "  sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]} …"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } \
     >"$log" 2>&1 </dev/null; then
  tail -n 30 "$log" >&2
  exit 1
fi
