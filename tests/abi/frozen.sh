#!/bin/sh
# The functions of the last release, those of recorded.h, have the versions of releases; all others that in development.
# frozen.sh SOURCE_ROOT
set -eu
LC_ALL=C
export LC_ALL
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
grep -o 'svit_[a-z0-9_]*(' "$1/tests/abi/recorded.h" | tr -d '(' | sort -u >"$folder/released"
grep -o 'svit_[a-z0-9_]*;' "$1/lib/libshiftvit.map" | tr -d ';' | sort >"$folder/frozen"
test -s "$folder/released"
if ! diff "$folder/released" "$folder/frozen"; then
    echo "tests/abi/recorded.h (<) and the releases of lib/libshiftvit.map (>) differ: see docs/abi.md"
    exit 1
fi
