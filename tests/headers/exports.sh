#!/bin/sh
# Every function of the public headers has a comment, is exported by name in the symbol map, and
# the map has nothing else.
# exports.sh SOURCE_ROOT
set -eu
LC_ALL=C
export LC_ALL
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
awk -f "$root/tests/headers/functions.awk" "$root"/include/shiftvit/*.h >"$folder/found" || status=1
sort "$folder/found" >"$folder/declared"
sed -n 's/^ *\(svit_[a-z0-9_]*\);$/\1/p' "$root/lib/libshiftvit.map" | sort >"$folder/exported"
test -s "$folder/declared"
if ! diff "$folder/declared" "$folder/exported"; then
    echo "the headers (<) and lib/libshiftvit.map (>) differ"
    status=1
fi
exit $status
