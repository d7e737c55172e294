#!/bin/sh
# Every program: its output, its options, and its messages for wrong arguments.
# programs.sh FOLDER_OF_THE_PROGRAMS SOURCE_ROOT PYTHON
set -eu
programs=$1 root=$2 python=$3
. "$root/tests/programs/support.sh"
needs_decoders
"$python" "$root/tests/programs/cifar.py" "$work/data"
cd "$work"
cifar=cifar10:$work/data/cifar-10-batches-bin

# Options are meant to be split.
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $small --seed 3 --out trained
lasts "^test: $result\$"
says '^epoch 1/1  train: loss [0-9.]+ top-1 .* images/s  '
there trained/model.safetensors trained/best.safetensors trained/checkpoint.safetensors
is_png trained/curves.png
# Curves of a training without validation neither draw validation nor name it in their legend.
orange='^d[89]5[ef]0[cd]$'
"$python" "$root/tests/programs/png_colours.py" trained/curves.png >"$work/colours"
grep -q "$orange" "$work/colours" || fail 'curves.png has no validation'
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $small --val-fraction 0 --out unvalidated
"$python" "$root/tests/programs/png_colours.py" unvalidated/curves.png >"$work/colours"
grep -q '^1[ef]6[67]b[234]$' "$work/colours" || fail 'curves.png has no training'
! grep -q "$orange" "$work/colours" || fail 'curves.png names validation that there was not'
[ "$(head -n 1 trained/history.csv)" = \
    'epoch,train_loss,train_top1,train_top5,val_loss,val_top1,val_top5,lr,images_per_second,seconds,pflop' ] ||
    fail 'history.csv has other columns'
# A folder that holds a run is refused without --overwrite.
# shellcheck disable=SC2086
run 1 shiftvit-train --data procedural:64 $small --seed 4 --out trained
says "'trained' holds a run \(checkpoint.safetensors, 1 epochs done\).*--resume trained.*--overwrite"
mkdir run
cp trained/history.csv run
# shellcheck disable=SC2086
run 1 shiftvit-train --data procedural:64 $small
says "'run' holds a run \(history.csv\)"
run 2 shiftvit-train --l 3
says "option '--l' is ambiguous; possibilities: '--lr' .* '--labels'"
run 2 shiftvit-train --e 1
says "option '--e' is ambiguous; possibilities: '--epochs' '--explain'\$"
grep -q 'did you mean' err && fail "$(cat err)"
run 2 shiftvit-train --over --nope
says "unrecognized option '--nope'"
escape=$(printf '\033')
for option in "--${escape}[31m" "--lr$escape" "-$escape"; do
    run 2 shiftvit-train "$option"
    says "(unrecognized|invalid) option .*x1B"
    grep -q "$escape" err && fail "the escape is printed as it is"
done
run 2 shiftvit-train --epochs
says "option '--epochs' requires an argument"
run 2 shiftvit-train --json=3
says "option '--json' doesn't allow an argument"
run 2 shiftvit-train -b
says "option requires an argument -- 'b'"
says 'Try .shiftvit-train --help. or .shiftvit-train --usage. for more information'
run 2 shiftvit-train more
says "^shiftvit-train: '.*': too many arguments$"
run 2 shiftvit-train -qz
says "invalid option -- '"
for option in '-?' --hel; do
    run 0 shiftvit-train $option
    prints '^Usage: shiftvit-train \[OPTION\.\.\.\]$'
done
run 0 shiftvit-train -V
lasts '^shiftvit-train [0-9]+\.[0-9]+\.[0-9]+$'
run 2 shiftvit-train --resume trained --overwrite
says '--overwrite replaces a run, --resume goes on with it'
run 2 shiftvit-train --set dimm=3 --out none/at/all
absent none
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $small --seed 4 --overwrite --out run
cmp -s run/model.safetensors trained/model.safetensors && fail 'another seed gives the same model'
echo note >run/note
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $small --seed 3 --overwrite --out run
for file in model.safetensors best.safetensors run.json; do
    cmp run/$file trained/$file || fail "$file of the run that replaced another differs"
