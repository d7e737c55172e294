#!/bin/sh
# A CMake project finds a moved installation, builds the README's program as C and as C++, shared and
# static, and runs it. Other versions than the package serves are refused.
# cmake.sh SOURCE_ROOT BUILD CC CXX VERSION; without a C++ compiler CXX is empty
set -eu
root=$1 build=$2 version=$5
here=$(dirname "$0")
# shellcheck source=tests/install/prefix.sh
. "$here/prefix.sh"
command -v cmake >/dev/null 2>&1 || skip 'cmake is missing (Debian: cmake)'
[ -n "$4" ] || skip 'a C++ compiler is missing (Debian: g++)'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
install_moved "$build" "$folder"
cp -R "$here/cmake" "$folder/project"
readme_program "$root" "$folder/project/program.c"
every_function "$root" "$folder/project/every.c"
{ echo '#include <shiftvit/shiftvit.hpp>'; cat "$folder/project/program.c"; } >"$folder/project/program.cc"

# Without dpkg-architecture meson takes lib64 on Debian, where CMake does not look for packages.
searched=$prefix
[ "${libdir##*/}" != lib64 ] || searched="$prefix;$libdir/cmake"

# configure NAME VERSION: a compiler may be a command with arguments, which CMake takes from CC.
configure() {
    CC=$compiler CXX=$compiler_cxx cmake -G Ninja -S "$folder/project" -B "$folder/$1" -DCMAKE_PREFIX_PATH="$searched" \
        -DWANTED_VERSION="$2" >"$folder/log" 2>&1
}
compiler=$3 compiler_cxx=$4
configure exact "$version" || { cat "$folder/log"; exit 1; }
grep -q "version found: $version\$" "$folder/log" || { cat "$folder/log"; exit 1; }
cmake --build "$folder/exact" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }

"$folder/exact/shared-c" >"$folder/expected"
grep -q '^logit 9: ' "$folder/expected"
for program in shared-cc static-c static-cc; do
    "$folder/exact/$program" | cmp - "$folder/expected"
done
ldd "$folder/exact/shared-c" | grep -q "libshiftvit.so.* => $libdir/" || {
    echo 'shared-c does not use the moved library'
    exit 1
}
! ldd "$folder/exact/static-c" | grep -q libshiftvit || { echo 'static-c is not static'; exit 1; }

# Numbers of this version: MAJOR.MINOR.PATCH.
major=${version%%.*}
rest=${version#*.}
minor=${rest%%.*}
for wanted in '' "$major.$minor" "$major.$minor...$((major + 1))" "0.0.1...$version"; do
    configure "accept-$wanted" "$wanted" || { echo "refuses '$wanted'"; cat "$folder/log"; exit 1; }
done
for wanted in "$((major + 1)).0" "$major.$((minor + 1))" "$major.$minor.200" "$((major + 1))...99" \
    "0.0.1...<$version"; do
    ! configure "refuse-$wanted" "$wanted" || { echo "accepts '$wanted'"; exit 1; }
    grep -q 'compatible with requested version' "$folder/log" || { cat "$folder/log"; exit 1; }
done
# Those of other sonames, and what docs/building.md says.
documented=$(sed -n 's/^find_package(shiftvit \([0-9.]*\) CONFIG REQUIRED)$/\1/p' "$root/docs/building.md")
[ -n "$documented" ] || { echo "docs/building.md has no find_package"; exit 1; }
for wanted in 0.2 "$documented"; do
    configure "older-$wanted" "$wanted" || { echo "refuses '$wanted'"; cat "$folder/log"; exit 1; }
done
! configure oldest 0.1 || { echo "accepts 0.1, which has another soname"; exit 1; }

# Headers outside of the prefix, as where a package has an output for development.
meson setup "$folder/apart" "$root" --prefix="$folder/out" --libdir=lib --includedir="$folder/dev/include" -Dtests=false \
    -Dexamples=false -Dblas=none -Djpeg=disabled -Dpng=disabled -Dwebp=disabled -Dopenmpi=disabled -Dmpich=disabled \
    >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
mkdir -p "$folder/out/lib/cmake/shiftvit" "$folder/dev/include" "$folder/outputs"
cp "$folder"/apart/lib/*.cmake "$folder/out/lib/cmake/shiftvit"
: >"$folder/out/lib/libshiftvit.so"
cat >"$folder/outputs/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.12)
project(outputs NONE)
find_package(shiftvit REQUIRED)
get_target_property(folder shiftvit::shiftvit INTERFACE_INCLUDE_DIRECTORIES)
message(STATUS "headers: ${folder}")
END
cmake -S "$folder/outputs" -B "$folder/outputs/build" -DCMAKE_PREFIX_PATH="$folder/out" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; exit 1; }
grep -q "headers: $folder/dev/include\$" "$folder/log" || { cat "$folder/log"; exit 1; }
echo "cmake found version $version"
