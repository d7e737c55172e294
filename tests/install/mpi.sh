#!/bin/sh
# Programs that link with the MPI libraries of a moved installation, by pkg-config and by CMake's component, and
# run under mpirun.  mpi.sh SOURCE_ROOT BUILD CC CXX FLAVOUR...; without a C++ compiler CXX is empty
set -eu
root=$1 build=$2 cc=$3 cxx=$4
shift 4
# shellcheck source=tests/install/prefix.sh
. "$(dirname "$0")/prefix.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Containers often forbid what Open MPI reads the memory of other processes with.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
install_moved "$build" "$folder"
cat >"$folder/program.cc" <<end
#include <shiftvit/mpi.h>
#include <cstdio>
int main()
{
    svit_mpi *mpi = nullptr;
    svit_reducer place{};
    if (svit_mpi_start(&mpi, 8, nullptr) != SVIT_OK || svit_mpi_get_reducer(mpi, &place, sizeof place, nullptr) != SVIT_OK)
        return 1;
    std::printf("%d leaves\n", (int)svit_partition_begin(place.leaves, place.ranks, place.rank + 1));
    svit_mpi_free(mpi);
}
end
for flavour in "$@"; do
    name=shiftvit-$flavour
    mpirun=$(command -v "mpirun.$flavour" || command -v mpirun) || skip "no mpirun of $flavour"
    # Words of flags are meant to be split, and pkg-config's have the quotes that folders with spaces need.
    flags="-Wl,-z,defs -Wl,-rpath,'$libdir' $(pkg-config --cflags --libs "$name")"
    # The test sets the rounding, which needs -lm.
    eval "$cc '$root/tests/mpi/test_mpi.c' -o '$folder/$flavour' $flags -lm"
    [ "$(timeout 100 "$mpirun" -n 2 "$folder/$flavour")" = ok ]
    if [ -n "$cxx" ]; then
        eval "$cxx '$folder/program.cc' -o '$folder/cpp-$flavour' $flags"
        [ "$(timeout 100 "$mpirun" -n 1 "$folder/cpp-$flavour")" = '8 leaves' ]
    else
        echo 'skipped check: a C++ compiler is missing (Debian: g++)'
    fi
    command -v cmake >/dev/null 2>&1 || continue
    mkdir -p "$folder/project-$flavour"
    cat >"$folder/project-$flavour/CMakeLists.txt" <<end
cmake_minimum_required(VERSION 3.12)
project(mpi_of_shiftvit C)
find_package(PkgConfig REQUIRED)
pkg_check_modules(MPI REQUIRED IMPORTED_TARGET $(sed -n 's/^Requires: .*, //p' "$libdir/pkgconfig/$name.pc"))
find_package(shiftvit REQUIRED COMPONENTS $flavour)
add_executable(program "$root/tests/mpi/test_mpi.c")
target_link_libraries(program shiftvit::$flavour PkgConfig::MPI m)
end
    cmake -S "$folder/project-$flavour" -B "$folder/cmake-$flavour" -DCMAKE_PREFIX_PATH="$prefix;$libdir/cmake" \
        >"$folder/log" 2>&1 && cmake --build "$folder/cmake-$flavour" >>"$folder/log" 2>&1 || {
        cat "$folder/log"
        exit 1
    }
    [ "$(timeout 100 "$mpirun" -n 2 "$folder/cmake-$flavour/program")" = ok ]
    sed -i 's/COMPONENTS .*/COMPONENTS another)/' "$folder/project-$flavour/CMakeLists.txt"
    if cmake -S "$folder/project-$flavour" -B "$folder/another-$flavour" -DCMAKE_PREFIX_PATH="$prefix;$libdir/cmake" \
        >"$folder/log" 2>&1; then
        echo 'a component that does not exist is found'
        exit 1
    fi
    grep -q "no component 'another'" "$folder/log"
done
