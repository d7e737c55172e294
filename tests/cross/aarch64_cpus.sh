#!/bin/sh
# Runs the quick tests of the build of aarch64.sh on other CPUs of 64-bit Arm. The last three have vectors of 128, 256
# and 512 bits in SVE.
#     sh tests/cross/aarch64_cpus.sh [FOLDER]
SHIFTVIT_CROSS_ONLY=test
. "$(dirname "$0")/common.sh"
begin aarch64
build
for cpu in cortex-a53 cortex-a76 neoverse-n1 a64fx max,sve-max-vq=1 max,sve-max-vq=2 max,sve-max-vq=4; do
    QEMU_CPU=$cpu suite "aarch64 $cpu" "$quick"
done
finish
