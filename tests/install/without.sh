#!/bin/sh
# Without Check and cairo, the library is configured without tests and programs and reports it. Without a C++ compiler
# the tests are configured without what needs one. If they are requested explicitly, a missing dependency is an error.
# without.sh MESON SOURCE_ROOT
set -eu
meson=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# configured NAME [OPTION...]
configured() {
    name=$1
    shift
    # shellcheck disable=SC2086
    $meson setup "$work/$name" "$root" "$@" >"$work/log" 2>&1
}

# All programs of PATH except the C++ compilers.
mkdir "$work/bin"
echo "$PATH" | tr : '\n' | while read -r folder; do
    # A program that is in two folders is that of the first.
    ln -s "$folder"/* "$work/bin/" 2>"$work/log" || true
done
rm -f "$work/bin/g++" "$work/bin/clang++" "$work/bin/c++"
programs=$PATH
PATH=$work/bin
configured c-alone -Dexamples=false || { cat "$work/log"; exit 1; }
grep -Eq 'tests *: YES' "$work/log" || { echo 'the tests are left out without a C++ compiler'; exit 1; }
! configured c-tests -Dexamples=false -Dtests=true || { echo '-Dtests=true without a C++ compiler'; exit 1; }
grep -q 'g++.*not found' "$work/log" || { cat "$work/log"; exit 1; }
PATH=$programs

# All pkg-config files except these two.
mkdir "$work/pc"
pkg-config --variable pc_path pkg-config | tr : '\n' | while read -r folder; do
    for file in "$folder"/*.pc; do
        [ ! -e "$file" ] || ln -sf "$file" "$work/pc/"
    done
done
rm -f "$work/pc/check.pc" "$work/pc/cairo.pc"
export PKG_CONFIG_LIBDIR="$work/pc" PKG_CONFIG_PATH=

configured auto || { cat "$work/log"; exit 1; }
grep -Eq 'programs *: NO' "$work/log" || { echo 'the programs are not left out'; exit 1; }
grep -Eq 'tests *: NO' "$work/log" || { echo 'the tests are not left out'; exit 1; }
configured off -Dtests=false -Dexamples=false || { cat "$work/log"; exit 1; }
! configured tests -Dtests=true -Dexamples=false || { echo '-Dtests=true without Check'; exit 1; }
grep -q 'check' "$work/log"
! configured examples -Dtests=false -Dexamples=true || { echo '-Dexamples=true without cairo'; exit 1; }
grep -q 'cairo' "$work/log"
echo 'configured without a C++ compiler, and without Check and cairo'
