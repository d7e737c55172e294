#!/bin/sh
# Prints the numbers of the tables of docs/building.md: what each option takes off the library, and the size of the
# smallest ones. Each row is a build of its own.  sizes.sh SOURCE_ROOT
set -eu
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# library OPTION...: builds the library; it is $folder/build/lib/libshiftvit.so.
library() {
    rm -rf "$folder/build"
    {
        meson setup "$folder/build" "$root" -Dexamples=false -Dtests=false "$@" &&
            meson compile -C "$folder/build" shiftvit:shared_library
    } >"$folder/log" 2>&1 || {
        tail -n 20 "$folder/log" >&2
        exit 1
    }
}

# number N: with a comma before each three digits.
number() {
    echo "$1" | sed ':more; s/^\([0-9]*[0-9]\)\([0-9]\{3\}\)/\1,\2/; t more'
}

sections() {
    size "$folder/build/lib/libshiftvit.so" | awk 'NR == 2 { print $4 }'
}

# stripped TITLE OPTION...: a row of the second table.
stripped() {
    title=$1
    shift
    library "$@"
    strip -o "$folder/stripped" "$folder/build/lib/libshiftvit.so"
    echo "| $title | $(number "$(wc -c <"$folder/stripped")") |"
}

library
all=$(sections)
printf '| option | bytes less |\n|---|---|\n'
for option in --buildtype=minsize -Dinstruction_sets= -Dinstruction_sets=avx2 -Dinstruction_sets=avx512 \
    -Dlow_precision=false -Donnx=false -Dcheckpoints=false -Djpeg=disabled -Dpng=disabled -Dwebp=disabled -Dblas=none; do
    library "$option"
    echo "| \`$option\` | $(number $((all - $(sections)))) |"
done

printf '\n| library | bytes, stripped |\n|---|---|\n'
stripped 'all options at their defaults'
least='-Db_ndebug=true -Dlow_precision=false -Dcheckpoints=false -Djpeg=disabled -Dpng=disabled -Dwebp=disabled -Dblas=none'
small="--buildtype=minsize $least"
# Options, meant to be split.
# shellcheck disable=SC2086
{
    stripped 'the smallest, above' $small -Dinstruction_sets= -Donnx=false
    stripped 'the smallest, optimised for speed (--buildtype=release)' $least -Dinstruction_sets= -Donnx=false
    stripped 'the smallest with the ONNX export' $small -Dinstruction_sets=
    stripped 'the smallest with AVX2' $small -Dinstruction_sets=avx2 -Donnx=false
}
