#!/bin/bash
# Builds Ollama from its Go module into the given file: build-ollama.sh FILE. It takes minutes and 2 GB that are freed again.
# The module lacks headers, because a module never holds a folder named vendor; the sources of llama-cpp-python have them.
set -euo pipefail
readonly VERSION=v0.17.4 HEADERS=0.3.36
work=$(mktemp -d)
# Go leaves its module cache read-only.
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv python
python/bin/pip download --quiet --no-deps --no-binary :all: "llama-cpp-python==$HEADERS" -d sources
tar xzf sources/llama_cpp_python-*.tar.gz --wildcards '*/vendor/llama.cpp/vendor/*'
headers=$(echo "$work"/llama_cpp_python-*/vendor/llama.cpp/vendor)
CGO_CPPFLAGS="-I$headers" GOBIN="$work/bin" GOCACHE="$work/build" GOMODCACHE="$work/modules" GOFLAGS=-buildvcs=false \
  "${GO:-go}" install -ldflags '-s -w' "github.com/ollama/ollama@$VERSION"
mkdir -p "$(dirname "$1")"
mv bin/ollama "$1"
