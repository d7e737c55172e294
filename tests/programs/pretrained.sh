#!/bin/sh
# Presets of pretrained families: fine-tuning, files of other libraries, and files for them.
# pretrained.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
cd "$work"

# The preset of DeiT, made small.
tiny='--preset deit-tiny-patch16-224 --set input_height=32 --set input_width=32 --set dim=24 --set depth=1
    --set heads=2 --set head_dim=12 --set mlp_dim=32'

# Options are meant to be split.
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $tiny --epochs 1 --limit-val 20 --limit-test 20 --threads 2 --out tuned
lasts "^test: $result\$"

# Under timm's names and back: the same bytes, with the preset's preprocessing.
run 0 shiftvit-convert tuned there.safetensors --to pytorch
grep -aq '"head.weight":{"dtype":"F32","shape":\[10,24\]' there.safetensors || fail 'there is no head.weight'
grep -aq '"patch_embed.proj.weight":{"dtype":"F32","shape":\[24,3,16,16\]' there.safetensors ||
    fail 'the patch embedding is no convolution'
grep -aq '"pos_embed":{"dtype":"F32","shape":\[1,5,24\]' there.safetensors || fail 'pos_embed has another shape'
# shellcheck disable=SC2086
run 0 shiftvit-convert --from timm $tiny --set num_classes=10 there.safetensors back.safetensors
run 0 shiftvit-convert back.safetensors again.safetensors --to pytorch
cmp there.safetensors again.safetensors || fail 'the weights changed on the way'
run 0 shiftvit-info --model back.safetensors
prints 'source_filter +"bicubic"'
prints 'mean +\[0.485'
run 0 shiftvit-eval --model back.safetensors --data procedural --limit-test 20
lasts "^test: $result\$"

# What a file of weights alone is, every program that opens one can be told.
# shellcheck disable=SC2086
run 0 shiftvit-export --data procedural:40 --split train --count 12 --by-class --out images
image=$(find images -name '*.png' | sort | sed -n 1p)
run 2 shiftvit-predict --model there.safetensors "$image"
says "--name, --set, --preset or --config is needed: there.safetensors: state timm's name of the model, or heads .* pool \\(.* or attention\\)\$"
# Also if its name is a word of the message.
cp there.safetensors model
run 2 shiftvit-predict --model model "$image"
says "needed: model: state timm's name of the model"
mkdir folder
cp there.safetensors folder/model.safetensors
run 2 shiftvit-predict --model folder "$image"
[ "$(grep -c 'the model is' err)" = 1 ] || fail "shiftvit-predict: $(cat err)"
known='--set heads=2 --set norm_eps=1e-6 --set activation=gelu --set pool=class_token'
without='does not say how images become its input; --preset NAME takes .*, and a preprocessor_config.json beside'
# shellcheck disable=SC2086
run 2 shiftvit-predict --model there.safetensors $known "$image"
says "$without"
# shellcheck disable=SC2086
run 2 shiftvit-eval --model there.safetensors $known --data procedural:100
says "$without"
# shellcheck disable=SC2086
run 1 shiftvit-convert --to onnx --preprocessing $known there.safetensors none.onnx
says "^shiftvit-convert: --preprocessing: the model's file does not say how .*; --preset NAME, or --config with"

# A preset says it, of weights that the library recognises, too.
# shellcheck disable=SC2086
run 0 shiftvit-convert $tiny --set num_classes=10 there.safetensors by-preset.safetensors
[ ! -s err ] || fail "a file with preprocessing: $(cat err)"
cmp back.safetensors by-preset.safetensors || fail 'without --from the file is another one'
for type in f16 bf16 int8; do
    # shellcheck disable=SC2086
    run 0 shiftvit-convert $tiny --set num_classes=10 --dtype $type there.safetensors by-preset.safetensors
    run 0 shiftvit-predict --model by-preset.safetensors "$image"
done
# shellcheck disable=SC2086
run 0 shiftvit-convert $tiny --set num_classes=10 --to onnx --preprocessing there.safetensors by-preset.onnx
run 0 shiftvit-features --model back.safetensors --data procedural:40 --split train --out known.safetensors
# shellcheck disable=SC2086
run 0 shiftvit-head --fit known.safetensors --epochs 1 --model there.safetensors $known --out head1.safetensors
says "the new file does not say how images become the model's input: neither --model, a preset nor a run.json does"
run 0 shiftvit-info --model head1.safetensors
prints 'num_classes +10'
# shellcheck disable=SC2086
run 0 shiftvit-head --fit known.safetensors --epochs 1 --model there.safetensors $tiny --set num_classes=10 --out head2.safetensors
[ ! -s err ] || fail "a head with preprocessing: $(cat err)"
run 0 shiftvit-predict --model head2.safetensors "$image"
# shellcheck disable=SC2086
run 0 shiftvit-eval --model there.safetensors $tiny --set num_classes=10 --data procedural --limit-test 20
# shellcheck disable=SC2086
run 1 shiftvit-eval --model there.safetensors $tiny --set num_classes=12 --data procedural --limit-test 20
says "'head.weight' is \[10, 24\]; 'head.fc1.weight' is \[12, 24\]"
run 0 shiftvit-info --config tuned/run.json there.safetensors
run 2 shiftvit-head --neighbours known.safetensors --reference known.safetensors --set heads=2
says '--set belongs to --model'
# shellcheck disable=SC2086
run 0 shiftvit-train --init-from there.safetensors $known --data folder:images --val-fraction 0 --epochs 1 --out from-there
run 2 shiftvit-train --name vit_tiny_patch16_224 --data procedural:64 --out none
says '--name belongs to --init-from'

