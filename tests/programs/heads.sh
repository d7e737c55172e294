#!/bin/sh
# heads.sh EXAMPLES ROOT PYTHON: what the rows of a classifier stand for. Features belong to a layer and a
# model, labels to names, and a class has one embedding.
set -eu
programs=$1
root=$2
python=$3
. "$root/tests/programs/support.sh"
needs_decoders
cd "$work"
model=$root/examples/models/cifar10.safetensors
common='--threads 2'
top1() {
    sed -n 's/.*top-1 \([0-9.]*\) %.*/\1/p' "$work/out"
}

# A class that was added is the last of the model, and the first of a folder: what is kept goes by name.
run 0 shiftvit-export --data procedural:150 --split train --count 150 --by-class --out all
mkdir pets
mv all/disc pets/ant
mv all/ring pets/cat
mv all/cross pets/dog
cp -r pets old
rm -r old/ant
run 0 shiftvit-features $common --model "$model" --data folder:old --val-fraction 0 --out old.safetensors
run 0 shiftvit-head $common --fit old.safetensors --model "$model" --out two.safetensors
run 0 shiftvit-head $common --add-class ant --images pets/ant --old-features old.safetensors --model two.safetensors \
    --out three.safetensors
run 0 shiftvit-features $common --model "$model" --data folder:pets --val-fraction 0 --out pets.safetensors
run 0 shiftvit-head $common --evaluate pets.safetensors --model three.safetensors
before=$(top1)
run 0 shiftvit-head $common --fit pets.safetensors --keep --epochs 1 --learning-rate 1e-9 --model three.safetensors \
    --out kept.safetensors --evaluate pets.safetensors
[ "$(top1)" = "$before" ] || fail "--keep: top-1 was $before % and is $(top1) % after a step of nothing"
run 0 shiftvit-info --json kept.safetensors
prints '"classes": \["cat", "dog", "ant"\]'

# Features may lack classes of the model, not the other way round.
run 0 shiftvit-head $common --fit old.safetensors --keep --epochs 1 --learning-rate 1e-9 --model three.safetensors \
    --out kept.safetensors --evaluate pets.safetensors
says "old.safetensors has no images of 1 of the 3 classes, such as 'ant'"
[ "$(top1)" = "$before" ] || fail "--keep, fewer classes: top-1 was $before % and is $(top1) %"
run 1 shiftvit-head $common --fit pets.safetensors --keep --model two.safetensors --out no.safetensors
says "pets.safetensors has the class 'ant', which the model lacks; .* must be among them; without --keep a new classifier"
absent no.safetensors

# Features of another layer are refused, and those of another model are a warning.
run 0 shiftvit-convert --truncate layers.2.blocks.0 "$model" short.safetensors
run 0 shiftvit-features $common --model "$model" --data procedural:60 --layer layers.2.blocks.0 --out layer.safetensors
run 0 shiftvit-features $common --model "$model" --data procedural:60 --out whole.safetensors
run 0 shiftvit-features $common --model short.safetensors --data procedural:60 --out short-set.safetensors
for what in '--evaluate layer.safetensors' '--fit layer.safetensors --keep --out no.safetensors'; do
    run 2 shiftvit-head $common $what --model "$model"
    says "(the set|'layer.safetensors') is of the layer 'layers.2.blocks.0'; .* reads the layer 'features'"
done
absent no.safetensors
run 2 shiftvit-head $common --neighbours layer.safetensors --reference whole.safetensors
says "'layer.safetensors' is of the layer 'layers.2.blocks.0'; the neighbours are of the layer 'features'"
run 0 shiftvit-head $common --neighbours short-set.safetensors --reference whole.safetensors
says "warning: 'short-set.safetensors' has the features of another model than --reference"
run 0 shiftvit-head $common --quiet --neighbours short-set.safetensors --reference whole.safetensors
[ ! -s "$work/err" ] || fail "--quiet says '$(cat "$work/err")'"
run 0 shiftvit-head $common --fit whole.safetensors --epochs 1 --model "$model" --out fitted.safetensors
run 0 shiftvit-head $common --evaluate short-set.safetensors --model fitted.safetensors
says "warning: 'short-set.safetensors' has the features of another model than --model"
run 0 shiftvit-head $common --evaluate whole.safetensors --model fitted.safetensors
[ ! -s "$work/err" ] || fail "features of the model's own are called those of another one: $(cat "$work/err")"

# A class has one embedding: which of two would an image of it be?
"$python" - <<'END_OF_PYTHON'
import json, struct
names = ["dog", "cat"]
meta = {"format": "shiftvit-features", "format_version": "1", "class_count": "2", "classes": json.dumps(names)}
header = json.dumps({"__metadata__": meta, "features": {"dtype": "F32", "shape": [3, 10], "data_offsets": [0, 120]},
                     "labels": {"dtype": "I32", "shape": [3], "data_offsets": [120, 132]}}).encode()
with open("twice.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(header)) + header + struct.pack("<30f", *range(1, 31)) + struct.pack("<3i", 1, 0, 1))
END_OF_PYTHON
run 2 shiftvit-convert $common --texts twice.safetensors "$model" no.safetensors
says "embeddings 0 and 2 of 'twice.safetensors' are both of the class 'cat'; one of each class is accepted, such as the mean"
absent no.safetensors
echo "heads: passed"
