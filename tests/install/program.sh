#!/bin/sh
# The installed library is all that a program needs: the README's program is built against a fresh
# prefix with pkg-config alone, as C and as C++, shared and static, and run. The library is built
# without a BLAS.  program.sh SOURCE_ROOT CC CXX
set -eu
root=$1
cc=$2
cxx=$3
# shellcheck source=tests/install/prefix.sh
. "$(dirname "$0")/prefix.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
{
    # Words of options are meant to be split.
    # shellcheck disable=SC2086
    meson setup "$folder/build" "$root" --prefix="$prefix" --libdir=lib -Dtests=false -Dblas=none $quick_build
    meson compile -C "$folder/build"
    meson install -C "$folder/build" --no-rebuild
} >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
PKG_CONFIG_PATH=$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
readme_program "$root" "$folder/program.c"
every_function "$root" "$folder/every.c"
$cc -std=c11 -I"$prefix/include" -c "$folder/every.c" -o "$folder/every.o"
cp "$folder/program.c" "$folder/program.cc"

flags='-Wall -Wextra -pedantic -Werror'
# Words of flags are meant to be split.
# shellcheck disable=SC2046,SC2086
{
    $cc -std=c11 $flags "$folder/program.c" "$folder/every.o" -o "$folder/shared-c" \
        $(pkg-config --cflags --libs shiftvit)
    $cxx -std=c++17 $flags "$folder/program.cc" "$folder/every.o" -o "$folder/shared-cc" \
        $(pkg-config --cflags --libs shiftvit)
    static=$(pkg-config --static --libs shiftvit | sed 's/-lshiftvit/-l:libshiftvit.a/')
    $cc -std=c11 $flags "$folder/program.c" "$folder/every.o" -o "$folder/static-c" \
        $(pkg-config --cflags shiftvit) $static
    $cxx -std=c++17 $flags "$folder/program.cc" "$folder/every.o" -o "$folder/static-cc" \
        $(pkg-config --cflags shiftvit) $static
}

LD_LIBRARY_PATH=$prefix/lib "$folder/shared-c" >"$folder/expected"
cat "$folder/expected"
LD_LIBRARY_PATH=$prefix/lib "$folder/shared-cc" | cmp - "$folder/expected"
for program in static-c static-cc; do
    if ldd "$folder/$program" | grep -q libshiftvit; then
        echo "$program is not static"
        exit 1
    fi
    "$folder/$program" | cmp - "$folder/expected"
done
LD_LIBRARY_PATH=$prefix/lib "$prefix/bin/shiftvit-info" --build
! LD_LIBRARY_PATH=$prefix/lib "$prefix/bin/shiftvit-info" --build --gemm cblas 2>"$folder/said"
grep -q "gemm is 'cblas'; this build has no CBLAS" "$folder/said"
