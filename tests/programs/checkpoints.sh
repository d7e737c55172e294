#!/bin/sh
# Checkpoints of several files, adapters and runs with adapters: no program writes over what it reads, and
# each is read the same way whatever options say what the model is.
# checkpoints.sh EXAMPLES ROOT PYTHON
set -eu
programs=$1
python=$3
here=$2/tests/programs
. "$here/support.sh"
cd "$work"

# Options are meant to be split.
tiny='--preset deit-tiny-patch16-224 --set input_height=32 --set input_width=32 --set dim=24 --set depth=1
    --set heads=2 --set head_dim=12 --set mlp_dim=32'
known='--set heads=2 --set norm_eps=1e-6 --set activation=gelu --set pool=class_token'
data='--data procedural:40 --threads 2'
short="$data --epochs 1 --limit-val 10 --limit-test 10"

# shellcheck disable=SC2086
run 0 shiftvit-train $short $tiny --out tuned
run 0 shiftvit-convert tuned base.safetensors --to pytorch
"$python" "$here/checkpoint_parts.py" base.safetensors shards adapter

# refused FILE PATTERN PROGRAM OPTION...: the exit status is 2, the message is of that form, and the file
# is as it was.
refused() {
    kept=$1 pattern=$2
    shift 2
    cp "$kept" before
    run 2 "$@"
    says "$pattern"
    cmp -s "$kept" before || fail "$*: '$kept' was replaced"
}

# Each file of a model in several files, also by another name, through a link and for the index.
part=shards/model-00001-of-00002.safetensors
index=shards/model.safetensors.index.json
ln -s "$part" link.safetensors
lost='is read from, which would be lost'
for model in shards "$index"; do
    for file in "$part" "$PWD/$part" link.safetensors; do
        # shellcheck disable=SC2086
        refused "$part" "OUT: '$file' is a file that IN $lost" shiftvit-convert $known "$model" "$file"
        # shellcheck disable=SC2086
        refused "$part" "--out: '$file' is a file that --model $lost" shiftvit-features $known $data \
            --model "$model" --out "$file"
        # shellcheck disable=SC2086
        refused "$part" "--out: '$file' is a file that --model $lost" shiftvit-eval $known $data \
            --model "$model" --accept 1 --out "$file"
    done
done
# shellcheck disable=SC2086
run 0 shiftvit-features $data --model tuned --out features.safetensors
# shellcheck disable=SC2086
refused "$part" "--out: '$part' is a file that --model $lost" shiftvit-head --fit features.safetensors $known \
    --model shards --out "$part"
if [ -x "$programs/shiftvit-anomaly" ]; then
    # shellcheck disable=SC2086
    refused "$part" "--out: '$part' is a file that --model $lost" shiftvit-anomaly $known --fit . \
        --model shards --out "$part"
fi

# The files of an adapter, and its base, wherever that is said to be.
weights=adapter/adapter_model.safetensors
# shellcheck disable=SC2086
refused $weights "OUT: '$weights' is a file that IN $lost" shiftvit-convert $known adapter $weights
# shellcheck disable=SC2086
refused base.safetensors "OUT: 'base.safetensors' is a file that IN $lost" shiftvit-convert $known adapter \
    base.safetensors
# So are the files of its preprocessing.
for file in adapter/preprocessor_config.json adapter/processor_config.json; do
    echo '{}' >"$file"
    # shellcheck disable=SC2086
    refused "$file" "OUT: '$file' is a file that IN $lost" shiftvit-convert $known adapter "$file"
    rm "$file"
done
cp base.safetensors other.safetensors
# shellcheck disable=SC2086
refused other.safetensors "OUT: 'other.safetensors' is the file of --base" shiftvit-convert $known \
    --base other.safetensors adapter other.safetensors
# shellcheck disable=SC2086
refused other.safetensors "--out: 'other.safetensors' is the file of --base" shiftvit-features $known $data \
    --base other.safetensors --model adapter --out other.safetensors
# shellcheck disable=SC2086
refused other.safetensors "--out: 'other.safetensors' is the file of --base" shiftvit-head \
    --fit features.safetensors $known --base other.safetensors --model adapter --out other.safetensors

# What lies beside them and is not read may be replaced, and they open.
for model in shards adapter; do
    # shellcheck disable=SC2086
    run 0 shiftvit-convert $known $model $model/new.safetensors
    # shellcheck disable=SC2086
    run 0 shiftvit-convert $known $model $model/new.safetensors
done

# A link to a file of a run is that file.
ln -s tuned/checkpoint.safetensors checkpoint.safetensors
ln -s tuned/history.csv history.csv
refused tuned/checkpoint.safetensors "'checkpoint.safetensors' belongs to the run" shiftvit-convert \
    base.safetensors checkpoint.safetensors
# shellcheck disable=SC2086
refused tuned/history.csv "--predictions: 'history.csv' belongs to the run" shiftvit-eval $data \
    --model tuned --predictions history.csv

# So is a file of a run that is a link itself.
mkdir store linked
cp tuned/run.json linked/
for name in checkpoint.safetensors best.safetensors; do
    cp tuned/checkpoint.safetensors "store/of-$name"
    ln -s "../store/of-$name" "linked/$name"
    refused "store/of-$name" "'linked/$name' belongs to the run" shiftvit-convert base.safetensors "linked/$name"
done

