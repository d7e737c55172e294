#!/bin/sh
# The layout test lists every struct of the public headers.  layout.sh SOURCE_ROOT
set -eu
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
sed -n 's/^typedef struct \(svit_[a-z0-9_]*\) {$/\1/p' "$root"/include/shiftvit/*.h | sort >"$folder/declared"
sed -n 's/^LAYOUT(\(svit_[a-z0-9_]*\),.*/\1/p' "$root/tests/abi/test_layout.c" | sort >"$folder/listed"
test -s "$folder/declared"
if ! diff "$folder/declared" "$folder/listed"; then
    echo "the structs of the headers (<) and of tests/abi/test_layout.c (>) differ"
    exit 1
fi
