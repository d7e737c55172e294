#!/bin/sh
# Builds the library as WebAssembly, with Emscripten, and the page of web/: build.sh [FOLDER], by default
# build-wasm. FOLDER/web is the page as files for any server, with the module for programs of JavaScript;
# FOLDER/shiftvit.html is the same page as one file, which a browser opens without a server.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-$source/build-wasm}
for tool in emcc meson ninja python3; do
    command -v "$tool" > /dev/null || { echo "build.sh: $tool is not installed" >&2; exit 77; }
done
# Two builds: with and without shared memory, which pages have where they are isolated from other origins.
build() {
    folder=$1
    if [ ! -f "$folder/build.ninja" ]; then
        meson setup "$folder" "$source" --cross-file "$source/bindings/wasm/emscripten.ini" --buildtype=minsize \
            -Db_ndebug=true -Dlow_precision=false -Donnx=false -Dcheckpoints=false -Djpeg=disabled -Dpng=disabled \
            -Dwebp=disabled -Dblas=none -Dexamples=false -Dtests=false "-Dc_args=$2"
    fi
    ninja -C "$folder" ${JOBS:+-j "$JOBS"} bindings/wasm/shiftvit.wasm
}
(build "$folder" '')
(build "$folder/threads" '-matomics -mbulk-memory')
mkdir -p "$folder/web"
cp "$folder/bindings/wasm/shiftvit.wasm" "$source/bindings/wasm/"*.js "$source/bindings/wasm/shiftvit.d.ts" \
    "$source/bindings/wasm/package.json" \
    "$source/examples/models/cifar10.safetensors" "$source/web/index.html" "$source/web/style.css" \
    "$source/web/"*.js "$folder/web"
cp "$folder/threads/bindings/wasm/shiftvit.wasm" "$folder/web/shiftvit-threads.wasm"
python3 "$source/bindings/wasm/one_file.py" "$folder/web" "$folder/shiftvit.html"
