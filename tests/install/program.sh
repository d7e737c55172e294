#!/bin/sh
# The installed library is all that a program needs: the README's program is built against a moved installation of this
# build with pkg-config alone, as C and as C++, shared and static, and run.
# program.sh SOURCE_ROOT BUILD CC CXX; without a C++ compiler CXX is empty
set -eu
root=$1
cc=$3
cxx=$4
# shellcheck source=tests/install/prefix.sh
. "$(dirname "$0")/prefix.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
install_moved "$2" "$folder"
readme_program "$root" "$folder/program.c"
every_function "$root" "$folder/every.c"
$cc -std=c11 -I"$prefix/include" -c "$folder/every.c" -o "$folder/every.o"
cp "$folder/program.c" "$folder/program.cc"

flags='-Wall -Wextra -pedantic -Werror'
# build COMPILER SOURCE PROGRAM FLAGS: words of flags are meant to be split, and pkg-config's have the quotes that
# folders with spaces need.
build() {
    eval "$1 $flags '$folder/$2' '$folder/every.o' -o '$folder/$3' $4"
}
shared=$(shiftvit_flags --cflags --libs)
static="$(shiftvit_flags --cflags) $(shiftvit_flags --static --libs | sed 's/-lshiftvit/-l:libshiftvit.a/')"
build "$cc -std=c11" program.c shared-c "$shared"
build "$cc -std=c11" program.c static-c "$static"
if [ -n "$cxx" ]; then
    build "$cxx -std=c++17" program.cc shared-cc "$shared"
    build "$cxx -std=c++17" program.cc static-cc "$static"
fi

LD_LIBRARY_PATH=$libdir "$folder/shared-c" >"$folder/expected"
cat "$folder/expected"
if [ -n "$cxx" ]; then
    LD_LIBRARY_PATH=$libdir "$folder/shared-cc" | cmp - "$folder/expected"
else
    echo 'skipped check: a C++ compiler is missing (Debian: g++)'
fi
for program in static-c ${cxx:+static-cc}; do
    if ldd "$folder/$program" | grep -q libshiftvit; then
        echo "$program is not static"
        exit 1
    fi
    "$folder/$program" | cmp - "$folder/expected"
done

# An installed program finds the library by itself, wherever the installation is; in the system's folders that does.
unset LD_LIBRARY_PATH
case $configured${libdir#"$prefix"} in
/usr/lib | /usr/lib64 | /usr/lib/*-linux-*) exit 0 ;;
esac
if [ -e "$prefix/bin/shiftvit-info" ]; then
    "$prefix/bin/shiftvit-info" --build
    ldd "$prefix/bin/shiftvit-info" | grep "libshiftvit.so.* => $prefix/"
fi
