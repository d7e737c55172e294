#!/bin/sh
# The folder of a run: what may lie in it, what is left of another run, and what its files say of the data.
# Usage: runs.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
needs_decoders
cd "$work"
tiny='--set dim=24 --set blocks=[1,1] --epochs 1 --batch 8 --threads 1'
run 0 shiftvit-export --data procedural:40 --split train --count 40 --by-class --out images
mkdir -p sets
cp -r images sets/train

# A model that belongs to no run is not replaced, and neither are pictures.
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:images $tiny --val-fraction 0 --out done
for file in model.safetensors curves.png; do
    mkdir "own-$file"
    cp "done/$file" "own-$file"
    # shellcheck disable=SC2086
    run 1 shiftvit-train --data folder:images $tiny --out "own-$file"
    says "'own-$file' has the file $file, which the run would replace"
    cmp "done/$file" "own-$file/$file" || fail "$file is another one"
done
mkdir own-events
echo events >own-events/events.out.tfevents.shiftvit
# shellcheck disable=SC2086
run 1 shiftvit-train --data folder:images $tiny --set tensorboard=true --out own-events
says "'own-events' has the file events.out.tfevents.shiftvit, which the run would replace"
# What --overwrite does not replace has a message that does not advise it.
mkdir -p foreign/run own-folder
cp "$(find images/disc -name '*.png' | head -n 1)" foreign/run/curves.png
# shellcheck disable=SC2086
run 2 shiftvit-train --data folder:images $tiny --out foreign/run
says "^shiftvit-train: --out: 'foreign/run/curves.png' exists and is no picture .* the file has to be moved\$"
for file in curves.png model.safetensors history.csv checkpoint.safetensors; do
    mkdir "own-folder/$file"
    for given in '' --overwrite; do
        # shellcheck disable=SC2086
        run 1 shiftvit-train --data folder:images $tiny $given --out own-folder
        says "^shiftvit-train: --out: 'own-folder/$file' is a folder; a file is needed\$"
    done
    rmdir "own-folder/$file"
done
# --overwrite replaces it, but never the model that the run starts from.
lost="--out: '.*' has the model of --init-from, which the run would replace"
cp own-model.safetensors/model.safetensors kept.safetensors
mkdir linked
ln -s ../own-model.safetensors/model.safetensors linked/model.safetensors
ln -s own-model.safetensors to-own
for start in own-model.safetensors own-model.safetensors/model.safetensors ./done/../to-own to-own/model.safetensors \
    linked/model.safetensors linked; do
    # shellcheck disable=SC2086
    run 2 shiftvit-train --data folder:images $tiny --init-from "$start" --overwrite --out own-model.safetensors
    says "$lost"
done
# shellcheck disable=SC2086
run 2 shiftvit-train --data folder:images $tiny --init-from linked --overwrite --out linked
says "$lost"
for start in done done/model.safetensors done/checkpoint.safetensors; do
    # shellcheck disable=SC2086
    run 2 shiftvit-train --data folder:images $tiny --init-from "$start" --overwrite --out "$PWD/done"
    says "$lost"
done
cmp own-model.safetensors/model.safetensors kept.safetensors || fail 'a model was lost'
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:images $tiny --init-from kept.safetensors --overwrite --out own-model.safetensors
cmp -s own-model.safetensors/model.safetensors kept.safetensors && fail '--overwrite did not replace the model'

# The largest seed is that of JSON's integers: a run with a larger one could not be resumed.
# shellcheck disable=SC2086
run 2 shiftvit-train --data folder:images $tiny --seed 9223372036854775808 --out seeded
says "'9223372036854775808' is no whole number from 0 to 9223372036854775807"
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:images $tiny --seed 9223372036854775807 --out seeded
run 0 shiftvit-train --resume seeded --epochs 2
run 0 shiftvit-eval --model seeded
says "^as in the run of 'seeded': .* --seed=9223372036854775807\$"

