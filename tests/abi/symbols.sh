#!/bin/sh
# The shared library exports exactly the reviewed symbols, each with its version.
# symbols.sh LIBRARY SYMBOLS_TXT. After a deliberate change: symbols.sh LIBRARY - > symbols.txt
set -eu
LC_ALL=C
export LC_ALL
exported() {
    nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort
}
if [ "$2" = - ]; then
    exported "$1"
    exit
fi
test -s "$2"
found=$(mktemp)
trap 'rm -f "$found"' EXIT
exported "$1" >"$found"
if ! diff "$2" "$found"; then
    echo "the reviewed list (<) and the library (>) differ: see docs/abi.md"
    exit 1
fi
