# make run    builds Ingle, fetches a small model and asks it a question (PROMPT="…", MODEL=path)
# make test   builds and runs the tests, also under the address and thread sanitizers
# make build  builds all of it, for cmake --install
# make check-all   those, the long tests, style, clang-tidy and the fuzzers
# make format, make clean
PROMPT ?= What is the capital of France?
MODEL ?=
# Not by way of a recipe's text, for a prompt may hold quotes; and as it was given, for it may hold dollar signs.
unexport PROMPT MODEL
export INGLE_RUN_PROMPT := $(value PROMPT)
export INGLE_RUN_MODEL := $(value MODEL)

.PHONY: run test check-all build setup format clean help
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# //p' Makefile | head -n 5

setup:
	@bash cmake/setup.sh

build: setup
	@bash cmake/build.sh release

run: setup
	@bash cmake/build.sh release ingle_cli
	@model="$$INGLE_RUN_MODEL"; [ -n "$$model" ] || model="$$(python3 cmake/fetch_model.py)" || exit 1; \
	  build/release/ingle run "$$model" "$$INGLE_RUN_PROMPT" --temp 0

test: setup
	@bash cmake/test.sh

check-all: setup
	@bash cmake/test.sh --all

format:
	@git ls-files '*.cpp' '*.h' '*.hpp' '*.c' | xargs clang-format -i

clean:
	rm -rf build
