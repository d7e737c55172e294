#!/bin/sh
# Builds and tests the library for 32-bit Arm, where sizes have 32 bits, in an emulator.
#     sh tests/cross/armhf.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin armhf gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user-static
libraries armhf libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
emulator="qemu-arm-static -L $sysroot"
build
suite armhf '.*'
finish
