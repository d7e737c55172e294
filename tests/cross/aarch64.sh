#!/bin/sh
# Builds and tests the library for 64-bit Arm in an emulator: all tests on one CPU, which has all that the emulator can
# do, and the quick ones on others. The last three have vectors of 128, 256 and 512 bits in SVE.
#     sh tests/cross/aarch64.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin aarch64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
libraries arm64 libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
emulator="qemu-aarch64-static -L $sysroot"
build
QEMU_CPU=max suite 'aarch64 max' '.*'
for cpu in cortex-a53 cortex-a76 neoverse-n1 a64fx max,sve-max-vq=1 max,sve-max-vq=2 max,sve-max-vq=4; do
    QEMU_CPU=$cpu suite "aarch64 $cpu" "$quick"
done
finish
