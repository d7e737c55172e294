#!/bin/sh
# Builds the Debian packages of a source tree in a fresh folder, has lintian judge them, and runs
# debian/tests on what they contain.  debian.sh SOURCE_ROOT [FOLDER_FOR_PACKAGES]
# With INSTALL=yes, as root: installs them with dpkg for debian/tests, and removes them again.
set -eu
root=$1 keep=${2-}
for tool in dpkg-buildpackage dh lintian fakeroot; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "skipped: $tool is missing (Debian: apt install debhelper fakeroot lintian)"
        exit 77
    }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$folder/source"
# The files of the tree without what was built in it.
(cd "$root" && if [ -e .git ]; then git ls-files -z; else find . -type f -not -path './build*' -print0; fi |
    tar --null -T - -cf -) | tar -xf - -C "$folder/source"
cd "$folder/source"
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc -b >"$folder/log" 2>&1 || {
    tail -n 60 "$folder/log"
    exit 1
}
cd "$folder"
ls -- *.deb
lintian --fail-on error --tag-display-limit 0 -- *.changes

if [ "${INSTALL-}" = yes ]; then
    packages=$(for package in *.deb; do dpkg-deb -f "$package" Package; done)
    # Names of packages, meant to be split.
    # shellcheck disable=SC2086
    trap 'dpkg --purge $packages >/dev/null; rm -rf "$folder"' EXIT
    find . -name '*.deb' ! -name '*-dbgsym_*' -exec dpkg -i {} + >"$folder/log" 2>&1 || {
        cat "$folder/log"
        exit 1
    }
else
    for package in *.deb; do
        case $package in *-dbgsym_*) continue ;; esac
        dpkg-deb -x "$package" "$folder/installed"
    done
    libdir=$(dirname "$(find "$folder/installed" -name libshiftvit.so.1)")
    PATH=$folder/installed/usr/bin:$PATH
    LD_LIBRARY_PATH=$libdir
    PKG_CONFIG_PATH=$libdir/pkgconfig
    PKG_CONFIG_SYSROOT_DIR=
    export PATH LD_LIBRARY_PATH PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
    # The prefix of these packages is /usr, which this is not.
    sed -i "s|^prefix=/usr$|prefix=$folder/installed/usr|" "$libdir/pkgconfig/shiftvit.pc"
fi
cd "$folder/source"
for test in program tools; do
    "debian/tests/$test"
    echo "debian/tests/$test passed"
done
[ -z "$keep" ] || cp "$folder"/*.deb "$keep"
