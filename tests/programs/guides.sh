#!/bin/sh
# Every command of the pages on pretrained ViTs, fine-tuning, features and own loops runs as it is printed, in the
# order of the page, on a few synthetic images, and its result is used by the commands after it.
# guides.sh FOLDER_OF_THE_PROGRAMS SOURCE_ROOT
set -eu
programs=$1 root=$2
. "$root/tests/programs/support.sh"
needs_decoders
mkdir "$work/build"
ln -s "$programs" "$work/build/examples"
ln -s "$root/examples" "$work/examples"
cd "$work"

# What a reader has: photographs in a subfolder for each class, those of a new class, one more, and a
# pretrained model. Its random weights stand for those of timm.
run 0 shiftvit-export --data procedural:200 --split train --count 200 --by-class --out photos
mv photos/ring photos-of-foxes
cp "$(ls photos/disc/*.png | head -n 1)" photo.jpg
for class in n01440764 n01443537; do
    mkdir -p imagenet/val/$class
    cp photo.jpg imagenet/val/$class
done
run 0 shiftvit-train --preset deit-tiny-patch16-224 --set num_classes=1000 --data folder:photos --limit-train 2 \
    --limit-val 1 --limit-test 1 --epochs 1 --batch 2 --out initial
run 0 shiftvit-convert --to pytorch initial deit_tiny.safetensors
mkdir deit-tiny
cp deit_tiny.safetensors deit-tiny/model.safetensors
cat >deit-tiny/config.json <<'END'
{"architecture": "deit_tiny_patch16_224", "num_classes": 1000, "global_pool": "token", "pretrained_cfg": {
 "input_size": [3, 224, 224], "interpolation": "bicubic", "crop_pct": 0.9, "crop_mode": "center",
 "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}}
END

# limited COMMAND: the command. A ViT of 224 x 224 pixels trains on few images, the model in the box for a third of its
# epochs, and own_loop for one epoch: own_loop.sh has all of them.
limited() {
    case $1 in
    *own_loop*\ 4) echo "${1% 4} 1" ;;
    *shiftvit-train*deit*) echo "$1 --epochs 1 --batch 4 --limit-train 8 --limit-val 4 --limit-test 4" ;;
    *shiftvit-train*run/rule) echo "$1 --epochs 13" ;;
    *) echo "$1" ;;
    esac
}

# top1_at_least WANTED: the top-1 accuracy, in percent, of the last line on standard output.
top1_at_least() {
    tail -n 1 "$work/out" | sed 's/.*top-1 \([0-9.]*\) %.*/\1/' | awk -v wanted="$1" '{ exit !($1 >= wanted) }' ||
        fail "$line: less than $1 % are right: $(tail -n 1 "$work/out")"
}

check() {
    case $1 in
    *shiftvit-train*)
        lasts "^test: $result\$"
        there "$(option out "$1")/model.safetensors" "$(option out "$1")/best.safetensors"
        case $1 in *cifar10.safetensors*) top1_at_least 60 ;; esac
        ;;
    *shiftvit-predict*--model\ deit*) prints "^ +$percent  class [0-9]+\$" ;;
    *shiftvit-predict*) prints "^ +$percent  [a-z ]+\$" ;;
    *shiftvit-features*--neighbours*)
        prints '^ +0\.[0-9]{4}  .*/photos-of-foxes/[0-9]+\.png$'
        there "$(option grid "$1")"
        ;;
    *shiftvit-eval*--accept*)
        prints "^none of these below $percent, which 95 % of the images reach: $(option out "$1")\$"
        ;;
    *shiftvit-eval*) lasts "^all: $result\$" ;;
    *shiftvit-anomaly*--fit*) there "$(option out "$1")" ;;
    *shiftvit-anomaly*)
        prints '^ +[0-9.]+  .*/photos-of-foxes/[0-9]+\.png$'
        there "$(ls maps/*.png | head -n 1)"
        ;;
    *shiftvit-features*) prints "^[1-9][0-9]* images x 384 channels of layer features: $(option out "$1")\$" ;;
    *shiftvit-head*--fit*)
        lasts "^features: $result\$"
        top1_at_least 60
        ;;
    *shiftvit-head*--neighbours*)
        lasts "^neighbours: k 20 $(echo "$result" | sed 's/^loss [^ ]* //')\$"
        ;;
    *shiftvit-head*--add-class*)
        prints '^class fox added from [0-9]+ images, [1-9][0-9]* of which are found$'
        prints "^10 classes: $(option out "$1")\$"
        ;;
    *shiftvit-convert*--to\ onnx*) prints "^[0-9]+ parameters in [0-9]+ bytes: deit.onnx\$" ;;
    *shiftvit-convert*) prints '^[0-9]+ parameters in [0-9]+ bytes: [a-z_]+.safetensors$' ;;
    *finetune_minimal*) lasts '^epoch 40: loss [0-9.]+$' ;;
    *own_loop*) lasts '^head: loss [0-9.]+ to [0-9.]+$' ;;
    *) fail "no check for: $1" ;;
    esac
}

# run_page PAGE COUNT: runs the commands of a page, which are COUNT or more.
run_page() {
    commands "$root/docs/$1.md" >"$work/commands"
    [ "$(wc -l <"$work/commands")" -ge "$2" ] || fail "only $(wc -l <"$work/commands") commands were found in $1.md"
    while read -r line; do
        program=$line
        sh -c "$(limited "$line")" >"$work/out" 2>"$work/err" </dev/null ||
            fail "$1: $line: $(cat "$work/out" "$work/err")"
        check "$line"
    done <"$work/commands"
}

# No command of a page stands without the folder of the programs, where this test would not see it.
for page in pretrained fine-tuning beyond own-loop; do
    ! grep -n '^    shiftvit-' "$root/docs/$page.md" || fail "$page.md has a command without build/examples/"
done
run_page pretrained 10
run_page fine-tuning 17
run_page beyond 5
run_page own-loop 1

# A file for others has the adapters in the weights: as many parameters as the merged model, and its bytes.
run 0 shiftvit-info run/lora/model.safetensors
parameters=$(sed -n 's/^parameters: //p' "$work/out")
run 0 shiftvit-info run/lora/checkpoint.safetensors
! grep -q "^parameters: $parameters\$" "$work/out" || fail 'the checkpoint has no adapters'
run 0 shiftvit-convert --to pytorch run/lora/model.safetensors merged.safetensors
for file in checkpoint best; do
    run 0 shiftvit-convert --to pytorch "run/lora/$file.safetensors" "$file.safetensors"
    prints "^$parameters parameters in "
done
cmp merged.safetensors checkpoint.safetensors || fail 'the merged weights differ'

# A run whose average of the weights stays near the start says so, and a quiet one says nothing.
start="--data folder:photos --preset shiftvit-cifar10-fast --init-from examples/models/cifar10.safetensors"
# shellcheck disable=SC2086
run 0 shiftvit-train $start --epochs 1 --batch 32 --out short
says '^after [0-9]+ steps the average of the weights \(ema_momentum 0.995\) still has 9[0-9] % .*--set ema=none'
# shellcheck disable=SC2086
run 0 shiftvit-train $start --epochs 1 --batch 32 --quiet --out silent
[ ! -s "$work/err" ] || fail "--quiet: $(cat "$work/err")"
# The model of another preset is refused with the way out.
run 2 shiftvit-train --data folder:photos --preset shiftvit-cifar10 --init-from examples/models/cifar10.safetensors \
    --out other
says "mismatched patch_embed.proj.weight; .*--preset, or --config with its run.json"
echo 'every command of the guides works'
