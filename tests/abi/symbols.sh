#!/bin/sh
# The shared library exports exactly the reviewed symbols, each with its version, and asks nobody else for one of them.
# All global names of the static libraries begin with svit_ or sv_.
# symbols.sh LIBRARY SYMBOLS_TXT STATIC_LIBRARY... After a deliberate change: symbols.sh LIBRARY - > symbols.txt
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
trap 'exit 1' HUP INT TERM
exported "$1" >"$found"
if ! diff "$2" "$found"; then
    echo "the reviewed list (<) and the library (>) differ: see docs/abi.md"
    exit 1
fi
if readelf -rW "$1" | grep -E '[ @]svit_'; then
    echo "calls of these functions leave the library, for another copy of it in the process"
    exit 1
fi
shift 2
for library; do
    if nm -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' | grep -vE '^(_|sv_|svit_)'; then
        echo "these names of $library could be those of a program"
        exit 1
    fi
done
