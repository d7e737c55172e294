#!/bin/sh
# Builds the library and its tests as static programs over the C library musl, and runs them. Debian has no other
# libraries for musl.
#     sh tests/cross/musl.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin musl musl-tools cmake
check_from_source musl-gcc -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_C_FLAGS=-static
emulator=
build -Dblas=none -Djpeg=disabled -Dpng=disabled -Dwebp=disabled -Ddefault_library=static
remarks='without BLAS, JPEG, PNG, WebP'

finish
