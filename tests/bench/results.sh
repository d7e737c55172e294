#!/bin/sh
# Trains the runs of docs/results one after the other, each to its end, and goes on where an earlier call stopped:
#     sh tests/bench/results.sh PROGRAMS DATA FOLDER [RUN...]
# PROGRAMS has shiftvit-train and shiftvit-eval, DATA the folders of examples/fetch-cifar.sh. FOLDER gets a folder
# RUN-SEED for each run, with its history, its weights and `result`: the line of the test, that of the test with flips,
# the version, the CPU, the seconds and the weights' sha256. A RUN, such as `narrow`, is one of the table below, whose
# order counts; all if none is given. The runs take days. A signal ends the training after its step, and with it the
# script.
set -eu
programs=$1 data=$2 folder=$3
shift 3
grep -q avx512_bf16 /proc/cpuinfo && compute=bf16 || compute=f32

# Recipes beside this script; the sizes of the ViTs of 1.1, 2.2 and 4.44 PFLOP.
recipes=$(dirname "$0")/recipes
vit="--config $recipes/vit.json --set names=seed --set tokenizer=conv --set attention=global --set dim=256"
vit="$vit --set depth=5 --set heads=8 --set head_dim=32 --set mlp_dim=512 --set pool=mean --set drop_path=0"

# run: seeds: data set: options
table="
cifar100: 0 1: cifar100: --preset shiftvit-cifar100 --val-fraction 0
cifar10-long: 0 1: cifar10: --preset shiftvit-cifar10-narrow --config $recipes/long.json --set dim=96 \
    --set drop_path=0.05 --val-fraction 0
cifar10-hour: 0: cifar10: --preset shiftvit-cifar10-narrow --epochs 60 --set early_fraction=0.75 \
    --set points=[[0,0],[0.1,1],[1,0]] --val-fraction 0
cifar100-vit-18: 0: cifar100: --preset vit-paper-cifar100 $vit --epochs 18 --val-fraction 0
cifar100-vit: 0 1: cifar100: --preset vit-paper-cifar100 $vit --epochs 37 --val-fraction 0
cifar10-vit: 0 1: cifar10: --preset slvit-paper-cifar10 $vit --val-fraction 0
vit-printed: 0 1: cifar100: --preset vit-cifar100-seed002 --set decay_rule=unscaled
slvit-printed: 0 1: cifar100: --preset slvit-cifar100-seed002 --set decay_rule=unscaled
vit: 2: cifar100: --preset vit-cifar100-seed002
slvit: 2: cifar100: --preset slvit-cifar100-seed002
vit-f32: 0: cifar100: --preset vit-cifar100-seed002 --compute f32
shift: 1 2: cifar10: --preset shiftvit-cifar10
keras: 0 1 2: cifar10: --preset shiftvit-cifar10-keras
slvit-paper: 0: cifar100: --preset slvit-paper-cifar100-full --epochs 50 --val-fraction 0
"

# spec SET: what --data takes.
spec() {
    case $1 in
    cifar10) echo "cifar10:$data/cifar-10-batches-bin" ;;
    cifar100) echo "cifar100:$data/cifar-100-binary" ;;
    esac
}

# train OUT SET OPTION...: a run from its start or its last checkpoint to its end.
train() {
    out=$1 images=$(spec "$2")
    shift 2
    [ ! -f "$out/result" ] || return 0
    # A run that has ended is tested once more, and trains no further.
    if [ -f "$out/checkpoint.safetensors" ]; then
        set -- --resume "$out"
    else
        set -- --compute "$compute" "$@" --data "$images" --out "$out"
    fi
    begin=$(date +%s)
    "$programs/shiftvit-train" --quiet "$@" >"$folder/last"
    spent=$(($(date +%s) - begin))
    "$programs/shiftvit-eval" --quiet --model "$out" --data "$images" --tta flip >"$folder/last.flips"
    {
        cat "$folder/last"
        sed -n "s,^test:,flips:,p" "$folder/last.flips"
        "$programs/shiftvit-train" --version | head -n 1
        sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
        echo "$spent seconds in the last call"
        sha256sum "$out/model.safetensors" | cut -d ' ' -f 1
    } >"$folder/last.result"
    mv "$folder/last.result" "$out/result"
}

mkdir -p "$folder"
echo "$table" | while IFS=: read -r name seeds set options; do
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    for seed in $seeds; do
        # Options, meant to be split.
        # shellcheck disable=SC2086
        train "$folder/$name-$seed" $set $options --seed "$seed" </dev/null
        echo "$name $seed: $(head -n 2 "$folder/$name-$seed/result" | tr '\n' ' ')"
    done
done
