#!/bin/sh
# Tests the WebAssembly module in Node and the page in a headless Chromium: run.sh [BUILD]. BUILD, by default build, is
# a build of the programs, with which results are compared; the module is built in build-wasm. Installs what is missing
# as root on Debian. Exits with 77, which meson reports as skipped, where it cannot. MANY is the number of images of the
# largest test (5000), SECONDS_TO_FIRST the time that the first class may take from an empty cache (2), PICTURES a folder
# for pictures of the page.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
build=${1:-$source/build}
wasm=${WASM_BUILD:-$source/build-wasm}

has() { command -v "$1" > /dev/null; }
needed=
has emcc || needed="$needed emscripten"
has node || needed="$needed nodejs"
has chromium || has chromium-browser || has google-chrome || [ -n "${CHROMIUM:-}" ] || needed="$needed chromium"
if [ -n "$needed" ] && [ "${INSTALL:-yes}" = yes ] && has apt-get && [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $needed; } > /dev/null ||
        true
fi
for tool in emcc node; do
    has "$tool" || { echo "skipped: $tool is not installed"; exit 77; }
done
has chromium || has chromium-browser || has google-chrome || [ -n "${CHROMIUM:-}" ] ||
    { echo "skipped: Chromium is not installed"; exit 77; }
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' || { echo "skipped: node is older than 18"; exit 77; }

export PYTHONDONTWRITEBYTECODE=1
sh "$source/bindings/wasm/build.sh" "$wasm"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
predict=$build/examples/shiftvit-predict
# Node 18 takes a file for a module by its package.json alone, as newer ones do with this option.
detect=--no-experimental-detect-module
node -e "process.exit(process.allowedNodeEnvironmentFlags.has('$detect') ? 0 : 1)" && export NODE_OPTIONS="$detect"
python3 "$here/native.py" "$predict" "$source/examples/models/cifar10.safetensors" "$work"
failed=0
node "$here/test_sizes.mjs" "$wasm" "$source/docs/browser.md" || failed=1
node "$here/test_types.mjs" "$wasm/web" || failed=1
node "$here/test_module.mjs" "$wasm/web" "$work/native.json" || failed=1
node "$here/test_threads.mjs" "$wasm/web" "$work/native.json" || failed=1
awk '/^```js/ { on = 1; next } /^```/ { on = 0 } on' "$source/docs/browser.md" > "$wasm/web/example.mjs"
if (cd "$wasm/web" && node example.mjs > "$work/example.txt") && tail -1 "$work/example.txt" | grep -qx disc; then
    echo "ok    runs the program of docs/browser.md"
else
    echo "FAIL  runs the program of docs/browser.md"
    failed=1
fi
rm -f "$wasm/web/example.mjs" "$wasm/web/discs.safetensors"
python3 "$here/test_page.py" "$wasm" "$work" "$predict" --many "${MANY:-5000}" --seconds "${SECONDS_TO_FIRST:-2}" \
    ${PICTURES:+--pictures "$PICTURES"} || failed=1
exit $failed