# Once a run that replaces or extends another one has a checkpoint, the old model is not taken for its model,
# and the old curves are not there beside the new history.
interrupted() {
    "$programs/shiftvit-train" "$@" --quiet >/dev/null 2>"$work/err" &
    trained=$!
    tries=0
    while { [ -e "$folder/model.safetensors" ] || [ -e "$folder/curves.png" ]; } && [ "$tries" -lt 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    left=$(find "$folder" -name curves.png) # they are drawn when the run ends
    kill "$trained"
    wait "$trained" && fail "$* was not interrupted"
    [ -z "$left" ] || fail "$*: the curves of the old run are left"
    absent "$folder/model.safetensors"
    there "$folder/checkpoint.safetensors"
}
cp -r done longer
folder=longer
interrupted --resume longer --epochs 100000
run 0 shiftvit-predict --model longer images/disc
says 'the model is longer/checkpoint.safetensors'
cp -r done other
folder=other
# shellcheck disable=SC2086
interrupted --data procedural:64 $tiny --epochs 100000 --patience 0 --val-fraction 0 --out other --overwrite
run 0 shiftvit-predict --model other images/disc
says "the model is other/checkpoint.safetensors"
# Before that the old run is whole.
cp -r done kept
# shellcheck disable=SC2086
run 1 shiftvit-train --data folder:absent $tiny --out kept --overwrite
cmp done/model.safetensors kept/model.safetensors || fail 'a run that did not begin has changed the old model'

# The folder of a run is no class.
for out in images/run images/disc/a/b sets/train/run; do
    data=${out%%/*}
    # shellcheck disable=SC2086
    run 2 shiftvit-train --data "folder:$data" $tiny --out "$out"
    says "--out: '$out' lies in '$data(/train)?', the folder of the data"
    absent "$out"
done
cd images
# shellcheck disable=SC2086
run 2 shiftvit-train --data folder:. $tiny
absent run
cd ..
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:sets $tiny --out sets/run
mkdir images2
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:images $tiny --out images2/run

# Nor do links lead from a class to it, directly or from deeper folders. Those that the library does not follow, to
# folders around the classes, and those that lead elsewhere are none of its business.
mkdir -p store/inner linked/disc linked/ring/more
cp "$(find images/disc -name '*.png' | head -n 1)" linked/disc
cp "$(find images/disc -name '*.png' | head -n 1)" store
ln -s ../store linked/square
ln -s ../../../store/inner linked/ring/more/link
cp linked/disc/* linked/ring
ln -s ../.. linked/disc/up
ln -s ../ring linked/disc/ring
for pair in square:store square:store/run ring/more/link:store/inner/run; do
    link=${pair%:*} out=${pair#*:}
    [ "$link" = square ] || rm -f linked/square
    # shellcheck disable=SC2086
    run 2 shiftvit-train --data folder:linked $tiny --val-fraction 0 --overwrite --out "$out"
    says "^shiftvit-train: --out: '$out' is, or lies in, the folder to which the link 'linked/(disc/)?$link' leads, whose "
    run 2 shiftvit-export --data folder:linked --split all --out "$out"
    says "^shiftvit-export: --out: '$out' is, or lies in, the folder to which the link 'linked/(disc/)?$link' leads, whose "
done
absent store/run store/inner/run
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:linked $tiny --val-fraction 0 --out store/beside

# The run.json of a run has its data, unless other data is given.
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:images $tiny --limit-train 20 --seed 5 --out first
run 0 shiftvit-train --config first/run.json --out again
cmp first/model.safetensors again/model.safetensors || fail '--config run.json trained another model'
# shellcheck disable=SC2086
run 0 shiftvit-train --config first/run.json --data procedural:64 --limit-test 20 --limit-val 20 --out elsewhere
says '; 64 images train'

# A path that is no text is trained on, but not stored.
broken=$(printf 'caf\351')
if mkdir "$broken" 2>/dev/null; then
    cp -r images/* "$broken"
    # shellcheck disable=SC2086
    run 0 shiftvit-train --data "folder:$broken" $tiny --out latin
    says '^the path of --data is no UTF-8 text'
    run 2 shiftvit-train --resume latin --epochs 2
    says "the run of 'latin' has not stored where its data is; --data is needed"
    run 0 shiftvit-train --resume latin --epochs 2 --data "folder:$broken"
fi

# What a resumed run has already is not given once more.
for given in '--out x' '--preset vit-cifar100' '--init-from done'; do
    # shellcheck disable=SC2086
    run 2 shiftvit-train --resume first --epochs 2 $given
    says "--resume goes on with the run of 'first', .*; ${given%% *} is accepted without --resume"
done
echo '{"existing": "overwrite"}' >existing.json
for given in '--set existing=overwrite' '--config existing.json'; do
    # shellcheck disable=SC2086
    run 2 shiftvit-train --data folder:images $given --out first
    says "^shiftvit-train: (--set|existing.json): existing: with shiftvit-train --resume DIR goes on with a run that is there, "
done

# Fields of a file change the preset; a whole model of another architecture excludes it.
echo '{"dim": 16, "depth": 1, "epochs": 1}' >fields.json
run 0 shiftvit-train --data folder:images --preset vit-paper-cifar100 --config fields.json --set heads=2 --threads 1 --out fields
grep -q '"architecture": "vit"' fields/run.json || fail "the file's field has replaced the preset: $(cat fields/run.json)"
grep -q '"tokenizer": "patch"' fields/run.json && grep -q '"input_width": 32' fields/run.json ||
    fail "other fields are not the preset's: $(cat fields/run.json)"
echo '{"architecture": "shiftvit", "dim": 16}' >whole.json
run 2 shiftvit-train --data folder:images --preset vit-paper-cifar100 --config whole.json --out whole
says "'vit-paper-cifar100' is of architecture 'vit', and the model of 'whole.json' of 'shiftvit'"

# A model file says what the model is.
run 2 shiftvit-eval --model first --data folder:images --set dim=48
says '--set: the model file says what the model is'
run 2 shiftvit-convert first/model.safetensors x.safetensors --set dropout=0.7
absent x.safetensors
run 0 shiftvit-eval --model first --data folder:images --set dim=24
run 2 shiftvit-eval --model first --data folder:images --name vit_tiny_patch16_224
says 'is a model file of this library, which says what it is; name is accepted for checkpoints of others$'

# JSON is all that --json prints.
# shellcheck disable=SC2086
run 0 shiftvit-train --data folder:images $tiny --val-fraction 0 --json --out lines
[ -s "$work/out" ] && ! grep -qv '^{' "$work/out" || fail "not all lines are JSON: $(cat "$work/out")"
echo 'runs: passed'
