#!/bin/sh
# From a fresh machine to a trained model in a few minutes: installs missing packages (Debian and
# Ubuntu), builds, trains a small model on synthetic images, tests it, and draws its predictions.
# sh examples/quickstart.sh [OUT]      OUT is the folder for the results, run/quickstart by default
set -eu
out=${1-}
case $out in
/* | '') ;;
*) out=$PWD/$out ;;
esac
cd "$(dirname "$0")/.."
out=${out:-run/quickstart}
packages='gcc libc6-dev meson ninja-build pkg-config libopenblas-dev libjansson-dev
libjpeg-dev libpng-dev libwebp-dev libcairo2-dev fonts-dejavu-core'

missing() {
    for command in meson ninja pkg-config; do
        command -v "$command" >/dev/null 2>&1 || echo "$command"
    done
    command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || echo gcc
    if command -v pkg-config >/dev/null 2>&1; then
        for module in jansson libjpeg libpng cairo; do
            pkg-config --exists "$module" || echo "$module"
        done
    fi
}

install_missing() {
    [ -z "$(missing)" ] && return
    echo "== installing what is missing: $(missing | tr '\n' ' ')"
    if command -v apt-get >/dev/null 2>&1; then
        if [ "$(id -u)" = 0 ]; then
            root=
        elif command -v sudo >/dev/null 2>&1; then
            root=sudo
        else
            root=false
        fi
        # The list of packages is meant to be split, and root may be no word at all.
        # shellcheck disable=SC2086
        { $root apt-get update -q && $root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -q -y --no-install-recommends --no-upgrade $packages; } || true
    fi
    [ -z "$(missing)" ] && return
    echo "Still missing: $(missing | tr '\n' ' ')" >&2
    echo "Please install these, by Debian's names, and start again:" >&2
    echo "$packages" | tr "\n" " " >&2
    echo >&2
    exit 1
}

install_missing

echo "== building into build/"
[ -f build/build.ninja ] || meson setup build -Dtests=false
ninja -C build
bin=build/examples

echo "== training a small model on synthetic images (about a minute)"
"$bin/shiftvit-train" --data procedural:4000 --set dim=48 --set 'blocks=[1,2,2,1]' \
    --set dropout=0 --set drop_path=0.1 --epochs 10 --batch 64 --overwrite --out "$out"

echo "== predicting nine images that it has not seen"
rm -f "$out"/images/[0-9]*-*.png # of an earlier start
"$bin/shiftvit-export" --data procedural --split test --count 9 --out "$out/images"
"$bin/shiftvit-predict" --model "$out/model.safetensors" --top 2 --grid "$out/grid.png" \
    "$out/images"

cat <<END

Look at:
  $out/grid.png      images with the predicted class above each
  $out/curves.png    loss and accuracy, epoch by epoch
  $out/history.csv   the values of the curves
Next:
  $bin/shiftvit-predict --model examples/models/cifar10.safetensors PHOTO.jpg
                     what is on a photograph, by a model trained on CIFAR-10: airplane, automobile,
                     bird, cat, deer, dog, frog, horse, ship or truck
  $bin/shiftvit-info --model $out/model.safetensors     what is in the model's file
  $bin/shiftvit-info --build                            how the library runs on this machine
  sh examples/fetch-cifar.sh 10                         CIFAR-10, then
  $bin/shiftvit-train --data cifar10:data/cifar-10-batches-bin --out run/cifar10
END
