#!/bin/sh
# Trains the runs of docs/results one after the other, each to its end, and goes on where an earlier call stopped:
#     sh tests/bench/results.sh PROGRAMS DATA FOLDER [RUN...]
# PROGRAMS has shiftvit-train, DATA the folders of examples/fetch-cifar.sh. FOLDER gets a folder RUN-SEED for each run,
# with its history, its weights and `result`: the line of the test, the version, the CPU, the seconds and the weights'
# sha256. A RUN, such as `vit-printed`, is one of the table below; all if none is given. The runs take days. A signal
# ends the training after its step, and with it the script.
set -eu
programs=$1 data=$2 folder=$3
shift 3
cifar10=cifar10:$data/cifar-10-batches-bin
cifar100=cifar100:$data/cifar-100-binary
grep -q avx512_bf16 /proc/cpuinfo && compute=bf16 || compute=f32

# run: seeds: options
table="
vit-printed: 0 1: --data $cifar100 --preset vit-cifar100-seed002 --set decay_rule=unscaled --compute $compute
slvit-printed: 0 1: --data $cifar100 --preset slvit-cifar100-seed002 --set decay_rule=unscaled --compute $compute
vit: 2: --data $cifar100 --preset vit-cifar100-seed002 --compute $compute
slvit: 2: --data $cifar100 --preset slvit-cifar100-seed002 --compute $compute
vit-f32: 0: --data $cifar100 --preset vit-cifar100-seed002 --compute f32
shift: 1 2: --data $cifar10 --preset shiftvit-cifar10 --compute $compute
keras: 0 1 2: --data $cifar10 --preset shiftvit-cifar10-keras --compute $compute
fast: 0 1 2: --data $cifar10 --preset shiftvit-cifar10-fast --val-fraction 0 --tta flip --compute $compute
narrow: 0 1 2: --data $cifar10 --preset shiftvit-cifar10-narrow --val-fraction 0 --tta flip --compute $compute
fast-54: 0: --data $cifar10 --preset shiftvit-cifar10-fast --val-fraction 0 --tta flip --epochs 54 --compute $compute
slvit-paper: 0: --data $cifar100 --preset slvit-paper-cifar100-full --epochs 50 --val-fraction 0 --compute $compute
mae: 0: --data $cifar100 --preset vit-mae-cifar100 --compute $compute
"

# train OUT OPTION...: a run from its start or its last checkpoint to its end.
train() {
    out=$1
    shift
    [ ! -f "$out/result" ] || return 0
    # A run that has ended is tested once more, and trains no further.
    if [ -f "$out/checkpoint.safetensors" ]; then
        set -- --resume "$out"
    else
        set -- "$@" --out "$out"
    fi
    begin=$(date +%s)
    "$programs/shiftvit-train" --quiet "$@" >"$folder/last"
    spent=$(($(date +%s) - begin))
    {
        cat "$folder/last"
        "$programs/shiftvit-train" --version | head -n 1
        sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
        echo "$spent seconds in the last call"
        sha256sum "$out/model.safetensors" | cut -d ' ' -f 1
    } >"$folder/last.result"
    mv "$folder/last.result" "$out/result"
}

mkdir -p "$folder"
echo "$table" | while IFS=: read -r name seeds options; do
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    for seed in $seeds; do
        # Options, meant to be split.
        # shellcheck disable=SC2086
        train "$folder/$name-$seed" $options --seed "$seed" </dev/null
        echo "$name $seed: $(head -n 1 "$folder/$name-$seed/result")"
    done
done
