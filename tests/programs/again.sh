#!/bin/sh
# A run that goes on, and one that starts again from a run.json, are the run that began, whatever it began with.
# Usage: again.sh FOLDER_OF_THE_PROGRAMS ROOT PYTHON
set -eu
programs=$1 root=$2 python=$3
. "$(dirname "$0")/support.sh"
cd "$work"
"$python" "$root/tests/programs/fine_tuning_files.py" "$root/tests/golden/pretrained_hf_vit.safetensors"

# described OLD NEW EPOCHS: the new run.json is the old one, but for the epochs.
described() {
    "$python" - "$@" <<'END' || fail "$2/run.json is another description than $1/run.json"
import json, sys
old, new = (json.load(open(path + "/run.json")) for path in sys.argv[1:3])
old["training"]["epochs"] = int(sys.argv[3])
for part in sorted(old.keys() | new.keys()):
    if old.get(part) != new.get(part):
        sys.exit(f"{part}: {old.get(part)} became {new.get(part)}")
END
}

# goes_on OPTION...: the description of a run stays when it is extended.
goes_on() {
    rm -rf first longer second third
    run 0 shiftvit-train "$@" --schedule constant --epochs 1 --threads 1 --out first
    cp -r first longer
    run 0 shiftvit-train --resume longer --epochs 2
    described first longer 2
}

# again OPTION...: and it is trained again from its run.json, before and after that. With a constant rate all three end
# with the same weights.
again() {
    goes_on "$@"
    run 0 shiftvit-train --config first/run.json --threads 1 --epochs 2 --out second
    cmp second/model.safetensors longer/model.safetensors || fail "$*: --config run.json trained another model"
    run 0 shiftvit-train --config longer/run.json --threads 1 --out third
    cmp third/model.safetensors longer/model.safetensors || fail "$*: a resumed run.json trained another model"
    described second third 2
    # A run that started again starts again as well.
    run 0 shiftvit-train --config third/run.json --threads 1 --epochs 1 --limit-train 16 --out second --overwrite
}
shift_vit='--set dim=24 --set blocks=[1,1] --batch 8 --limit-train 24 --limit-test 10'
vit='--set dim=24 --set depth=1 --set heads=2 --set head_dim=12 --set mlp_dim=32 --batch 8'
photos='--data folder:photos --batch 16'

# Options are meant to be split.
# shellcheck disable=SC2086
{
    again --data procedural:40 $shift_vit --limit-val 10 --seed 7
    again --data procedural:40 $shift_vit --val-fraction 0 --preset shiftvit-cifar100 --keep last --on-bad skip
    again --data folder:photos $vit --preset vit-cifar100 --val-fraction 0.3 --set patch_size=8
    # A mean and a variance that are given are no reason to take those of the images.
    again --data folder:photos $vit --preset vit-cifar100 --val-fraction 0.3 --set patch_size=8 --set mean=[0,0,0] \
        --set variance=[1,1,1]
    cp -r first bytes
    run 0 shiftvit-info --model bytes
    prints '^ +mean +\[0\.0, 0\.0, 0\.0\]$'
    again $photos --init-from bytes
    echo '{"dim": 16, "blocks": [1, 1], "batch": 8, "learning_rate": 0.01}' >fields.json
    again --data folder:photos --config fields.json --freeze 'layers.0*'
    goes_on --data procedural:40 $shift_vit --gemm tile
    again --data folder:photos $shift_vit --set stem=whitened
    cp -r first own # the model of this library that others begin with
    find photos -name '*.png' | sort | sed 's/.*/&,1,0/; 1i path,bright,dark' >targets.csv
    again --data list:targets.csv $shift_vit --set loss=binary

    # What the file says of the model, and what the command line says of the file.
    again $photos --init-from own
    again $photos --init-from own/best.safetensors --set dropout=0.25 --freeze 'layers*'
    again $photos --init-from own --config own/run.json --lr 0.01
    again $photos --init-from checkpoint
    run 0 shiftvit-train --config first/run.json --lora 2 --threads 1 --out adapted
    run 0 shiftvit-train $photos --init-from own --out ruled
    run 2 shiftvit-train --config ruled/run.json --name vit_tiny_patch16_224 --out none
    says '^shiftvit-train: --name is for finding out what a checkpoint is, which --config says'
    # As many classes without names: the classifier is a new one each time.
    run 0 shiftvit-convert first nameless.safetensors --to pytorch
    again $photos --init-from nameless.safetensors --set heads=2 --set norm_eps=1e-12 --set activation=gelu \
        --set pool=class_token
    again $photos --init-from checkpoint --lora 2 --lora-alpha 3
    again $photos --init-from wrapped --set input_height=14 --set input_width=14
    again $photos --init-from twins --prefix student.backbone.vit.
    again $photos --init-from adapter --base checkpoint

    # A given length of the schedule stays that of the run, whatever asks for a computed one.
    run 0 shiftvit-train --data procedural:40 $shift_vit --schedule linear --set total_steps=40 --epochs 1 --out given
    run 0 shiftvit-train --resume given --set total_steps=0 --schedule linear
    run 0 shiftvit-train --resume given --set total_steps=0 --epochs 2
    grep -q '"total_steps": 40\b' given/run.json || fail 'the run has lost the length of its schedule'

    # Points go with the schedule that they belong to.
    run 0 shiftvit-train --data procedural:40 $shift_vit --preset shiftvit-cifar10-fast --epochs 1 --out points
    run 0 shiftvit-train --resume points --epochs 2 --set schedule=constant
    ! grep 'points has no effect' err || fail 'the points of the old schedule were kept'

    # A run that was killed goes on as itself.
    "$programs/shiftvit-train" $photos --init-from checkpoint --lora 2 --epochs 60 --checkpoint-seconds 0.05 \
        --threads 1 --out killed >/dev/null 2>&1 &
}
trained=$!
tries=0
while [ ! -e killed/checkpoint.safetensors ] && [ "$tries" -lt 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
kill -KILL "$trained" 2>/dev/null || echo 'the run had ended before it was killed'
wait "$trained" 2>/dev/null || :
rm -rf first
mkdir first
cp killed/run.json first
run 0 shiftvit-train --resume killed
described first killed 60

# Another start than the stored one is taken alone, without what was said of the stored one.
# shellcheck disable=SC2086
run 0 shiftvit-train --init-from twins --prefix student.backbone.vit. $photos --epochs 1 --out start
run 0 shiftvit-train --config start/run.json --init-from start --out second --overwrite
! grep -q '"prefix"' second/run.json || fail "the prefix of another file was taken: $(cat second/run.json)"

# A path that is no text is not stored, which is said.
broken=$(printf 'caf\351')
if mkdir "$broken" 2>/dev/null; then
    cp checkpoint/*.json checkpoint/model.safetensors "$broken"
    # shellcheck disable=SC2086
    run 0 shiftvit-train --init-from "$broken" $photos --epochs 1 --out latin
    says '^--init-from is no UTF-8 text'
fi
echo 'runs go on and start again as they began'
