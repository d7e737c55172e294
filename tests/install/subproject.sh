#!/bin/sh
# A meson project has this one as a subproject, whose library alone is configured, and its programs run,
# shared and static. The wrap file names the dependency; the folder is there, so nothing is fetched.
# subproject.sh SOURCE_ROOT CC
set -eu
root=$1 cc=$2
here=$(dirname "$0")
# shellcheck source=tests/install/prefix.sh
. "$here/prefix.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
project=$folder/project
mkdir -p "$project/subprojects/shiftvit"
cp "$here/subproject/meson.build" "$project"
cp "$here/subproject/shiftvit.wrap" "$project/subprojects"
cp -R "$root/lib" "$root/include" "$root/bindings" "$root"/meson* "$root"/*.in "$root/COPYING" "$project/subprojects/shiftvit"
readme_program "$root" "$project/program.c"
every_function "$root" "$project/every.c"

# The site is entered if it is asked for; without Doxygen that is an error.
cp -R "$root/docs" "$project/subprojects/shiftvit"
if CC="$cc" meson setup "$folder/site" "$project" --force-fallback-for=shiftvit -Dshiftvit:docs=enabled \
    >"$folder/log" 2>&1; then
    ninja -C "$folder/site" -t targets all | grep -q '/docs/html: ' || { echo 'docs=enabled adds no site'; exit 1; }
else
    grep -q "'doxygen' not found" "$folder/log" || { cat "$folder/log"; exit 1; }
fi
rm -r "$project/subprojects/shiftvit/docs"

# said COMMAND...: shows what a command says if it fails.
said() {
    "$@" >"$folder/log" 2>&1 || {
        cat "$folder/log"
        exit 1
    }
}
configure() {
    # The system's shiftvit, if there is one, is not asked for.
    said env CC="$cc" meson setup "$folder/$1" "$project" --buildtype=debug -Ddebug=false --force-fallback-for=shiftvit \
        -Ddefault_library="$1" -Dshiftvit:instruction_sets=
    if ninja -C "$folder/$1" -t targets all | grep -E '/(tests|examples)/'; then
        echo 'programs or tests are configured'
        exit 1
    fi
}

# links NAME FOLDER LIBRARY: the program has the shared or the static library among its inputs.
links() {
    ninja -C "$folder/$2" -t query "$1" | grep -q "/libshiftvit\.$3" || {
        echo "default_library=$2: $1 does not link libshiftvit.$3"
        exit 1
    }
}
for library in shared static; do
    configure $library
    links shared $library so
    links static $library a
done
links default shared so
links default static a

said ninja -C "$folder/shared" default static
"$folder/shared/default" >"$folder/expected"
grep -q '^logit 9: ' "$folder/expected"
"$folder/shared/static" | cmp - "$folder/expected"
ldd "$folder/shared/default" | grep -q libshiftvit
if ldd "$folder/shared/static" | grep libshiftvit; then
    exit 1
fi
