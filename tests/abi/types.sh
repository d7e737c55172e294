#!/bin/sh
# A program that was compiled with the headers of a release runs with a library of these headers: no function is gone or
# has other arguments, no field of a struct has moved, and structs have grown at their ends at most. New functions are
# accepted.  types.sh SOURCE_ROOT CC [INCLUDE]
#
# Both are read from debug information, of libraries without contents that are compiled here from the headers.
set -eu
LC_ALL=C
export LC_ALL
root=$1 cc=$2 include=${3-$1/include}
here=$root/tests/abi
for tool in abidw abidiff; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "skipped: $tool is missing (Debian's package is abigail-tools)"
        exit 77
    }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# types HEADER...: the types of the public functions that the headers declare, those of MPI among them. The compiler may
# be a command with arguments.
# shellcheck disable=SC2086
types() {
    rm -rf "$folder/include"
    mkdir -p "$folder/include/shiftvit"
    cp "$@" "$folder/include/shiftvit"
    awk -f "$here/empty_functions.awk" "$folder"/include/shiftvit/*.h >"$folder/functions.c"
    $cc -std=c11 -g -O0 -w -fPIC -shared -DSVIT_MPI_WITHOUT_MPI_H '-DMPI_Comm=void *' -I"$folder/include" \
        "$folder/functions.c" -o "$folder/libshiftvit.so"
    abidw --suppressions "$here/public.abignore" --drop-private-types --no-show-locs --no-elf-needed \
        --type-id-style hash "$folder/libshiftvit.so" >"$folder/types.xml"
    grep -q "<function-decl name='svit_model_create'" "$folder/types.xml"
    cat "$folder/types.xml"
}

types "$include"/shiftvit/*.h "$root/bindings/mpi/include/shiftvit/mpi.h" >"$folder/new.xml"
seen=0
for release in "$here"/releases/*; do
    types "$release"/*.h >"$folder/old.xml"
    awk -f "$here/older.awk" "$folder/old.xml" "$folder/new.xml" >"$folder/seen.xml"
    if ! abidiff --harmless --no-added-syms "$folder/old.xml" "$folder/seen.xml"; then
        echo "the library breaks programs that were compiled with $release: see docs/abi.md"
        exit 1
    fi
    seen=$((seen + 1))
done
echo "compatible with $seen releases"
[ $seen -gt 0 ]
