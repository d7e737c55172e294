#!/bin/sh
# Every function of the public headers has a comment and is in the reviewed list of exported symbols,
# and the list has nothing else.
# exports.sh SOURCE_ROOT
set -eu
LC_ALL=C
export LC_ALL
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
status=0
awk -f "$root/tests/headers/functions.awk" "$root"/include/shiftvit/*.h >"$folder/found" || status=1
sort "$folder/found" >"$folder/declared"
sed 's/@.*//' "$root/tests/abi/symbols.txt" | sort >"$folder/exported"
test -s "$folder/declared"
if ! diff "$folder/declared" "$folder/exported"; then
    echo "the headers (<) and tests/abi/symbols.txt (>) differ"
    status=1
fi
exit $status