# Positions of another input size, weights in another type.
# shellcheck disable=SC2086
run 0 shiftvit-convert --from timm $tiny --set num_classes=10 --set input_width=64 --dtype bf16 \
    there.safetensors wide.safetensors
run 0 shiftvit-info --model wide.safetensors
prints 'input_width +64'

# A classifier of another size.
# shellcheck disable=SC2086
run 1 shiftvit-convert --from timm $tiny --set num_classes=4 there.safetensors none.safetensors
says "'head.weight' is \[10, 24\]; 'head.fc1.weight' is \[4, 24\]; --set num_classes=N .*--skip-head"
absent none.safetensors
# shellcheck disable=SC2086
run 0 shiftvit-convert --from timm $tiny --set num_classes=4 --skip-head there.safetensors four.safetensors
says "'head.fc1.bias' keeps its initial values"
# shellcheck disable=SC2086
run 1 shiftvit-convert --from timm $tiny --set depth=2 --skip-head there.safetensors none.safetensors
says "the file has no tensor of the right shape for 'blocks.1.norm1.weight'"
# shellcheck disable=SC2086
run 1 shiftvit-convert --from huggingface $tiny there.safetensors none.safetensors
says 'is missing'

# A tensor that no parameter takes is named, and passed over where a pattern says so.
printf '{"head.fc1.weight": "head.weight", "head.fc1.bias": null}' >nobias.json
# shellcheck disable=SC2086
run 1 shiftvit-convert --map nobias.json $tiny --set num_classes=10 there.safetensors none.safetensors
says "tensor 'head.bias' belongs to no parameter of the model; --ignore-extra 'head.bias' passes over it"
# shellcheck disable=SC2086
run 0 shiftvit-convert --map nobias.json $tiny --set num_classes=10 --ignore-extra 'x*' --ignore-extra 'head.b*' \
    there.safetensors nobias.safetensors
says "'head.bias' is not taken"
run 2 shiftvit-convert --ignore-extra x back.safetensors none.safetensors
says '--ignore-extra needs --from or --map'

# A distilled model, whose two classifiers are left alone if the classes differ.
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $tiny --set distilled=true --epochs 1 --limit-val 20 --limit-test 20 \
    --threads 2 --out distilled
run 0 shiftvit-convert distilled there2.safetensors --to pytorch
# shellcheck disable=SC2086
run 0 shiftvit-convert --from timm $tiny --set distilled=true --set num_classes=4 --skip-head \
    there2.safetensors four2.safetensors
says "'head_dist.bias' keeps its initial values"
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $tiny --set distilled=true --epochs 1 --limit-val 20 --limit-test 20 \
    --threads 2 --init-from four2.safetensors --out tuned2
says 'mismatched head_dist.weight: the classifier starts anew there'

# A name map of one's own.
echo '{"head.fc1": "head"}' >map.json
# shellcheck disable=SC2086
run 0 shiftvit-convert --map map.json $tiny --set num_classes=10 there.safetensors mapped.safetensors
cmp back.safetensors mapped.safetensors || fail 'the map loads other weights'
# No classifier is to blame for a tensor that only sounds like one.
echo '{"head.fc1": "head", "norm": "head.norm"}' >map.json
# shellcheck disable=SC2086
run 1 shiftvit-convert --map map.json $tiny --set num_classes=10 there.safetensors none.safetensors
says "tensor 'head.norm.weight' for parameter 'norm.weight' is missing\$"
echo '{"head.fc1": 3}' >map.json
# shellcheck disable=SC2086
run 2 shiftvit-convert --map map.json $tiny there.safetensors none.safetensors
says "the rule of 'head.fc1'"

# Models with the names of their own PyTorch code are copied; others are refused.
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $small --out own
run 0 shiftvit-convert own own.safetensors --to pytorch
grep -aq '"layers.0.blocks.0.mlp.fc1.weight"' own.safetensors || fail 'a ShiftViT has other names'
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 --preset vit-cifar100 --set head_units=[8] --set depth=1 --epochs 1 \
    --limit-val 20 --limit-test 20 --threads 2 --out keras
run 1 shiftvit-convert keras none.safetensors --to pytorch
says "timm has no names for a ViT with this 'mlp_last_gelu'"
absent none.safetensors

run 2 shiftvit-convert --from timm there.safetensors none.safetensors
says '--from and --map need --preset NAME or --config FILE'
run 2 shiftvit-convert --from keras there.safetensors none.safetensors
says 'timm'
run 2 shiftvit-convert --from timm --map map.json --preset deit-tiny-patch16-224 there.safetensors none.safetensors
says 'give one of them'
run 2 shiftvit-convert --skip-head back.safetensors none.safetensors
says '--skip-head needs --from or --map'
run 2 shiftvit-convert --to pytorch --dtype f16 back.safetensors none.safetensors
says 'a file for pytorch has f32'
