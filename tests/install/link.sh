#!/bin/sh
# Programs that link with a moved installation by pkg-config: one with an rpath that runs from any
# folder without LD_LIBRARY_PATH, and one that is entirely static.
# link.sh WHAT SOURCE_ROOT BUILD CC BLAS; WHAT is "rpath" or "static"
set -eu
what=$1 root=$2 build=$3 cc=$4 blas=$5
# shellcheck source=tests/install/prefix.sh
. "$(dirname "$0")/prefix.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset LD_LIBRARY_PATH
# What a static program needs besides the library, from which a program alone is made first.
if [ "$what" = static ]; then
    echo 'int main(void) { return 0; }' >"$folder/empty.c"
    for library in "$blas" turbojpeg png z m c; do
        # shellcheck disable=SC2046,SC2086
        $cc -static "$folder/empty.c" -o "$folder/empty" \
            $(pkg-config --libs-only-L "$blas" 2>/dev/null) -l"$library" 2>"$folder/log" ||
            skip "there is no static library '$library': $(head -n 1 "$folder/log")"
    done
fi
install_moved "$build" "$folder"
readme_program "$root" "$folder/program.c"
every_function "$root" "$folder/every.c"
# Words of flags are meant to be split.
# shellcheck disable=SC2046,SC2086
$cc -std=c11 "$folder/program.c" "$folder/every.c" -o "$folder/with-rpath" $(shiftvit_flags --cflags --libs) \
    -Wl,-rpath,"$libdir"
cd /
"$folder/with-rpath" >"$folder/expected"
grep -q '^logit 9: ' "$folder/expected"
[ "$what" = static ] || exit 0

# The compiler warns if a function of the C library would need shared libraries at run time.
# shellcheck disable=SC2046,SC2086
$cc -std=c11 -static "$folder/program.c" "$folder/every.c" -o "$folder/static" $(shiftvit_flags --static --cflags --libs) \
    >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
cat "$folder/log"
if grep -qi warning "$folder/log" || readelf -d "$folder/static" | grep NEEDED; then
    echo 'the program is not entirely static'
    exit 1
fi
"$folder/static" | cmp - "$folder/expected"
