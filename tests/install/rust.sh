#!/bin/sh
# The Rust crates build without a registry against a moved installation, and pass their tests: the programs of
# docs/rust.md and the examples too. Programs are linked with the static library, and again after a change of it.
# rust.sh SOURCE_ROOT BUILD
set -eu
root=$1 build=$2
# shellcheck source=tests/install/prefix.sh
. "$(dirname "$0")/prefix.sh"
cargo=${CARGO:-cargo}
command -v "$cargo" >/dev/null 2>&1 || skip 'cargo is missing (Debian: cargo)'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
# An installation by rustup finds its compiler by this folder, which is beside the usual CARGO_HOME.
RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export RUSTUP_HOME
CARGO_HOME=$folder/cargo CARGO_TARGET_DIR=$build/rust TMPDIR=$folder
export CARGO_HOME CARGO_TARGET_DIR TMPDIR
mkdir "$CARGO_HOME"
CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0
export CARGO_PROFILE_DEV_DEBUG CARGO_PROFILE_TEST_DEBUG
unset SHIFTVIT_LIB_DIR SHIFTVIT_STATIC
"$cargo" --version >"$folder/log" 2>&1 || skip "cargo does not run: $(head -n 1 "$folder/log")"
cat "$folder/log"
install_moved "$build" "$folder" 'a prefix'
pkg-config --exists 'shiftvit >= 0.2'
LD_LIBRARY_PATH=$libdir
export LD_LIBRARY_PATH

cd "$root/bindings/rust"
"$cargo" test --offline --locked --workspace -j 2
"$cargo" run --offline --locked -q --example train -- "$folder/model.safetensors" >"$folder/said"
grep -q '^epoch 4/4: loss ' "$folder/said" || { cat "$folder/said"; exit 1; }
for class in one two; do
    mkdir -p "$folder/photos/$class"
    for number in 1 2 3 4 5; do
        cp "$root/docs/images/attention.png" "$folder/photos/$class/$number.png"
    done
done
echo 'no image' >"$folder/photos/two/bad.png"
finetune() {
    "$cargo" run --offline --locked -q --example finetune -- "$@" "$folder/tuned.safetensors" >"$folder/said" 2>&1
}
finetune "$folder/model.safetensors" "$folder/photos" || { cat "$folder/said"; exit 1; }
grep -q '^left out: .*bad\.png' "$folder/said" || { cat "$folder/said"; exit 1; }
grep -q '^trained on 8 images; 50\.0 % of 2 others right$' "$folder/said" || { cat "$folder/said"; exit 1; }
if finetune "$folder/none" "$folder/photos"; then
    echo 'a missing model is accepted'
    exit 1
fi
grep -q '^finetune: .*none' "$folder/said" || { cat "$folder/said"; exit 1; }

# Without pkg-config's file the message says what is missing.
if PKG_CONFIG=false "$cargo" build --offline --locked -q -p shiftvit-sys 2>"$folder/said"; then
    echo 'the crate builds without the library'
    exit 1
fi
grep -q 'pkg-config finds no shiftvit' "$folder/said" || { cat "$folder/said"; exit 1; }

# A relative folder is refused: nothing says of which one it is part.
if SHIFTVIT_LIB_DIR=lib "$cargo" build --offline --locked -q --example train 2>"$folder/said"; then
    echo "a relative SHIFTVIT_LIB_DIR is taken"
    exit 1
fi
grep -q "SHIFTVIT_LIB_DIR is 'lib'; an absolute path is needed" "$folder/said"

# The static library, by its folder and by pkg-config: the programs need no shared one.
linked_statically() {
    if ldd "$1" | grep libshiftvit; then
        echo "$1 is not linked with the static library"
        exit 1
    fi
}
SHIFTVIT_LIB_DIR=$libdir SHIFTVIT_STATIC=1 "$cargo" build --offline --locked -q --example train
linked_statically "$build/rust/debug/examples/train"
LD_LIBRARY_PATH='' "$build/rust/debug/examples/train" "$folder/static.safetensors" >/dev/null
cmp "$folder/model.safetensors" "$folder/static.safetensors"
"$cargo" build --offline --locked -q --features static --example finetune
linked_statically "$build/rust/debug/examples/finetune"

# A library that was built anew is linked again.
again() { "$cargo" build --offline --locked -v --features static --example finetune 2>"$folder/said"; }
again
grep -q 'Fresh shiftvit-sys' "$folder/said" || { cat "$folder/said"; exit 1; }
touch "$libdir/libshiftvit.a"
again
if grep -q 'Fresh shiftvit-sys' "$folder/said"; then
    echo 'the crate does not notice another library'
    exit 1
fi
