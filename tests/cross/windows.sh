#!/bin/sh
# Builds the library for 64-bit Windows with Debian's mingw-w64, and runs its tests in Wine.
#     sh tests/cross/windows.sh [FOLDER]
. "$(dirname "$0")/common.sh"
. tests/cross/windows_libraries.sh

# The first program would start Wine's services, which keep its output open.
wine wineboot >/dev/null 2>&1 </dev/null
emulator=wine
build -Dblas=none
suite windows '.*'
finish
