#!/bin/sh
# Checks the first two laws of docs/architecture.md: includes point down only, and each outside thing
# has one adapter. Checks also that no folder of lib/ and of the programs is a long corridor, that no line of C is wider
# than 100 columns, and that scripts leave no temporary folders.
# check.sh SOURCE_ROOT
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
here=tests/floors
find lib -name '*.[ch]' | sort | xargs awk -f "$here/floors.awk"
find examples/common -name '*.[ch]' ! -path '*/windows/*' | sort | xargs awk -f "$here/programs.awk"

# Sources and headers in one folder, without those of its subfolders.
most=25
crowded=$(find lib examples -name '*.[ch]' | sed 's#/[^/]*$##' | sort | uniq -c |
    awk -v most=$most '$1 > most { print $2 "/ has " $1 " files, of at most " most }')
[ -z "$crowded" ] || {
    echo "$crowded"
    exit 1
}

# clang-format leaves comments as wide as they are. The records of old releases are not ours to wrap.
most=100
wide=$(find lib include examples bindings/mpi bindings/wasm tests -path tests/abi/releases -prune -o -name '*.[ch]' -print \
    -o -name '*.hpp' -print 2>/dev/null | sort | xargs awk -v most=$most '
    length($0) > most { print FILENAME ":" FNR ": has " length($0) " columns, of at most " most }')
[ -z "$wide" ] || {
    echo "$wide"
    exit 1
}

# A shell that a signal ends skips what it was to do at its exit, unless it traps the signal, too.
scripts=$(find tests tools examples debian/tests -type f -exec grep -lE '^ *trap .* EXIT' {} + 2>/dev/null || true)
untidy=$(echo "$scripts" | while read -r script; do
    [ -z "$script" ] || grep -qE "^ *trap '.*exit 1' HUP INT TERM\$" "$script" ||
        grep -HnE '^ *trap .* EXIT' "$script" | sed -n "1s/\(:[0-9]*:\).*/\1 lacks trap 'exit 1' HUP INT TERM/p"
done)
[ -z "$untidy" ] || {
    echo "$untidy"
    exit 1
}

# What is tracked: no links, which would lead somewhere else in an archive, and no stray files beside the README.
if [ -e .git ]; then
    tracked=$(git -c safe.directory='*' ls-files -s) || {
        echo 'skipped check: git does not read this folder'
        exit 0
    }
    stray=$(echo "$tracked" | awk '$1 == 120000 { print "a link is tracked: " $4 }'
        echo "$tracked" | cut -f 2 | grep -v / | grep -vE '^(\..*|.*\.md|.*\.in|meson.*|pyproject\.toml|COPYING)$' || true)
    [ -z "$stray" ] || {
        echo "these do not belong there: $stray"
        exit 1
    }
fi
