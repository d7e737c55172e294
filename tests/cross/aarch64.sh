#!/bin/sh
# Builds the library for 64-bit Arm, and runs its tests in an emulator, on a CPU that has all that the emulator can do.
#     sh tests/cross/aarch64.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin aarch64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
libraries arm64 libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
emulator="qemu-aarch64-static -L $sysroot"
build
QEMU_CPU=max suite 'aarch64 max' '.*'
finish
