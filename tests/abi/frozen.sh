#!/bin/sh
# Each release has its functions in the maps of versions, in the nodes that name it or an older release, and no map has
# others.  frozen.sh SOURCE_ROOT
set -eu
LC_ALL=C
export LC_ALL
root=$1 bad=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# frozen MAP RELEASE: the functions of the nodes up to that of the release; none if the map does not name it.
frozen() {
    awk -v release="$2" '/^SVIT_/ { node = $4 } /svit_[a-z0-9_]*;/ { sub(/;.*/, ""); print $1 }
        /^}/ && node == release { found = 1; exit } END { exit !found }' "$1" | sort
}

# compare HEADER MAP RELEASE
compare() {
    grep -o '\<svit_[a-z0-9_]*(' "$1" | tr -d '(' | sort -u >"$folder/released"
    test -s "$folder/released"
    frozen "$2" "$3" >"$folder/frozen"
    diff "$folder/released" "$folder/frozen" && return 0
    echo "$1 (<) and the nodes up to $3 of $2 (>) differ: see docs/abi.md"
    bad=1
}

for release in "$root"/tests/abi/releases/*; do
    compare "$release/shiftvit.h" "$root/lib/libshiftvit.map" "$(basename "$release")"
    [ ! -e "$release/mpi.h" ] ||
        compare "$release/mpi.h" "$root/bindings/mpi/shiftvit-mpi.map" "$(basename "$release")"
done
for map in "$root/lib/libshiftvit.map" "$root/bindings/mpi/shiftvit-mpi.map"; do
    for named in $(sed -n 's|^SVIT_[^/]*/\* \([0-9.]*\) \*/$|\1|p' "$map"); do
        [ -e "$root/tests/abi/releases/$named" ] && continue
        echo "$map names $named, which is not among tests/abi/releases"
        bad=1
    done
done
exit $bad
