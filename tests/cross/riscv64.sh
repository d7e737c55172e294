#!/bin/sh
# Builds and tests the library for 64-bit RISC-V in an emulator. Debian bookworm has a compiler for it, but no packages.
#     sh tests/cross/riscv64.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin riscv64 gcc-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user-static cmake
check_from_source riscv64-linux-gnu-gcc -DCMAKE_SYSTEM_PROCESSOR=riscv64
emulator='qemu-riscv64-static -L /usr/riscv64-linux-gnu'
build -Dblas=none -Djpeg=disabled -Dpng=disabled -Dwebp=disabled
remarks='without BLAS, JPEG, PNG, WebP'
suite riscv64 '.*'
finish
