#!/bin/sh
# The transfer experiment of docs/results, after transfer_data.py and the pretraining:
#     sh tests/bench/transfer.sh PROGRAMS FOLDER MODEL
# trains a new head of MODEL on FOLDER/f10, trains its last two stages further, trains the same model from nothing for
# as long, and adds each class of FOLDER/new in turn. Prints what it measures. Takes some five minutes.
set -eu
programs=$1
cd "$2"
model=$3
quiet=--quiet
now() { date +%s.%N; }
since() { echo "$1 $(now)" | awk '{printf "%.1f s", $2 - $1}'; }

begin=$(now)
"$programs"/shiftvit-features $quiet --model "$model" --data folder:f10 --split train --val-fraction 0 \
    --out f10-train.safetensors >/dev/null
"$programs"/shiftvit-head $quiet --fit f10-train.safetensors --model "$model" --out head.safetensors >/dev/null
echo "a new head, $(since "$begin"):"
"$programs"/shiftvit-eval $quiet --model head.safetensors --data folder:f10

train() {
    "$programs"/shiftvit-train $quiet --overwrite --preset shiftvit-cifar10-fast --compute bf16 --val-fraction 0 \
        --data folder:f10 --seed 0 --batch 64 "$@" | tail -n 1
}
begin=$(now)
train --init-from head.safetensors --freeze 'patch_embed*' --freeze 'layers.0*' --set optimizer=adamw --lr 0.0003 \
    --epochs 15 --out tuned
echo "its last two stages trained further, $(since "$begin")"
for epochs in 30 60 120; do
    begin=$(now)
    train --epochs $epochs --out scratch
    echo "from nothing, $epochs epochs, $(since "$begin")"
done

"$programs"/shiftvit-features $quiet --model "$model" --data folder:f10 --split test --out f10-test.safetensors >/dev/null
"$programs"/shiftvit-features $quiet --model "$model" --data folder:new --split test --out new-test.safetensors >/dev/null
mkdir -p with without
for folder in new/train/*/; do
    class=$(basename "$folder")
    "$programs"/shiftvit-head $quiet --add-class "$class" --images "$folder" --model head.safetensors \
        --out "without/$class.safetensors" >/dev/null
    begin=$(now)
    "$programs"/shiftvit-head $quiet --add-class "$class" --images "$folder" --model head.safetensors \
        --old-features f10-train.safetensors --out "with/$class.safetensors" >/dev/null
    echo "class $class added, $(since "$begin")"
done
