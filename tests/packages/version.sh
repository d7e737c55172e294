#!/bin/sh
# The version of meson.build is that of the Debian package, and a released one only where CHANGELOG.md begins with it: a
# tree with changes since then has the version that comes, so that programs can ask for it.  version.sh SOURCE_ROOT
# (bindings/rust/generate/generate.py compares the crates, tests/headers version.h.)
set -eu
cd "$1"
bad=0
wrong() {
    echo "$1"
    bad=1
}
version=$(sed -n "s/^  version: '\([0-9.]*\)'.*/\1/p" meson.build)
test -n "$version"

package=$(sed -n '1s/^shiftvit (\([0-9.]*\)-[0-9]*).*/\1/p' debian/changelog)
[ "$package" = "$version" ] || wrong "debian/changelog begins with ${package:-no version}, meson.build has $version"
for symbols in debian/*.symbols; do
    for of in $(sed -n 's/^ (symver)SVIT_[0-9.]* //p' "$symbols"); do
        [ "$of" = "$version" ] || [ -d "tests/abi/releases/$of" ] || wrong "$symbols: $of is no release"
    done
done
# Without its line a version of the functions would need this very revision of the package.
lists() {
    for name in $(sed -n 's/^\(SVIT_[0-9.]*\) {.*/\1/p' "$1"); do
        grep -q "^ (symver)$name " "$2" || wrong "$2 has no line for $name of $1"
    done
}
lists lib/libshiftvit.map debian/libshiftvit1.symbols
for mpi in mpich openmpi; do
    lists bindings/mpi/shiftvit-mpi.map "debian/libshiftvit-${mpi}1.symbols"
done

heading=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
if [ -d "tests/abi/releases/$version" ]; then
    [ "$heading" = "$version" ] || wrong "$version is released, and CHANGELOG.md begins with $heading: raise the version"
else
    [ "$heading" = Unreleased ] || wrong "$version is not released, and CHANGELOG.md begins with $heading"
fi
[ $bad = 0 ] && echo "version $version"
exit $bad
