#!/bin/sh
# Images that a CSV file lists, with labels, with several labels each and with numbers; what
# shiftvit-eval says and writes about each class and image; class weights and balanced sampling.
# Usage: list.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
needs_decoders
cd "$work"
small='--set dim=24 --set blocks=[1,1] --batch 16 --epochs 2 --threads 2 --seed 3'

run 0 shiftvit-export --data procedural:60 --split train --count 60 --by-class --out images
one_image=$(find images -name '*.png' | sort | head -n 1)
# The list has the classes of the folders; numbers come from the class.
{
    echo path,label
    for file in images/*/*; do
        printf '"%s",%s\n' "$file" "$(basename "$(dirname "$file")")"
    done
} >labels.csv
[ "$(wc -l <labels.csv)" = 61 ] || fail "the list is $(cat labels.csv)"
awk -F, 'NR == 1 { print "path,round,striped"; next }
    { print $1 "," ($2 ~ /disc|ring/) "," ($2 ~ /stripes/) }' labels.csv >several.csv
awk -F, 'NR == 1 { print "path,width"; next } { print $1 "," length($2) / 10 }' labels.csv >numbers.csv

# Labels: the list and the folder are the same data set.
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data list:labels.csv --set sampling=balanced --set tta=flip --out list
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data folder:images --set sampling=balanced --set tta=flip --out folder
cut -d, -f1-8 list/history.csv >a
cut -d, -f1-8 folder/history.csv >b
cmp a b || fail "the list and the folder trained differently: $(cat a b)"
# The last column counts 3 * 2 * multiply-adds * 40 images, in 1e15 operations.
run 0 shiftvit-info --model list --json
awk -F, -v line="$(tr ',' '\n' <out | grep '"multiply_adds":')" 'BEGIN { split(line, part, ":") }
    NR > 1 { off = $11 / (6e-15 * part[2] * 40 * $1) - 1; if (off * off > 1e-12) exit 1 }' list/history.csv ||
    fail "pflop is wrong: $(cat list/history.csv)"
run 0 shiftvit-eval --model list --data list:labels.csv --split train --per-class --confusion confusion.csv \
    --predictions predictions.csv --seed 3
prints "^train: $result\$"
prints '^disc +[0-9]+ images +[0-9]+ right  accuracy'
lasts "^mean accuracy of the classes: $percent\$"
mean=$(sed -n 's/^mean accuracy of the classes: \([0-9.]*\) %$/\1/p' out)
run 0 shiftvit-eval --model list --data list:labels.csv --split train --per-class --seed 3 --json
tail -n 1 out | awk -F'[:}]' -v mean="$mean" '!/^{"mean_class_accuracy": [0-9.]+}$/ || 100 * $2 - mean > 0.006 ||
    mean - 100 * $2 > 0.006 { exit 1 }' || fail "not the mean of $mean %: $(cat out)"
[ "$(wc -l <confusion.csv)" = 11 ] || fail "the confusion matrix is $(cat confusion.csv)"
head -n 1 confusion.csv | grep -q '^label,checkerboard,cross,' || fail "its header is $(head -n 1 confusion.csv)"
# Its counts are those of the predictions, and of the accuracy that was printed.
awk -F, 'FNR == 1 { next } NR == FNR { for (k = 2; k <= NF; k++) all += $k; right += $FNR; next }
    { n++; same += $2 == $3 } END { exit !(n == all && same == right && n == 40) }' confusion.csv predictions.csv ||
    fail "matrix and predictions differ: $(cat confusion.csv predictions.csv)"
# Every line names the image: the label of that path in the list.
head -n 1 predictions.csv | grep -q '^path,label,predicted,probability$' || fail "its header is $(head -n 1 predictions.csv)"
awk -F, 'NR == FNR { gsub(/"/, "", $1); label["./" $1] = $2; next }
    FNR > 1 && label[$1] != $2 { exit 1 }' labels.csv predictions.csv || fail "wrong paths: $(cat predictions.csv)"
run 0 shiftvit-eval --model list --data folder:images --predictions folder.csv --seed 3
sed 1d folder.csv | while IFS=, read -r path label rest; do
    [ -f "$path" ] && [ "$(basename "$(dirname "$path")")" = "$label" ] || fail "the line is $path,$label,$rest"
done
[ "$(wc -l <folder.csv)" = 11 ] || fail "the predictions are $(cat folder.csv)"
# An image is predicted as it is evaluated, with test-time augmentation too.
for tta in none flip flip-shift; do
    run 0 shiftvit-eval --model list --data folder:images --split all --tta $tta --predictions $tta.csv
    run 0 shiftvit-predict --model list --top 1 --tta $tta --json "$one_image"
    wanted=$(grep -F "$one_image" $tta.csv | sed 's/.*,//')
    sed 's/.*"confidence": \([0-9.]*\).*/\1/' out |
        awk -v wanted="$wanted" '{ off = $1 - 100 * wanted; exit !(off * off < 1e-8) }' || fail "$tta: $(cat out), not $wanted"
    echo "$wanted"
done | sort -u >probabilities
[ "$(wc -l <probabilities)" = 3 ] || fail "test-time augmentation changes nothing: $(cat probabilities)"
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data procedural:40 --limit-val 12 --limit-test 12 --out synthetic
run 0 shiftvit-eval --model synthetic --data procedural:40 --limit-test 12 --predictions numbered.csv --seed 3
cut -d, -f1 numbered.csv | tr '\n' ' ' | grep -q '^image 0 1 2 .* 11 $' || fail "the predictions are $(cat numbered.csv)"
run 0 shiftvit-eval --model list --data list:labels.csv --confusion confusion.png --seed 3
is_png confusion.png
run 2 shiftvit-eval --model list --data list:labels.csv --confusion matrix.txt
says "'matrix.txt' does not end in .csv or .png"


# No table replaces the list, or the other table.
cp labels.csv own.csv
run 2 shiftvit-eval --model list --data list:own.csv --predictions own.csv
cmp labels.csv own.csv || fail 'the list was replaced'
run 2 shiftvit-eval --model list --data list:own.csv --predictions both.csv --confusion ./both.csv
absent both.csv

# Weights in other types: the files shrink, and the model predicts what it did.
for dtype in f32 f16 bf16 int8; do
    run 0 shiftvit-convert list $dtype.safetensors --dtype $dtype
    prints 'parameters in [0-9]+ bytes: '$dtype
    run 0 shiftvit-eval --model $dtype.safetensors --data list:labels.csv --seed 3
    sed 's/loss [0-9.]*//' out >eval-$dtype
    cmp eval-f32 eval-$dtype || fail "$dtype changed the accuracy: $(cat eval-f32 eval-$dtype)"
done
[ "$(wc -c <int8.safetensors)" -lt "$(($(wc -c <f32.safetensors) / 2))" ] || fail 'int8.safetensors is too large'
run 2 shiftvit-convert list
says 'IN and OUT are needed'
run 1 shiftvit-convert absent.safetensors out.safetensors
says 'absent.safetensors'
# Several labels.
# shellcheck disable=SC2086
run 2 shiftvit-train $small --data folder:images --set class_weights=[1,2] --out none
says 'there are 2 class_weights; the model has 10 classes'
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data list:several.csv --set loss=binary --set class_weights=[1,2] --out several
lasts "^test: loss [0-9.]+ labels $percent images $percent micro-F1 [0-9.]+ macro-F1 [0-9.]+ mAP"
head -n 2 several/history.csv | tail -n 1 | grep -Eq '^1,[0-9.e-]+,[0-9.e-]+,,[0-9.e-]+,[0-9.e-]+,,' ||
    fail "the history is $(cat several/history.csv)"
run 0 shiftvit-train --resume several --epochs 3
run 0 shiftvit-eval --model several --data list:several.csv --loss binary --predictions outputs.csv --seed 3
head -n 1 outputs.csv | grep -q '^path,round,output of round,striped,output of striped$' ||
    fail "the outputs are $(cat outputs.csv)"
run 0 shiftvit-eval --model several --data list:several.csv --seed 3
lasts "^test: loss [0-9.]+ labels $percent"
run 0 shiftvit-info several
prints '^output: sigmoid$'
run 0 shiftvit-predict --model several --json "$one_image"
prints '"confidence": [0-9.]+'
sed '1s/striped/dotted/' several.csv >dotted.csv
run 2 shiftvit-eval --model several --data list:dotted.csv --seed 3
says "is 'striped', of the dataset 'dotted'; the class names must be the same, in the same order\$"
run 2 shiftvit-eval --model several --data list:several.csv --loss binary --per-class --seed 3
says '--per-class is a table by class, which needs one label for each image'

# Probabilities stand beside probabilities: those that the prediction prints.
awk -F, 'NR == 1 { print; next } { print $1 "," ($2 ? "0.75,0.25" : "0.1,0.9") }' several.csv >soft.csv
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data list:soft.csv --out soft
run 0 shiftvit-eval --model soft --data list:soft.csv --split all --predictions soft-outputs.csv
sed 1d soft-outputs.csv | awk -F, '{ n++; off = $(NF - 2) + $NF - 1; bad += off * off > 1e-10 } END { exit !(n && !bad) }' ||
    fail "outputs are no probabilities: $(cat soft-outputs.csv)"

# Numbers.
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data list:numbers.csv --set loss=mse --out numbers
lasts '^test: loss [0-9.]+ MAE [0-9.]+ RMSE [0-9.]+$'
run 2 shiftvit-convert --to onnx --probabilities numbers none.onnx
says '^shiftvit-convert: --probabilities: the model predicts numbers, which are written without the option$'
run 0 shiftvit-eval --model numbers --data list:numbers.csv --loss mse --json --seed 3
prints '"mean_absolute_error": [0-9.]+, "root_mean_square_error"'
run 0 shiftvit-eval --model numbers --data list:numbers.csv --seed 3
lasts '^test: loss [0-9.]+ MAE [0-9.]+ RMSE [0-9.]+$'
# Columns of other names go by place alone, and of another number not at all.
by_name=$(tail -n 1 out)
sed '1s/width/breadth/' numbers.csv >renamed.csv
run 2 shiftvit-eval --model numbers --data list:renamed.csv --seed 3
run 0 shiftvit-eval --model numbers --data list:renamed.csv --seed 3 --match order
lasts "^$by_name\$"
awk -F, '{ print $0 "," (NR == 1 ? "depth" : 1) }' numbers.csv >more.csv
run 2 shiftvit-eval --model numbers --data list:more.csv --seed 3 --match order
says 'match order: the data has [0-9] columns and the model [0-9]; as many are needed'
run 0 shiftvit-predict --model numbers --top 1 "$one_image"
lasts '^ +-?[0-9.e-]+  width$'
! grep -q % out || fail "numbers are no percentages: $(cat out)"
run 0 shiftvit-predict --model numbers --json "$one_image"
prints '"outputs": \[\{"name": "[a-z]+", "label": 0, "value": -?[0-9.e-]+'
run 0 shiftvit-predict --model numbers --output softmax "$one_image"
prints '[0-9.]+ %  '
run 0 shiftvit-info numbers
prints '^output: logits$'
run 0 shiftvit-convert numbers numbers16.safetensors --dtype f16
run 0 shiftvit-predict --model numbers16.safetensors --top 1 "$one_image"
! grep -q % out || fail "the converted model has forgotten its output: $(cat out)"

# train.csv, val.csv and test.csv are the three splits.
mkdir split
for name in train val test; do
    { echo path,label; sed -n '2,$s/^"/"..\//p' labels.csv; } >split/$name.csv
done
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data list:split/train.csv --val-fraction 0.3 --out split/run
says '60 images train, 60 validate, 60 test'
unused='warning: --val-fraction has no effect: the data have splits of their own$'
says "$unused"
run 0 shiftvit-export --data list:split/train.csv --val-fraction 0.3 --out split/out
says "^shiftvit-export: $unused"
run 0 shiftvit-eval --model split/run --val-fraction 0.2
says "^shiftvit-eval: $unused"
run 0 shiftvit-eval --model split/run --val-fraction 0.2 --quiet
[ ! -s err ] || fail "with --quiet: $(cat err)"
# The fraction of a run is not that of the command line.
run 0 shiftvit-eval --model split/run
! grep -q 'no effect' err || fail "without the option: $(cat err)"
run 0 shiftvit-export --data procedural:20 --on-bad skip --out split/made
says '^shiftvit-export: warning: --on-bad has no effect: it is for the files of folder:, list: and shards:$'
sed -i '$d' split/val.csv
sed -i '2,$s/,[^,]*$/,one/' split/test.csv
# shellcheck disable=SC2086
run 1 shiftvit-train $small --data list:split/train.csv --out split/none
says "test.csv has the class 'one', which train lacks"
# shellcheck disable=SC2086
run 1 shiftvit-train $small --data list:absent.csv --out none
says "absent.csv"

# Numbers without a loss for them, and one class, are refused before a run begins; so are two columns
# of numbers that are no probabilities.
printf 'path,width\n%s,2\n%s,3\n' "$one_image" "$one_image" >one.csv
mkdir -p one/only
cp "$one_image" one/only/1.png
cp "$one_image" one/only/2.png
# shellcheck disable=SC2086
run 2 shiftvit-train $small --data list:one.csv --val-fraction 0 --out refused
says 'the model has one output, whose cross-entropy is always 0; two or more classes, loss=binary '
says 'loss=mse \(numbers\) are accepted'
# Of a folder two classes are meant, which may lie a folder deeper.
mkdir -p deep/images/a deep/images/b split/train/images/a split/train/images/b
for folder in deep/images/a deep/images/b split/train/images/a split/train/images/b; do
    cp "$one_image" $folder/1.png
    cp "$one_image" $folder/2.png
done
while read -r data said; do
    # shellcheck disable=SC2086
    run 2 shiftvit-train $small --data "folder:$data" --val-fraction 0 --out refused
    says "^shiftvit-train: --data: '$said"
done <<'END'
one one' has one class, 'only'; a classifier needs two or more, a subfolder for each$
deep deep' has one class, 'images', with subfolders; 'folder:deep/images' takes these as the classes$
split split/train' has one class, 'images', with subfolders; 'folder:split/train/images' takes these as the classes$
END
absent refused
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data folder:deep/images --val-fraction 0 --out deeper
# A loss that is named says that one class is meant.
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data folder:one --val-fraction 0 --set loss=binary --out one-class
# shellcheck disable=SC2086
run 2 shiftvit-train $small --data list:several.csv --out refused
says 'the targets of image [0-9]+ have the sum [02]; cross-entropy takes probabilities'
# Several labels are from 0 to 1: the image and the column are named, before a run begins.
printf 'path,wide,tall\n%s,0,1\n%s,1,-1\n' "$one_image" "$one_image" >beyond.csv
# shellcheck disable=SC2086
run 2 shiftvit-train $small --data list:beyond.csv --val-fraction 0 --set loss=binary --out refused
says "target 1 \('tall'\) of image 1 \('[^']*.png'\) is -1; loss=binary takes 0 to 1"
absent refused
run 2 shiftvit-eval --model several --data list:several.csv --loss cross-entropy --seed 3
says 'the numbers of image [0-9]+ are no probabilities.*--loss binary and --loss mse are accepted'
run 2 shiftvit-eval --model one-class --data folder:one --split train --val-fraction 0 --loss cross-entropy
says 'the model has one output, whose cross-entropy is always 0'

# The filters of a whitened stem are those of images in the size of its input, with labels or with numbers, however
# the pipeline evaluates. Nothing is learned, so that the training losses tell them.
losses() {
    cut -d, -f1-4 "$1/history.csv"
}
for data in labels several; do
    loss=$([ $data = labels ] && echo cross-entropy || echo binary)
    for evaluation in resize crop keep; do
        # shellcheck disable=SC2086
        run 0 shiftvit-train $small --data list:$data.csv --set loss=$loss --set stem=whitened \
            --set evaluation=$evaluation --lr 0 --weight-decay 0 --out "$data-$evaluation"
    done
    losses $data-resize >a
    losses $data-keep >b
    cmp a b || fail "$data: evaluation=keep gave other filters"
done
