#!/bin/sh
# A program that was compiled with the recorded headers runs with the library of this tree, and
# computes what the same program does with the headers of this tree. Every function of the recorded
# headers is there.  older_program.sh LIBRARY SOURCE_ROOT CC
set -eu
library=$1 root=$2 cc=$3
here=$root/tests/abi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{
    echo '#include "recorded.h"'
    echo 'void (*const every_function[])(void) = {'
    grep -o '^SVIT_API .*' "$here/recorded.h" | sed 's/^[^(]*[ *]\(svit_[a-z0-9_]*\)(.*/    (void (*)(void))\1,/'
    echo '};'
} >"$folder/every.c"
grep -q svit_model_create "$folder/every.c"
# The compiler may be a command with arguments. Only the recorded headers are visible to the first.
# shellcheck disable=SC2086
$cc -std=c11 -D_GNU_SOURCE -DRECORDED -I"$here" "$here/older_program.c" "$folder/every.c" -o "$folder/older" \
    "$library" -Wl,-rpath,"$(dirname "$library")"
# shellcheck disable=SC2086
$cc -std=c11 -D_GNU_SOURCE -I"$root/include" "$here/older_program.c" -o "$folder/newer" \
    "$library" -Wl,-rpath,"$(dirname "$library")"
"$folder/newer" >"$folder/expected"
"$folder/older" >"$folder/seen"
grep -q '^class 9: ' "$folder/expected"
diff "$folder/expected" "$folder/seen"
