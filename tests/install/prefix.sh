# shellcheck shell=sh
# For the tests of this folder, which source it: an installation in a fresh prefix that has been moved
# from where it was installed, so nothing works that remembers the configured prefix.

# For builds that show how to install, link and load: without optimisation but for the kernels, which are those that
# every CPU runs.
# shellcheck disable=SC2034 # what sources this file reads it
quick_build='-Doptimization=0 -Dinstruction_sets='

# install_moved BUILD FOLDER [NAME]: sets `prefix`, FOLDER/NAME or FOLDER/moved, and `libdir`. BUILD is complete.
# pkg-config's files name the prefix, as if it had been configured: another value on pkg-config's command line would be
# that of the libraries which they require, too.
install_moved() {
    DESTDIR=$2/stage meson install -C "$1" --no-rebuild --quiet >"$2/log" 2>&1 || {
        cat "$2/log"
        exit 1
    }
    pc=$(find "$2/stage" -name shiftvit.pc)
    configured=$(sed -n 's/^prefix=//p' "$pc")
    prefix=$2/${3:-moved}
    mv "$2/stage$configured" "$prefix"
    libdir=$prefix${pc#"$2/stage$configured"}
    libdir=${libdir%/pkgconfig/shiftvit.pc}
    test -f "$libdir/libshiftvit.so"
    sed -i "s|^prefix=.*|prefix=$prefix|" "$libdir"/pkgconfig/*.pc
    PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    export PKG_CONFIG_PATH
}

# shiftvit_flags OPTION...: pkg-config's words for the moved installation.
shiftvit_flags() {
    pkg-config "$@" shiftvit
}

# readme_program SOURCE_ROOT FILE: writes the README's program.
readme_program() {
    sed -n '/program: begin/,/program: end/p' "$1/README.md" | sed '/^```/d; /^<!--/d' >"$2"
    test -s "$2"
}

# every_function SOURCE_ROOT FILE: writes a source, to be linked with a program, that refers to every
# public function. So everything that the static library needs has to be found.
every_function() {
    {
        echo '#include <shiftvit/shiftvit.h>'
        echo 'void (*const every_function[])(void) = {'
        sed 's/\(.*\)@@.*/    (void (*)(void))\1,/' "$1/tests/abi/symbols.txt"
        echo '};'
    } >"$2"
}

skip() {
    echo "skipped: $1"
    exit 77
}
