#!/bin/sh
# Weights of Keras' files and back. $SHIFTVIT_PYTHON names a Python that has the packages h5py and numpy; without
# one the test is skipped.
# Usage: keras_weights.sh FOLDER_OF_THE_PROGRAMS PYTHON SOURCE_ROOT
set -eu
programs=$1
python=${SHIFTVIT_PYTHON:-$2}
"$python" -c 'import h5py, numpy' 2>/dev/null || {
    echo "skipped: $python has no packages h5py and numpy; set SHIFTVIT_PYTHON"
    exit 77
}
. "$(dirname "$0")/support.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work"
once='--epochs 1 --batch 32 --threads 2 --limit-val 20 --limit-test 20 --data procedural:64'
vit='--set dim=16 --set depth=2 --set heads=2 --set head_dim=6 --set mlp_dim=24 --set head_units=[12,10]'
# shellcheck disable=SC2086
run 0 shiftvit-train --preset shiftvit-cifar10-keras --set dim=24 --set num_div=6 --set blocks=[1,2] $once --out shiftvit
# shellcheck disable=SC2086
run 0 shiftvit-train --preset vit-cifar100 $vit $once --out vit
# shellcheck disable=SC2086
run 0 shiftvit-train --preset slvit-cifar100 $vit $once --out slvit
for name in shiftvit vit slvit; do
    "$python" "$here/keras_weights.py" "$3/examples/keras-weights.py" $name/model.safetensors $name ||
        fail "$name is not converted"
    run 0 shiftvit-info --model $name/back.safetensors
done
# The file has no preprocessing, which a preset states.
run 0 shiftvit-export --data procedural:10 --count 1 --out images
image=$(find images -name '*.png' | head -n 1)
run 2 shiftvit-predict --model shiftvit/back.safetensors "$image"
says 'does not say how images become its input; --preset NAME takes the preset.s preprocessing'
run 0 shiftvit-predict --preset shiftvit-cifar10-keras --set dim=24 --set num_div=6 --set blocks=[1,2] \
    --model shiftvit/back.safetensors "$image"
