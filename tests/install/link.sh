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
trap 'exit 1' HUP INT TERM
unset LD_LIBRARY_PATH
# What a static program needs besides the library, from which a program alone is made first.
if [ "$what" = static ]; then
    echo 'int main(void) { return 0; }' >"$folder/empty.c"
    for library in "$blas" jpeg png webp z m c; do
        # shellcheck disable=SC2046,SC2086
        $cc -static "$folder/empty.c" -o "$folder/empty" \
            $(pkg-config --libs-only-L "$blas" 2>/dev/null) -l"$library" 2>"$folder/log" ||
            skip "there is no static library '$library': $(head -n 1 "$folder/log")"
    done
fi
if [ "$what" = static ]; then
    # Nothing is loaded at run time by such a program, so the BLAS is linked.
    build=$folder/build
    {
        # Words of options are meant to be split.
        # shellcheck disable=SC2086
        meson setup "$build" "$root" --prefix=/usr --libdir=lib -Dtests=false -Dexamples=false \
            -Dblas="$blas" -Dblas_linked=true $quick_build
        meson compile -C "$build"
    } >"$folder/log" 2>&1 || {
        cat "$folder/log"
        exit 1
    }
fi
install_moved "$build" "$folder" 'a prefix'
readme_program "$root" "$folder/program.c"
every_function "$root" "$folder/every.c"
# Words of flags are meant to be split, and pkg-config's have the quotes that folders with spaces need.
eval "$cc -std=c11 '$folder/program.c' '$folder/every.c' -o '$folder/with-rpath' $(shiftvit_flags --cflags --libs) \
    -Wl,-rpath,'$libdir'"
cd /
"$folder/with-rpath" >"$folder/expected"

# The shared library needs no files of the decoders' developers.
PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$libdir/pkgconfig shiftvit_flags --exists --print-errors || {
    echo "the shared library needs other libraries' pkg-config files"
    exit 1
}
grep -q '^logit 9: ' "$folder/expected"
[ "$what" = static ] || exit 0

# The compiler warns if a function of the C library would need shared libraries at run time.
eval "$cc -std=c11 -static '$folder/program.c' '$folder/every.c' -o '$folder/static' \
    $(shiftvit_flags --static --cflags --libs)" >"$folder/log" 2>&1 || {
    cat "$folder/log"
    exit 1
}
cat "$folder/log"
if grep -qi warning "$folder/log" || readelf -d "$folder/static" | grep NEEDED; then
    echo 'the program is not entirely static'
    exit 1
fi
"$folder/static" | cmp - "$folder/expected"

# The BLAS is inside, and a context can choose it.
cat >"$folder/blas.c" <<'end'
#include <shiftvit/shiftvit.h>
#include <stdio.h>
int main(void)
{
    svit_context_config config;
    svit_context *context;
    char text[4096];
    svit_context_config_init(&config, sizeof config);
    config.gemm = "cblas";
    if (svit_context_create(&context, &config, NULL) != SVIT_OK ||
        svit_context_describe(context, text, sizeof text, NULL, NULL) != SVIT_OK)
        return 1;
    puts(text);
    svit_context_free(context);
}
end
eval "$cc -std=c11 -static '$folder/blas.c' -o '$folder/blas' $(shiftvit_flags --static --cflags --libs)"
"$folder/blas" | grep -q '"gemm": *"cblas"'

