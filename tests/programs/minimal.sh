#!/bin/sh
# The three smallest programs work end to end, are short, and stand verbatim in the tutorial.
# minimal.sh FOLDER_OF_THE_PROGRAMS SOURCE_ROOT PYTHON
set -eu
programs=$1 root=$2 python=$3
. "$root/tests/programs/support.sh"
needs_decoders

# quoted NAME PAGE: the text between the markers of that name in the page, without its fence.
quoted() {
    sed -n "/<!-- $1: begin -->/,/<!-- $1: end -->/p" "$root/docs/$2.md" |
        sed '/^<!-- /d; /^```/d'
}

for name in train_minimal predict_minimal finetune_minimal; do
    page=tutorial-shiftvit
    [ "$name" != finetune_minimal ] || page=fine-tuning
    [ "$(wc -l <"$root/examples/$name.c")" -lt 80 ] || fail "$name.c has 80 lines or more"
    quoted "$name" "$page" >"$work/quoted"
    cmp "$root/examples/$name.c" "$work/quoted" || fail "$page.md does not quote $name.c as it is"
done

# Training on synthetic images: five epochs, and the last loss is below three quarters of the first.
run 0 train_minimal "$work/model.safetensors"
awk '/^epoch [0-9]+: loss [0-9.]+$/ { loss[++n] = $4 }
     END { exit !(n == 5 && NR == 5 && loss[5] < 0.75 * loss[1]) }' "$work/out" ||
    fail "train_minimal: the loss does not fall: $(cat "$work/out")"
there "$work/model.safetensors"
run 0 shiftvit-info "$work/model.safetensors"
prints '^parameters: [1-9][0-9]*$'

# Prediction: three named classes, the likeliest first.
run 0 shiftvit-export --split test --count 6 --out "$work/images"
run 0 predict_minimal "$work/model.safetensors" "$work/images/00005-horizontal stripes.png"
prints "^ *$percent  class 5  horizontal stripes\$"
[ "$(wc -l <"$work/out")" = 3 ] || fail "predict_minimal does not print three classes: $(cat "$work/out")"
awk 'NR > 1 && $1 + 0 > last { exit 1 } { last = $1 + 0 }' "$work/out" ||
    fail "predict_minimal: the classes are not in order: $(cat "$work/out")"

# CIFAR-10 with a hundred images.
"$python" "$root/tests/programs/cifar.py" "$work/data"
run 0 train_minimal "$work/cifar.safetensors" "$work/data/cifar-10-batches-bin"
run 0 predict_minimal "$work/cifar.safetensors" "$work/images/00000-disc.png"
prints "^ *$percent  class [0-9]  [a-z]+\$"

# Two classes of their own for the model in the box: a new head and the last block.
run 0 shiftvit-export --split train --count 200 --out "$work/training"
mkdir -p "$work/two/disc" "$work/two/stripes"
cp "$work"/training/*-disc.png "$work/two/disc"
cp "$work/training"/*"horizontal stripes.png" "$work/two/stripes"
run 0 finetune_minimal "$root/examples/models/cifar10.safetensors" "$work/two" "$work/two.safetensors" 'layers.2.blocks.2.*'
awk '/^epoch [0-9]+: loss [0-9.]+$/ { loss[++n] = $4 }
     END { exit !(n == 40 && NR == 40 && loss[40] < 0.5 * loss[1]) }' "$work/out" ||
    fail "finetune_minimal: the loss does not fall: $(cat "$work/out")"
run 0 predict_minimal "$work/two.safetensors" "$work/images/00000-disc.png"
head -n 1 "$work/out" | grep -q 'class 0  disc$' || fail "the new classes: $(cat "$work/out")"
run 1 finetune_minimal "$work/none.safetensors" "$work/two" "$work/none.safetensors" '*'
says '^finetune_minimal: '

# A failure is reported with the name of the file.
run 1 train_minimal "$work/none.safetensors" "$work/nowhere"
says "^train_minimal: .*$work/nowhere"
absent "$work/none.safetensors"
run 1 predict_minimal "$work/none.safetensors" "$work/images/00000-disc.png"
says "^predict_minimal: .*$work/none.safetensors"
run 1 predict_minimal "$work/model.safetensors" "$work/model.safetensors"
says '^predict_minimal: '
run 2 predict_minimal "$work/model.safetensors"
says '^usage: predict_minimal '
echo 'trained, saved, predicted, quoted'