# same A B: both files or runs have the same weights.
same() {
    for either in "$1" "$2"; do
        run 0 shiftvit-convert "$either" "same$((count = ${count:-0} + 1)).safetensors" --to pytorch
    done
    cmp "same$((count - 1)).safetensors" "same$count.safetensors" || fail "'$1' and '$2' have other weights"
}

# With a configuration that is stated, as without one: in several files, or with an adapter.
for model in shards "$index" adapter; do
    # shellcheck disable=SC2086
    run 0 shiftvit-convert $known $model known.safetensors
    # shellcheck disable=SC2086
    run 0 shiftvit-convert $tiny --set num_classes=10 $model stated.safetensors
    same known.safetensors stated.safetensors
    for how in "$tiny" '--config tuned/run.json'; do
        # shellcheck disable=SC2086
        run 0 shiftvit-train $short $how --init-from $model --lr 0 --overwrite --out from
        same known.safetensors from
    done
    # shellcheck disable=SC2086
    run 2 shiftvit-train $short --init-from $model --out none
    says '--name, --set, --preset or --config is needed'
done
# shellcheck disable=SC2086
run 1 shiftvit-convert $tiny --set num_classes=10 --set dim=48 shards none.safetensors
says "tensor 'pos_embed' is \[1, 5, 24\]"
# shellcheck disable=SC2086
run 2 shiftvit-convert --preset shiftvit-cifar10 shards none.safetensors
says "IN: 'shards' is in several files, as ViTs may be"
# shellcheck disable=SC2086
run 2 shiftvit-train $short --config tuned/run.json --base other.safetensors --init-from adapter --out none
says '--base is for finding out what a checkpoint is, which --(preset|config) says'
mkdir empty
# shellcheck disable=SC2086
run 1 shiftvit-train $short $tiny --init-from empty --out none
says "^shiftvit-train: --init-from: the folder 'empty' holds no best.safetensors"
# shellcheck disable=SC2086
run 1 shiftvit-convert $tiny empty none.safetensors
says "^shiftvit-convert: IN: the folder 'empty' holds no best.safetensors"
absent none none.safetensors

# A run with adapters is the model with them merged, whatever options change or state it. model.safetensors
# has them merged already.
# shellcheck disable=SC2086
run 0 shiftvit-train $short --init-from tuned --lora 2 --lr 0.1 --out adapted
for file in adapted adapted/checkpoint.safetensors; do
    for how in '--set drop_path=0.05' '--config adapted/run.json' "$tiny"; do
        # shellcheck disable=SC2086
        run 0 shiftvit-train $short $how --init-from $file --lr 0 --overwrite --out from
        same adapted/model.safetensors from
    done
done
parameters=$("$programs/shiftvit-info" --model adapted/model.safetensors | sed -n 's/^parameters: //p')
run 0 shiftvit-convert adapted/checkpoint.safetensors whole.safetensors
prints "^$parameters parameters in "
# Positions are interpolated as those of other runs.
# shellcheck disable=SC2086
run 0 shiftvit-train $short --set input_height=64 --init-from adapted --lr 0 --overwrite --out from
# shellcheck disable=SC2086
run 0 shiftvit-train $short --set input_height=64 --init-from adapted/model.safetensors --lr 0 --overwrite --out whole
same whole from

# A run's file states their grid, 3 x 2 patches, which is another one than 2 x 3, with adapters and without; a file that
# states none is told it.
# shellcheck disable=SC2086
run 0 shiftvit-train $short $tiny --set input_height=48 --out high0
# shellcheck disable=SC2086
run 0 shiftvit-train $short --init-from high0 --lora 2 --lr 0.1 --out high
# shellcheck disable=SC2086
run 0 shiftvit-train $short --set input_width=48 --set position_height=3 --set position_width=2 \
    --set input_height=32 --init-from high/model.safetensors --lr 0 --overwrite --out whole
for file in high/model.safetensors high; do
    # shellcheck disable=SC2086
    run 0 shiftvit-train $short --set input_height=32 --set input_width=48 --init-from $file --lr 0 --overwrite \
        --out from
    same whole from
    # shellcheck disable=SC2086
    run 0 shiftvit-train $short --set input_height=32 --init-from $file --lr 0 --overwrite --out from
done
run 0 shiftvit-convert high high.safetensors --to pytorch
# shellcheck disable=SC2086
run 2 shiftvit-train $short $tiny --init-from high.safetensors --out none
says 'mismatched pos_embed; .*; of a file that does not state its grid of patches, --set position_height=N and --set'
# shellcheck disable=SC2086
run 0 shiftvit-train $short $tiny --set position_height=3 --set position_width=2 --init-from high.safetensors --lr 0 \
    --overwrite --out from

# Programs that open it as it is take the grid with and without a configuration of its model. A file of this library
# states it.
grid='--set position_height=3 --set position_width=2'
# shellcheck disable=SC2086
run 0 shiftvit-convert $known --set input_height=48 --set input_width=32 high.safetensors stated.safetensors
# shellcheck disable=SC2086
run 0 shiftvit-convert $known $grid high.safetensors told.safetensors
cmp stated.safetensors told.safetensors || fail 'the grid of positions gives other weights than that of the input'
# shellcheck disable=SC2086
run 0 shiftvit-convert $known $grid --set input_height=64 --set input_width=64 high.safetensors told.safetensors
# shellcheck disable=SC2086
run 0 shiftvit-info $tiny --set num_classes=10 $grid --model high.safetensors
# shellcheck disable=SC2086
run 2 shiftvit-info $grid --model told.safetensors
says '^shiftvit-info: --set: the model file says what the model is'

echo 'checkpoints: passed'
