#!/bin/sh
# A program that was compiled with the recorded interface runs with the library: no function is gone
# or has other arguments, no field of a struct has moved, and structs have grown at their ends at
# most. New functions are accepted.
# types.sh LIBRARY TYPES_XML.  After a deliberate change: types.sh LIBRARY - > types.xml
# LIBRARY has the functions of the headers and debug information; "none" says that the build has no such library.
set -eu
LC_ALL=C
export LC_ALL
here=$(dirname "$0")
skip() {
    echo "skipped: $1"
    exit 77
}
for tool in abidw abidiff; do
    command -v "$tool" >/dev/null 2>&1 || skip "$tool is missing (Debian's package is abigail-tools)"
done
[ "$1" != none ] || skip 'no library with debug information: the build has no abidw, a sanitizer, or not gcc'

# No path of this machine is written: sources are named without their folders.
written() {
    abidw --suppressions "$here/public.abignore" --drop-private-types --no-corpus-path --no-comp-dir-path \
        --no-show-locs --no-elf-needed --type-id-style hash "$1" | sed "s|path='[^']*/|path='|"
}
if [ "$2" = - ]; then
    written "$1"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
written "$1" >"$folder/new.xml"
grep -q '<function-decl' "$folder/new.xml" || {
    echo "$1 has no debug information"
    exit 1
}
architecture() {
    sed -n "1s/.*architecture='\([^']*\)'.*/\1/p" "$1"
}
[ "$(architecture "$2")" = "$(architecture "$folder/new.xml")" ] ||
    skip "the recorded interface is of $(architecture "$2")"
awk -f "$here/older.awk" "$2" "$folder/new.xml" >"$folder/seen.xml"
# "Harmless" is what may be so in C++ in general. Here it includes fields of the same type that have
# changed places.
if ! abidiff --harmless --no-added-syms "$2" "$folder/seen.xml"; then
    echo "the library breaks programs that were compiled before: see docs/abi.md"
    exit 1
fi
echo "compatible with $2"
