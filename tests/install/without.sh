#!/bin/sh
# Without Check and cairo, the library is configured without tests and programs and reports it. If they
# are requested explicitly, a missing dependency is an error.  without.sh MESON SOURCE_ROOT
set -eu
meson=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# All pkg-config files except these two.
mkdir "$work/pc"
pkg-config --variable pc_path pkg-config | tr : '\n' | while read -r folder; do
    for file in "$folder"/*.pc; do
        [ ! -e "$file" ] || ln -sf "$file" "$work/pc/"
    done
done
rm -f "$work/pc/check.pc" "$work/pc/cairo.pc"
export PKG_CONFIG_LIBDIR="$work/pc" PKG_CONFIG_PATH=

# configured NAME [OPTION...]
configured() {
    name=$1
    shift
    # shellcheck disable=SC2086
    $meson setup "$work/$name" "$root" "$@" >"$work/log" 2>&1
}

configured auto || { cat "$work/log"; exit 1; }
grep -Eq 'programs *: NO' "$work/log" || { echo 'the programs are not left out'; exit 1; }
grep -Eq 'tests *: NO' "$work/log" || { echo 'the tests are not left out'; exit 1; }
configured off -Dtests=false -Dexamples=false || { cat "$work/log"; exit 1; }
! configured tests -Dtests=true -Dexamples=false || { echo '-Dtests=true without Check'; exit 1; }
grep -q 'check' "$work/log"
! configured examples -Dtests=false -Dexamples=true || { echo '-Dexamples=true without cairo'; exit 1; }
grep -q 'cairo' "$work/log"
echo 'configured without Check and cairo'
