#!/bin/sh
# A program that was compiled with the headers of a release runs with the library of this tree, and computes what the
# same program does with the headers of this tree. Every function of the release is there.
# older_program.sh LIBRARY SOURCE_ROOT CC
set -eu
library=$1 root=$2 cc=$3
here=$root/tests/abi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# compile NAME ARGUMENT...: the compiler may be a command with arguments.
compile() {
    program=$folder/$1
    shift
    # shellcheck disable=SC2086
    $cc -std=c11 -D_GNU_SOURCE "$here/older_program.c" -o "$program" "$@" "$library" -Wl,-rpath,"$(dirname "$library")"
}

compile newer -I"$root/include"
"$folder/newer" >"$folder/expected"
grep -q '^class 9: ' "$folder/expected"
seen=0
for header in "$here"/releases/*/shiftvit.h; do
    {
        echo '#include "shiftvit.h"'
        echo 'void (*const every_function[])(void) = {'
        grep -o '^SVIT_API .*' "$header" | sed 's/^[^(]*[ *]\(svit_[a-z0-9_]*\)(.*/    (void (*)(void))\1,/'
        echo '};'
    } >"$folder/every.c"
    grep -q svit_model_create "$folder/every.c"
    # Only the headers of the release are visible.
    compile older -DRELEASED -I"$(dirname "$header")" "$folder/every.c"
    "$folder/older" >"$folder/seen"
    diff "$folder/expected" "$folder/seen" || { echo "a program that was compiled with $header"; exit 1; }
    seen=$((seen + 1))
done
echo "programs of $seen releases run"
[ "$seen" -gt 0 ]
