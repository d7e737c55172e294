#!/bin/sh
# From the checkpoint of another library and a folder of photographs to a model that names them, without a word about
# the model or the training.
# Usage: fine_tuning.sh FOLDER_OF_THE_PROGRAMS ROOT PYTHON
set -eu
programs=$1 root=$2 python=$3
. "$(dirname "$0")/support.sh"
cd "$work"
# tensor FILE NAME: the bytes of a tensor, as hexadecimal.
tensor() {
    "$python" -c '
import json, sys
data = open(sys.argv[1], "rb").read()
size = int.from_bytes(data[:8], "little")
begin, end = json.loads(data[8:8 + size])[sys.argv[2]]["data_offsets"]
print(data[8 + size + begin:8 + size + end].hex())' "$@"
}
"$python" "$root/tests/programs/fine_tuning_files.py" "$root/tests/golden/pretrained_hf_vit.safetensors"

# A preset for the weights alone is what its conversion makes of it, with the epsilon of transformers.
cp checkpoint/model.safetensors weights.safetensors
vit='--preset vit-tiny-patch16-224 --set patch_size=7 --set dim=32 --set depth=3 --set heads=2 --set head_dim=16
    --set mlp_dim=96 --set input_height=28 --set input_width=28'
# shellcheck disable=SC2086 # options are meant to be split
run 0 shiftvit-info $vit --set num_classes=6 weights.safetensors
prints 'norm_eps +1e-12'
# shellcheck disable=SC2086
run 1 shiftvit-info $vit --set num_classes=7 weights.safetensors
says "by the names of huggingface, .*'classifier.weight' is \[6, 32\]"

# Model, colours and input size are the checkpoint's, the classes those of the folder, the settings those of the rule.
run 0 shiftvit-train --init-from checkpoint --data folder:photos --threads 2 --seed 1 --out run
says '^settings for 48 images: everything is trained, learning rate 0.001, layer decay 0.75, 40 epochs in batches of 16, no average'
says '--lr, --epochs, --batch'
lasts "^test: $result\$"
run 0 shiftvit-info --model run
prints 'mean +\[0.4, 0.5, 0.6\]'
prints 'input_height +28'
prints 'num_classes +3'
prints '^ +1 +green'
for name in blue green red; do
    run 0 shiftvit-predict --model run --top 1 "photos/$name/3.png"
    prints "^ .*%  *$name\$"
done
for field in '"learning_rate": 0.001' '"epochs": 40' '"batch": 16' '"layer_decay": 0.75'; do
    grep -q "$field" run/run.json || fail "run.json lacks $field: $(cat run/run.json)"
done
! grep -q '"preset"' run/run.json || fail 'run.json names a preset'

# The same training again begins with the same weights, also with other data; a resumed run has its own.
run 0 shiftvit-train --init-from run/model.safetensors --data folder:photos --threads 2 --epochs 1 --out second
run 0 shiftvit-train --config second/run.json --out anew
cmp second/model.safetensors anew/model.safetensors || fail '--config run.json began with other weights'
run 0 shiftvit-train --config second/run.json --data folder:photos --threads 2 --out other-data
cmp second/model.safetensors other-data/model.safetensors || fail '--config run.json with --data began with other weights'
mv run/model.safetensors moved.safetensors
run 1 shiftvit-train --config second/run.json --out nowhere
says "run/model.safetensors'"
run 0 shiftvit-train --resume second --epochs 2
mv moved.safetensors run/model.safetensors

# Options have the last word.
run 0 shiftvit-train --init-from checkpoint --data folder:photos --threads 2 --epochs 1 --lr 0.5 --batch 8 \
    --set layer_decay=0.5 --set dropout=0.25 --out changed
says 'everything is trained, learning rate 0.5, layer decay 0.5, 1 epochs in batches of 8'
for field in '"learning_rate": 0.5' '"layer_decay": 0.5' '"groups": \[\]' '"dropout": 0.25'; do
    grep -q "$field" changed/run.json || fail "run.json lacks $field: $(cat changed/run.json)"
done
run 0 shiftvit-train --init-from checkpoint --data folder:photos --threads 2 --epochs 1 --freeze 'blocks*' --out partly
says 'what is not frozen is trained'
run 0 shiftvit-train --init-from checkpoint --data folder:photos --threads 2 --epochs 1 --lora 2 --out adapted
says 'adapters and head are trained'

# Of a folder with an adapter and weights of its own the adapter counts, as for the library.
run 0 shiftvit-convert checkpoint plain.safetensors
run 0 shiftvit-convert both merged.safetensors
! cmp -s plain.safetensors merged.safetensors || fail 'the adapter was passed over'

# A resumed run has its own settings.
run 0 shiftvit-train --resume changed --epochs 2
[ "$(wc -l <changed/history.csv)" = 3 ] || fail "the history is $(cat changed/history.csv)"
grep -q '"learning_rate": 0.5' changed/run.json || fail 'a resumed run has other settings'

# A model with the same class names keeps its head: without a step that changes it, the model stays.
run 0 shiftvit-train --init-from run/model.safetensors --data folder:photos --threads 2 --epochs 1 --lr 0 \
    --set weight_decay=0 --set lr_start=0 --out kept
cmp run/model.safetensors kept/model.safetensors || fail 'the head was replaced'
# Others get a new one, whose weights are drawn by the seed.
mv photos/red photos/scarlet
run 0 shiftvit-train --init-from run/model.safetensors --data folder:photos --threads 2 --epochs 1 --lr 0 \
    --set weight_decay=0 --set lr_start=0 --out renamed
[ "$(tensor run/model.safetensors pos_embed)" = "$(tensor renamed/model.safetensors pos_embed)" ] ||
    fail 'another tensor was replaced'
[ "$(tensor run/model.safetensors head.fc1.weight)" != "$(tensor renamed/model.safetensors head.fc1.weight)" ] ||
    fail 'the head of other classes was kept'

# The weights of a model that has adapters, and fields of the model on the command line.
run 0 shiftvit-train --init-from adapted --data folder:photos --threads 2 --epochs 1 --out merged
run 0 shiftvit-train --init-from run/model.safetensors --data folder:photos --threads 2 --epochs 1 \
    --set input_height=56 --set input_width=56 --out larger
grep -q '"input_height": 56' larger/run.json || fail "the input is $(cat larger/run.json)"

run 1 shiftvit-train --init-from nothing --data folder:photos --out none
says "nothing"
echo 'a checkpoint is fine-tuned without a word about it'