done
there run/note

# The options are in the checkpoint; in run.json beside one of an older version.
rm run/run.json
run 0 shiftvit-train --resume run --quiet
lasts "^test: $result\$"
there run/run.json # written again
rm run/run.json
"$python" "$root/tests/programs/edit_header.py" run/checkpoint.safetensors older trainer.description -
mv older run/checkpoint.safetensors
run 1 shiftvit-train --resume run --quiet
says "run/run.json"
cp trained/run.json run
run 0 shiftvit-train --resume run --quiet
"$python" "$root/tests/programs/edit_header.py" run/checkpoint.safetensors older trainer.description "'a note'"
mv older run/checkpoint.safetensors
run 1 shiftvit-train --resume run --quiet
says "'run/checkpoint.safetensors' has no options of shiftvit-train"

# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $small --json --quiet --out json
prints '^\{"epoch": 1, "train_loss": [0-9.]+, '
lasts '^\{"data": "procedural:64", "split": "test", "images": 20, "loss": [0-9.]+, "top1": '
[ ! -s err ] || fail "--quiet says $(cat err)"
run 0 shiftvit-train --list-presets
prints '^slvit-cifar100 .*learning rate 0.001'
names=$(cut -d ' ' -f 1 out)
run 0 shiftvit-info --list-presets --json
prints '^\{"preset": "slvit-cifar100", "height": [0-9]+, "width": [0-9]+, "classes": 100, "epochs": [0-9]+, "batch": [0-9]+, "lea'
[ "$(sed 's/^{"preset": "\([^"]*\)", .*}$/\1/' out)" = "$names" ] || fail "--json lists $(cat out)"
# Losses of columns of numbers are settings of a training, elsewhere --loss.
for name in train eval features export; do
    run 0 shiftvit-$name --help
    if [ $name = train ]; then
        grep -q 'loss=binary' out || fail 'the settings of columns of numbers are not named'
    else
        ! grep -q 'loss=binary' out || fail "$program --help names settings of a training"
    fi
done
run 2 shiftvit-train --preset shiftvit-cifar1
says "'shiftvit-cifar1' is unknown; did you mean 'shiftvit-cifar10'"
run 2 shiftvit-train --preset nothing-like-it
says '--list-presets'
run 2 shiftvit-train --set dimm=3 --out refused
says "--set: 'dimm' is no field of a model or of the training; did you mean 'dim'"
run 2 shiftvit-train --set nix=3 --out refused
says "--set: 'nix' is no field of a model or of the training; --help lists them"
run 2 shiftvit-train --set lr=3 --out refused
says "--set: 'lr' is no field of a model or of the training; did you mean 'learning_rate'"
run 2 shiftvit-train --set label_smoothing=2 --out refused
says '--set label_smoothing=2: label_smoothing is 2; it is in '
run 2 shiftvit-eval --model trained --preset vit-cifar100 --set epochs=2 --data procedural
says "--set: 'epochs' is a setting of the training; accepted are fields of a model"
run 2 shiftvit-train --set dim=much --out refused
says '--set dim=much: dim is not a whole number'
run 2 shiftvit-train --epochs 0
says "--epochs: '0' is no whole number from 1 "
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 --config trained/run.json --limit-val 20 --limit-test 20 --epochs 1 \
    --batch 32 --out again
[ "$(grep -c '"dim": 24' again/run.json)" = 1 ] || fail '--config run.json gave another model'

run 0 shiftvit-eval --model trained/model.safetensors --data procedural --limit-test 20 --seed 3
prints '^data: procedural, 20 images$'
lasts "^test: $result\$"
cp out first
run 0 shiftvit-eval --model trained --data procedural --limit-test 20 --seed 3
says '^the model is trained/best.safetensors$'
cmp -s out first || fail 'the folder of a run of one epoch gives another result than its model'
run 0 shiftvit-eval --model trained
says "^as in the run of 'trained': --data=procedural:64 --labels=fine --on-bad=fail --seed=3\$"
prints '^data: procedural:64, 1000 images$'
cp trained/model.safetensors alone.safetensors
run 2 shiftvit-eval --model alone.safetensors
says '--data SPEC is needed'
run 1 shiftvit-eval --model data --data procedural
says 'data: the folder holds no weights; model.safetensors'
run 0 shiftvit-eval --model trained/model.safetensors --data procedural --split val --limit-val 10 --json
prints '"data": "procedural", "split": "val", "images": 10'

run 0 shiftvit-export --data procedural --split test --count 3 --seed 3 --out images
there images/00000-*.png images/00002-*.png
absent images/00003-*.png
run 0 shiftvit-export --data procedural --split test --count 10 --by-class --out classes
[ "$(find classes -mindepth 1 -type d | wc -l)" = 10 ] || fail '--by-class made no folder for each class'

run 0 shiftvit-predict --model trained/model.safetensors --top 2 --grid grid.png images
is_png grid.png
[ "$(wc -l <out)" = 9 ] || fail 'three images and two classes of each are not nine lines'
prints "^ +$percent  [a-z ]+$"
cp out first
run 0 shiftvit-predict --model trained --top 2 --grid images/drawn.png images
is_png images/drawn.png
run 0 shiftvit-predict --model trained --top 2 --grid images/drawn.png images
cmp -s out first || fail 'what --grid drew was classified'
run 0 shiftvit-predict --model trained --json images/00000-*.png
prints '^\{"image": "images/00000-[a-z -]+.png", "classes": \[\{"class": "[a-z ]+", "label": [0-9], "confidence": '
run 0 shiftvit-predict --model trained --json --top 10 images/00000-*.png
"$python" - out <<'EOF' || fail 'not each class is there once, the most probable first'
import json
import sys

classes = json.load(open(sys.argv[1]))["classes"]
assert sorted(one["label"] for one in classes) == list(range(10))
found = [one["confidence"] for one in classes]
assert found == sorted(found, reverse=True) and len(set(found)) > 2
assert abs(sum(found) - 100) < 1e-3
assert all(abs(one["confidence"] - 100 * one["probability"]) < 1e-3 for one in classes)
EOF
run 2 shiftvit-predict --model trained --grid grid.jpg images
says "'grid.jpg' does not end in .png"
run 1 shiftvit-predict --model trained trained
says "'trained' is the folder of a training run, with no "
mkdir -p of-classes/disc
cp images/*.png of-classes/disc
run 1 shiftvit-predict --model trained of-classes
says "'of-classes' has no image; files in it that end in .* are read, those in its subfolders are not\$"
mkfifo pipe.png
run 1 shiftvit-predict --model trained pipe.png images
says 'a FIFO; a regular file is needed'
prints '^images/00000'
run 1 shiftvit-predict --model trained images/missing.png
says "cannot open 'images/missing.png': No such file"

run 0 shiftvit-info trained
prints '^parameters: [1-9][0-9]*$'
prints '^  patch_embed.proj.weight +[0-9]+  \[24, 3, 4, 4\]$'
prints "^ +0  [a-z ]+$"
cp out first
run 0 shiftvit-info --model trained/best.safetensors
cmp -s out first || fail 'the folder of a run and its best model are described in two ways'
run 0 shiftvit-info --build
prints '^version +[0-9]+\.[0-9]+\.[0-9]+$'
run 2 shiftvit-info
run 2 shiftvit-info trained json

run 0 shiftvit-patches --image images/00000-*.png --size 48 --patch 6 --out patches.png
prints '^64 patches of 108 values: patches.png$'
is_png patches.png
run 0 shiftvit-patches --image images/00000-*.png --image images/00001-*.png --size 32 --out augment.png \
    --augment '[{"name": "crop"}, {"name": "randaugment"}, {"name": "mixup"}]'
prints "2 images in 8 versions each"
is_png augment.png
for repeat in '' ', {"name": "repeat"}'; do
    run 0 shiftvit-patches --image images/00000-*.png --image images/00001-*.png --size 32 \
        --augment "[{\"name\": \"crop\"}$repeat]" --out "versions${repeat:+-repeat}.png"
done
cmp -s versions.png versions-repeat.png || fail 'a repeated sample takes the place of the other image'
run 2 shiftvit-patches --image images/00000-*.png --augment '[{"name": "crab"}]' --out augment.png
says "name is .crab.; it is one of .crop."
run 2 shiftvit-patches --image images/00000-*.png --out patches.bmp
for option in --spt '--patch 4'; do
    run 2 shiftvit-patches --image images/00000-*.png --augment '[{"name": "crop"}]' $option --out augment.png
    says "^shiftvit-patches: ${option% *} has no effect with --augment$"
done
run 0 shiftvit-bench --work infer --set dim=24 --set 'blocks=[1]' --batch 1 --seconds 0 --repeat 2
"$python" - "$work/out" <<'END' || fail "the median of two is not their mean: $(cat "$work/out")"
import json, sys
line = json.load(open(sys.argv[1]))
mean = (line["min"] + line["max"]) / 2
sys.exit(abs(line["images_per_second"] - mean) > 1e-4 * mean)
END
run 0 shiftvit-bench --work latency --set dim=24 --set 'blocks=[1]' --seconds 0 --repeat 1
prints '"latency_ms": '

# Histories: folders and files, rows that end in CR, and what is no history.
sed 's/$/\r/' trained/history.csv >copy.csv
run 0 shiftvit-curves --out curves.png trained copy.csv
prints '^2 runs: curves.png$'
is_png curves.png
run 0 shiftvit-curves --out curves.png --label "$(printf 'long \303\251%.0s' $(seq 400))" --json trained
prints '^{"out": "curves.png", "runs": 1}$'
for start in '' a; do
    for count in 60 124 127 128 200; do
        run 0 shiftvit-curves --out long.png --label "$start$(printf '\303\251%.0s' $(seq $count))" trained
        is_png long.png
        rm long.png
    done
done
run 2 shiftvit-curves --out curves.png
says 'a RUN is needed'
run 2 shiftvit-curves --out curves.png --label one trained copy.csv
says '.-label: 1 for 2 runs'
# refuses_history TEXT MESSAGE
refuses_history() {
    printf "$1" >damaged.csv
    run 1 shiftvit-curves --out damaged.png damaged.csv
    says "$2"
    [ ! -e damaged.png ] || fail "a picture was drawn of $1"
}
columns=train_loss,val_loss,train_top1,val_top1
refuses_history '' "'damaged.csv' is no history of a training: its first line has no column train_loss"
refuses_history 'train_loss,val_loss\n' 'has no column train_top1'
refuses_history "$columns\n" "'damaged.csv' has no epoch"
refuses_history "$columns\n1,2,3\n" 'line 2: 3 values where the first line names 4'
refuses_history "$columns\n1,2,3,4\n1,,x\033,4\n" "line 3: 'x.x1B' is no number"

# The message for a file that is not a model names its kind.
run 1 shiftvit-info trained/run.json
says 'JSON'
run 1 shiftvit-info trained/curves.png
says 'PNG'
"$python" "$root/tests/programs/edit_header.py" trained/model.safetensors bare.safetensors config -
run 2 shiftvit-info bare.safetensors
says 'holds weights without a configuration'
run 0 shiftvit-info bare.safetensors --config trained/run.json
prints '^parameters: [1-9][0-9]*$'
run 0 shiftvit-eval --model bare.safetensors --config trained/run.json --data procedural --limit-test 20 --seed 3
lasts "^test: $result\$"

# A file without preprocessing stays one, which is said.
run 0 shiftvit-convert trained/model.safetensors whole.safetensors
! grep 'how images become' err || fail 'a file with preprocessing'
"$python" "$root/tests/programs/edit_header.py" trained/model.safetensors plain.safetensors preprocessing -
run 0 shiftvit-convert plain.safetensors copied.safetensors
says "the new file does not say how images become the model's input: neither IN, a preset nor a run.json does"
run 0 shiftvit-convert --quiet plain.safetensors copied.safetensors
[ ! -s err ] || fail "--quiet says $(cat err)"

# A run.json has the preprocessing of its model, of which a preset may leave some to the training images.
vit='--preset vit-cifar100 --set dim=12 --set depth=1 --set heads=2 --set head_dim=6 --set mlp_dim=20 --set head_units=[]'
# shellcheck disable=SC2086
run 0 shiftvit-train $vit --data procedural:64 --epochs 1 --limit-val 20 --limit-test 20 --out vit
for name in trained vit; do
    "$python" "$root/tests/programs/edit_header.py" $name/model.safetensors plain.safetensors preprocessing -
    "$python" "$root/tests/programs/edit_header.py" plain.safetensors bare.safetensors config -
    run 0 shiftvit-convert bare.safetensors --config $name/run.json whole.safetensors
    cmp $name/model.safetensors whole.safetensors || fail "$name/run.json does not say all of its model"
done
# That of a preset stays as it is for the input that the preset has.
narrow='--preset shiftvit-cifar10-keras --set dim=24 --set blocks=[1] --set num_div=6'
# shellcheck disable=SC2086
run 0 shiftvit-train $narrow --data procedural:64 --epochs 1 --limit-val 20 --limit-test 20 --out keras
for part in preprocessing config; do
    "$python" "$root/tests/programs/edit_header.py" keras/model.safetensors bare-keras.safetensors $part -
    mv bare-keras.safetensors keras/model.safetensors
done
for side in 48 32; do
    # shellcheck disable=SC2086
    run 0 shiftvit-convert keras/model.safetensors $narrow --set num_classes=10 --set input_height=$side keras.safetensors
    run 0 shiftvit-info --model keras.safetensors
    [ $side = 48 ] && prints '^ +source_height +32$' || prints '^ +source_filter +"shorter-side"$'
done
# shellcheck disable=SC2086
run 0 shiftvit-convert bare.safetensors $vit --set num_classes=10 copied.safetensors
says "the new file does not say how images become the model's input"
# shellcheck disable=SC2086
run 2 shiftvit-predict --model bare.safetensors $vit --set num_classes=10 images
says "'vit-cifar100' leaves their mean and variance to the training set; --config with the run.json"

# Weights of float64 are converted, and begin a training as those of float32 do.
"$python" "$root/tests/programs/as_float64.py" trained/model.safetensors double.safetensors
for file in trained/model double; do
    run 0 shiftvit-train --config trained/run.json --init-from $file.safetensors --epochs 1 --out "begun-${file%/model}"
    grep -Eq 'not taken|converted' err && fail "$file: $(cat err)"
done
cmp begun-trained/model.safetensors begun-double/model.safetensors || fail 'float64 begins another training'

# Control characters in files never reach the terminal.
"$python" "$root/tests/programs/edit_header.py" trained/model.safetensors loud.safetensors classes \
    "'[\"\\\\u001b[31mred\", \"two\\\\nlines\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\", \"\\\\u009bj\"]'"
run 0 shiftvit-info loud.safetensors
prints '^ +0  \\x1B\[31mred$'
prints '^ +1  two\\nlines$'
prints '^ +9  \\xC2\\x9Bj$'
run 0 shiftvit-predict --model loud.safetensors --top 10 --grid loud.png images
! grep -q "$(printf '\033')" out || fail 'an escape reached the terminal'
prints '\\x1B\[31mred'
for name in '' y yy; do # long names are cut between characters, wherever the bytes fall
    name=$name$(printf '\342\202\254%.0s' $(seq 90))
    names=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '"%s%s", ' "$name" "$i"; done)
    "$python" "$root/tests/programs/edit_header.py" trained/model.safetensors long.safetensors classes "'[${names%, }]'"
    run 0 shiftvit-predict --model long.safetensors --grid long.png images
    is_png long.png
done
cp images/00000-*.png "$(printf 'images/\033[31m.png')"
run 0 shiftvit-predict --model trained images
! grep -q "$(printf '\033')" out || fail 'an escape in the name of a file reached the terminal'
mkdir "$(printf 'odd\033')"
run 1 shiftvit-info "$(printf 'odd\033')"
! grep -q "$(printf '\033')" err || fail 'an escape in a message reached the terminal'

# The folders that programs name are shown as other names are.
loud=$(printf 'loud\033[31m')
run 0 shiftvit-export --data procedural:20 --split train --count 2 --out "$loud"
says '^2 images in loud\\x1B\[31m/$'
run 0 shiftvit-export --data procedural:20 --split train --count 2 --shards "$loud/train"
says '^2 images in 1 shards loud\\x1B\[31m/train-\*.tar$'
# shellcheck disable=SC2086
run 0 shiftvit-train --data procedural:64 $small --out "$loud-run"
says ' threads; loud\\x1B\[31m-run/$'
! grep -q "$(printf '\033')" err || fail 'an escape in the name of a folder reached the terminal'

# The labels of a run are those of its data, also where the data are named.
# shellcheck disable=SC2086
run 0 shiftvit-train --data cifar100:data/cifar-100-binary --labels coarse $small --limit-train 40 --out coarse
run 0 shiftvit-eval --model coarse --data cifar100:data/cifar-100-binary --limit-test 20
says "^as in the run of 'coarse': --labels=coarse"
run 1 shiftvit-eval --model coarse --data cifar100:data/cifar-100-binary --labels fine --limit-test 20

# Every program fails if its results cannot be written.
if [ -e /dev/full ]; then
    for command in "shiftvit-info --build --json" "shiftvit-train --list-presets" "shiftvit-info --help" \
        "shiftvit-eval --model trained --data procedural --limit-test 20 --json" \
        "shiftvit-predict --model trained --json images" \
        "shiftvit-train --data procedural:64 $small --json --quiet --out full"; do
        status=0
        # The command is meant to be split.
        # shellcheck disable=SC2086
        (cd "$work" && "$programs/"$command >/dev/full 2>"$work/err") || status=$?
        [ "$status" = 1 ] || fail "$command on a full disk: exit status $status"
        grep -q 'cannot write the results' "$work/err" || fail "$command on a full disk says $(cat err)"
    done
fi

# What is larger than the limit of file sizes (in units of 512 bytes or 1 KiB) is a failure with a message, and leaves
# no file. The results on standard output are a file here.
while read -r file command; do
    status=0
    # shellcheck disable=SC2086
    (cd "$work" && ulimit -f 8 && exec "$programs/"$command >"$work/long" 2>"$work/err" </dev/null) ||
        status=$?
    [ "$status" = 1 ] || fail "$command with a limit of file sizes: exit status $status: $(cat err)"
    grep -q "^${command%% *}: cannot write .*$file" err || fail "$command with a limit of file sizes says $(cat err)"
    [ "$file" = standard ] || absent "$file"
done <<COMMANDS
limited/checkpoint.safetensors shiftvit-train --data procedural:64 $small --quiet --out limited
limited.safetensors shiftvit-convert trained limited.safetensors
features.safetensors shiftvit-features --model trained --data procedural:200 --quiet --out features.safetensors
standard shiftvit-train --help
COMMANDS

# Integers and decimals are written exactly.
! grep -Eq '\.[0-9]{18}' trained/run.json || fail 'run.json holds a decimal that is longer than needed'
! grep -aEq '"dropout\\?": ?0\.[0-9]{16}' trained/model.safetensors || fail 'the model file does'
echo 'every program'

# The trained model in the box: at most 4 MB, with names and preprocessing, stored in 8 bits.
box=$2/examples/models/cifar10.safetensors
[ "$(wc -c <"$box")" -le 4000000 ] || fail "$box has more than 4 MB"
run 0 shiftvit-info --model "$box"
prints '^parameters: 3152074$'
prints '^output: softmax$'
prints 'source_filter +"shorter-side"'
run 0 shiftvit-predict --model "$box" --top 10 images
prints "^ +$percent  airplane\$"
[ "$(grep -c "%  " out)" = "$(($(find images -name "*.png" | wc -l) * 10))" ] ||
    fail "the model in the box predicts $(cat out)"
