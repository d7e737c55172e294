#!/bin/sh
# Models of grey and RGBA images through the programs: image files are decoded to the channels of the
# model, in training, evaluation and prediction. Usage: channels.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
needs_decoders
cd "$work"
small='--set dim=24 --set blocks=[1,1] --batch 16 --epochs 2 --threads 2 --seed 3'

run 0 shiftvit-export --data procedural:100 --split train --count 100 --by-class --out images
{
    echo path,label
    for file in images/*/*; do
        printf '"%s",%s\n' "$file" "$(basename "$(dirname "$file")")"
    done
} >labels.csv

for channels in 1 4; do
    # shellcheck disable=SC2086
    run 0 shiftvit-train $small --set in_channels=$channels --set tta=flip-shift --data folder:images --out folder$channels
    lasts "^test: $result\$"
    cp out test
    # shellcheck disable=SC2086
    run 0 shiftvit-train $small --set in_channels=$channels --set tta=flip-shift --data list:labels.csv --out list$channels
    cut -d, -f1-8 folder$channels/history.csv >a
    cut -d, -f1-8 list$channels/history.csv >b
    cmp a b || fail "the list and the folder trained differently: $(cat a b)"
    run 0 shiftvit-info --model folder$channels
    prints "^ +in_channels +$channels\$"
    prints "^ +channels +$channels\$"
    run 0 shiftvit-eval --model folder$channels/model.safetensors --data folder:images --tta flip-shift --seed 3
    tail -n 1 out | cmp - test || fail "the test after training and shiftvit-eval differ: $(cat out test)"
    run 0 shiftvit-predict --model folder$channels images/ring --top 1 --grid grid.png
    prints '^images/ring/.*\.png$'
    is_png grid.png
    # A run goes on with the channels that it began with.
    run 0 shiftvit-train --resume folder$channels --epochs 3
    [ "$(wc -l <folder$channels/history.csv)" = 4 ] || fail "the history is $(cat folder$channels/history.csv)"
done
[ "$(cut -d , -f 1-8 folder1/history.csv)" != "$(cut -d , -f 1-8 folder4/history.csv)" ] ||
    fail "1 and 4 channels trained alike"

# A mean and a variance for each channel; the statistics of the training set where a preset wants them.
# shellcheck disable=SC2086
run 0 shiftvit-train $small --set in_channels=1 --set mean=[0.5] --set variance=[0.1] --data folder:images --out normalised
run 0 shiftvit-info --model normalised
prints '^ +mean +\[0\.5\]$'
run 0 shiftvit-train --preset slvit-cifar100 --set in_channels=1 --set dim=16 --set depth=1 --set heads=2 \
    --set head_units=[32] --batch 16 --epochs 1 --threads 2 --data folder:images --out statistics
run 0 shiftvit-info --model statistics
prints '^ +variance +\[[0-9.]+\]$'
# What is given stays, and the other is that of the images.
run 0 shiftvit-train --preset slvit-cifar100 --set in_channels=1 --set dim=16 --set depth=1 --set heads=2 \
    --set head_units=[32] --set variance=[1000] --batch 16 --epochs 1 --threads 2 --data folder:images --out half
run 0 shiftvit-info --model half
prints '^ +mean +\[[1-9][0-9.]+\]$'
prints '^ +variance +\[1000\.0\]$'
# The alpha of opaque images has no variance: the run ended with a message on a field that nobody had set.
run 0 shiftvit-train --preset slvit-cifar100 --set in_channels=4 --set dim=16 --set depth=1 --set heads=2 \
    --set head_units=[32] --batch 16 --epochs 1 --threads 2 --data folder:images --out opaque
says '^shiftvit-train: warning: channel 3 is 255 in all training images: it becomes 0$'
lasts "^test: $result\$"
run 0 shiftvit-info --model opaque
prints '^ +variance +\[[0-9]+[0-9.]*, [0-9]+[0-9.]*, [0-9]+[0-9.]*, 1\.0\]$'
run 0 shiftvit-predict --model statistics images/ring --attention attention.png
is_png attention.png

# Of a preset of RGB each channel has the mean of the means, and of the deviations.
for channels in 1 4; do
    # shellcheck disable=SC2086
    run 0 shiftvit-train --preset shiftvit-cifar10-fast $small --set augment=[] --set in_channels=$channels --epochs 1 \
        --limit-train 16 --limit-test 16 --val-fraction 0 --data folder:images --out coloured$channels
    run 0 shiftvit-info --model coloured$channels
    prints "$(awk -v n=$channels 'BEGIN {
        for (m = "0\\.47[0-9]*"; n > 1; n--) m = m ", 0\\.47[0-9]*"
        print "^ +mean +\\[" m "\\]$" }')"
done

# So do those of a run that is repeated for other channels.
# shellcheck disable=SC2086
run 0 shiftvit-train --preset shiftvit-cifar10-fast $small --set augment=[] --epochs 1 --limit-train 16 --limit-test 16 \
    --val-fraction 0 --data folder:images --out coloured3
four='0\.47[0-9]*, 0\.47[0-9]*, 0\.47[0-9]*, 0\.47[0-9]*'
for from in 1 3; do
    run 0 shiftvit-train --config coloured$from/run.json --set in_channels=4 --out again
    run 0 shiftvit-info --model again
    prints "^ +mean +\\[$four\\]\$"
    prints '^ +variance +\[0\.06[0-9]*, 0\.06[0-9]*, 0\.06[0-9]*, 0\.06[0-9]*\]$'
    rm -r again
done
run 0 shiftvit-train --config coloured3/run.json --set in_channels=4 --set mean=[0.1,0.2,0.3,0.4] --out again
run 0 shiftvit-info --model again
prints '^ +mean +\[0\.1, 0\.2, 0\.3, 0\.4\]$'
prints '^ +variance +\[0\.06[0-9]*, 0\.06[0-9]*, 0\.06[0-9]*, 0\.06[0-9]*\]$'
run 2 shiftvit-train --config coloured3/run.json --set in_channels=4 --set mean=[0,0.3,0.9] --out none
says 'mean is not an array of 4 numbers, as many as channels'
echo '{"channels": 3, "mean": ["a", 1, 2]}' >words.json
run 2 shiftvit-train --config words.json --set in_channels=4 --data folder:images --out none
says 'mean is not an array of 4 numbers, as many as channels'
echo '{"in_channels": 4, "channels": 4}' >four.json
# shellcheck disable=SC2086
run 0 shiftvit-train --preset shiftvit-cifar10-fast $small --config four.json --set augment=[] --epochs 1 --limit-train 16 \
    --limit-test 16 --val-fraction 0 --data folder:images --out stated
run 0 shiftvit-info --model stated
prints "^ +mean +\\[$four\\]\$"

# By the rule the channels are those of the model, which is opened after the first settings.
run 0 shiftvit-train --init-from coloured1 --set mean=[0.5] --set variance=[0.1] --epochs 1 --limit-train 16 \
    --data folder:images --out ruled
run 0 shiftvit-info --model ruled
prints '^ +mean +\[0\.5\]$'
run 2 shiftvit-train --init-from coloured1 --set mean=[0.5,0.4,0.3] --data folder:images --out none
says 'mean is not an array of 1 number, as many as channels'

# What does not fit is named.
# shellcheck disable=SC2086
run 2 shiftvit-train $small --set in_channels=1 --data procedural:100 --out none
says "'procedural:100' has images of 3 channels, and in_channels is 1; folder:DIR, list:FILE.csv and shards:PATTERN give"
for channels in 2 7; do
    # shellcheck disable=SC2086
    run 2 shiftvit-train $small --set in_channels=$channels --data folder:images --out none
    says "'folder:images' is of files, which give images of 1, 3 or 4 channels, and in_channels is $channels"
done
# shellcheck disable=SC2086
run 2 shiftvit-train $small --set in_channels=1 --set mean=[0,0,0] --data folder:images --out none
says 'mean is not an array of 1 number, as many as channels'
# shellcheck disable=SC2086
run 2 shiftvit-train $small --set in_channels=1 --set 'augment=[{"name":"randaugment"}]' --data folder:images --out none
says "augment\[0\] is 'randaugment', which changes colours and needs channels 3; channels is 1"
run 2 shiftvit-eval --model folder1 --data procedural:100
says 'dataset has images of 3 channels; the model.s in_channels is 1'
echo "channels: passed"
