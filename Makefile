# make run    builds Ingle, fetches a small model and asks it a question (PROMPT="…", MODEL=path)
# make test   builds and runs the tests, also under the address and thread sanitizers
# make check-all   those, the long tests, style, clang-tidy and the fuzzers
# make format, make clean
PROMPT ?= What is the capital of France?
MODEL ?=
# Not by way of a recipe's text: a prompt may hold quotes.
export PROMPT MODEL

.PHONY: run test check-all build setup format clean help
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# //p' Makefile | head -n 4

setup:
	@bash cmake/setup.sh

build: setup
	@bash cmake/build.sh release

run: setup
	@bash cmake/build.sh release ingle_cli
	@model="$$MODEL"; [ -n "$$model" ] || model="$$(python3 cmake/fetch_model.py)" || exit 1; \
	  build/release/ingle run "$$model" "$$PROMPT" --temp 0

test: setup
	@bash cmake/test.sh

check-all: setup
	@bash cmake/test.sh --all

format:
	@git ls-files '*.cpp' '*.h' '*.hpp' '*.c' | xargs clang-format -i

clean:
	rm -rf build
