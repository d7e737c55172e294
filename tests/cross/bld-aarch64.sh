#!/bin/sh
# Builds and tests the library for 64-bit Arm in an emulator: all tests on one CPU, which has all that the emulator can
# do, and the quick ones on others. The last three have vectors of 128, 256 and 512 bits in SVE.
#     sh tests/cross/aarch64.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin aarch64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
libraries arm64 libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
emulator="qemu-aarch64-static -L $sysroot"
build
finish
