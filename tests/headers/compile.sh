#!/bin/sh
# Each public header compiles alone, as C11 and as C++17, pedantic, without a warning.
# compile.sh INCLUDE_FOLDER CC CXX; without a C++ compiler CXX is empty
set -eu
include=$1
cc=$2
cxx=$3
failed=0
for header in "$include"/shiftvit/*.h; do
    name=shiftvit/$(basename "$header")
    printf '#include <%s>\nint header_is_alone;\n' "$name" |
        $cc -std=c11 -Wall -Wextra -pedantic -Wstrict-prototypes -Werror -fsyntax-only \
            -I"$include" -x c - || { echo "$name fails as C11"; failed=1; }
    [ -n "$cxx" ] || continue
    printf '#include <%s>\nint header_is_alone;\n' "$name" |
        $cxx -std=c++17 -Wall -Wextra -pedantic -Werror -fsyntax-only \
            -I"$include" -x c++ - || { echo "$name fails as C++17"; failed=1; }
done
[ -n "$cxx" ] || echo 'skipped check: a C++ compiler is missing (Debian: g++)'
exit $failed
