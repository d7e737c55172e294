#!/bin/sh
# Builds and tests the library for IBM Z, whose numbers are big-endian in memory, in an emulator.
#     sh tests/cross/s390x.sh [FOLDER]
. "$(dirname "$0")/common.sh"
begin s390x gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static
libraries s390x libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
emulator="qemu-s390x-static -L $sysroot"
build
suite s390x '.*'
finish
