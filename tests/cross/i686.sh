#!/bin/sh
# Builds and tests the library for 32-bit x86, where sizes have 32 bits. The CPU itself runs the programs, or an emulator
# if the kernel runs no 32-bit programs.
#     sh tests/cross/i686.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin i686 gcc-i686-linux-gnu libc6-dev-i386-cross qemu-user-static
libraries i386 libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
emulator="$sysroot/lib/ld-linux.so.2 --library-path $sysroot/lib/i386-linux-gnu:$sysroot/usr/lib/i386-linux-gnu"
"$sysroot/lib/ld-linux.so.2" --version >/dev/null 2>&1 || emulator="qemu-i386-static -L $sysroot"
build
suite i686 '.*'
finish
