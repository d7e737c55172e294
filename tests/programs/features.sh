#!/bin/sh
# features.sh EXAMPLES ROOT PYTHON: features to a file, a head that is trained on them, neighbours, and a
# class that is added from a folder of images.
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
# at_least WANTED: the accuracy that was printed.
at_least() {
    [ "$(top1 | cut -d. -f1)" -ge "$1" ] || fail "$program: top-1 $(top1) %, not $1 %"
}

# Features of two splits.
run 0 shiftvit-features $common --model "$model" --data procedural:400 --out train.safetensors
prints '^400 images x 384 channels of layer features: train.safetensors$'
run 0 shiftvit-features $common --model "$model" --data procedural:400 --split test --limit-test 200 \
    --out test.safetensors --json
prints '"layer": "features", "images": 200, "channels": 384, "classes": 10'
run 0 shiftvit-features $common --model "$model" --list-layers
prints '^features  *1 x 384$'
run 0 shiftvit-features $common --model "$model" --data procedural:50 --layer layers.0.blocks.0 --out early.safetensors
prints '^50 images x 96 channels of layer layers.0.blocks.0: '

# A head on them says of new images what the whole model says.
run 0 shiftvit-head $common --fit train.safetensors --model "$model" --out fitted.safetensors \
    --evaluate test.safetensors
prints "^10 classes: fitted.safetensors$"
prints "^features: $result$"
at_least 60
expected=$(top1)
run 0 shiftvit-eval $common --model fitted.safetensors --data procedural:400 --limit-test 200
[ "$(top1)" = "$expected" ] || fail "the model has top-1 $(top1) %, its features $expected %"
run 0 shiftvit-head $common --evaluate test.safetensors --model fitted.safetensors
[ "$(top1)" = "$expected" ] || fail "evaluated again, top-1 is $(top1) %, not $expected %"
run 0 shiftvit-head $common --fit train.safetensors --model fitted.safetensors --keep --epochs 1 \
    --learning-rate 1e-9 --out kept.safetensors --evaluate test.safetensors
[ "$(top1)" = "$expected" ] || fail "--keep: top-1 is $(top1) %, not $expected %"
run 0 shiftvit-head --threads 1 --fit train.safetensors --model "$model" --out again.safetensors
cmp fitted.safetensors again.safetensors || fail "the head depends on the number of threads"
# A new linear classifier starts at 0, one with hidden layers at random weights.
slow='--epochs 1 --learning-rate 1e-12'
run 0 shiftvit-head $common $slow --fit train.safetensors --model "$model" --out zero.safetensors --evaluate test.safetensors
prints '^features: loss 2\.3026 ' # log(10)
run 0 shiftvit-train $common --preset vit-cifar100 --set dim=16 --set depth=1 --set heads=2 --set 'head_units=[32]' \
    --data procedural:40 --epochs 1 --batch 40 --out hidden
run 0 shiftvit-features $common --model hidden --data procedural:40 --out hidden.safetensors
run 0 shiftvit-head $common $slow --fit hidden.safetensors --model hidden --out none.safetensors --evaluate hidden.safetensors
! grep -q 'loss 2\.3026 ' "$work/out" || fail "hidden layers start at 0: $(cat "$work/out")"
rm none.safetensors
run 0 shiftvit-head $common --neighbours test.safetensors --reference train.safetensors
prints "^neighbours: k 20 top-1 $percent top-5 $percent$"
at_least 50
run 0 shiftvit-head $common --neighbours train.safetensors --reference train.safetensors --k 1
prints '^neighbours: k 1 top-1 100.00 %'
# One neighbour votes for one class: the top-5 counted the classes without a vote, and was 100 %.
run 0 shiftvit-head $common --neighbours test.safetensors --reference train.safetensors --k 1
awk '$5 != $8 || $5 > 99 { exit 1 }' "$work/out" || fail "one neighbour: $(cat "$work/out")"
run 0 shiftvit-head $common --neighbours test.safetensors --reference train.safetensors --k 1 --json
! grep -q '"top5": 1.0' "$work/out" || fail "one neighbour: $(cat "$work/out")"

# A model that ends after an earlier block has the features of that block.
run 0 shiftvit-features $common --model "$model" --data procedural:400 --layer layers.1.blocks.5 --out block.safetensors
run 0 shiftvit-convert --truncate layers.1.blocks.5 "$model" short.safetensors
run 0 shiftvit-features $common --model short.safetensors --data procedural:400 --out short-train.safetensors
prints '^400 images x 192 channels of layer features: '
run 2 shiftvit-head $common --neighbours short-train.safetensors --reference block.safetensors --k 1
says "'short-train.safetensors' is of the layer 'features'; the neighbours are of the layer 'layers.1.blocks.5'"
sed '1s/"layers\.1\.blocks\.5"/"features"         /' block.safetensors >called-so.safetensors
run 0 shiftvit-head $common --neighbours short-train.safetensors --reference called-so.safetensors --k 1
prints '^neighbours: k 1 top-1 100.00 %'
run 0 shiftvit-head $common --fit short-train.safetensors --model short.safetensors --out short-head.safetensors
run 0 shiftvit-eval $common --model short-head.safetensors --data procedural:400 --limit-test 200
at_least 60
run 2 shiftvit-convert --truncate features "$model" no.safetensors
says "layer is 'features'"
absent no.safetensors
run 2 shiftvit-convert --truncate layers.1.blocks.5 --texts t.safetensors "$model" no.safetensors
says '^shiftvit-convert: --texts'

# A class is added from a folder of its images, whatever their names are. The curves of a run are none.
run 0 shiftvit-export --data procedural:200 --split train --count 200 --by-class --out known
mkdir new
mv known/ring new/ring
mv "$(ls new/ring/*.png | head -n 1)" 'new/ring/a "b", c.png'
touch new/ring/history.csv new/ring/curves.png
run 0 shiftvit-features $common --model "$model" --data folder:known --val-fraction 0 --out known.safetensors
run 0 shiftvit-head $common --fit known.safetensors --model "$model" --out nine.safetensors
prints '^9 classes: '
for old in '' '--old-features known.safetensors'; do
    run 0 shiftvit-head $common --add-class ring --images new/ring --model nine.safetensors \
        --out ten.safetensors $old
    prints '^class ring added from 20 images, (1[0-9]|20) of which are found$'
    prints '^10 classes: ten.safetensors$'
    run 0 shiftvit-head $common --evaluate test.safetensors --model ten.safetensors
    at_least 40 # labels go by name, and the set has ring before the last
    run 0 shiftvit-predict $common --top 1 --model ten.safetensors new/ring
    [ "$(grep -c '%  ring$' "$work/out")" -ge 10 ] || fail "few rings are found: $(cat "$work/out")"
done
run 0 shiftvit-head $common --json --add-class ring --images new/ring --model nine.safetensors --out nine.safetensors
prints '"classes": 10, "class": "ring", "images": 20, "found": '
run 2 shiftvit-head $common --add-class ring --images new/ring --model nine.safetensors --out no.safetensors
says "the model has a class 'ring' already"
run 0 shiftvit-convert --quiet --truncate layers.0.blocks.0 "$model" short.safetensors
run 1 shiftvit-head $common --add-class fox --images new/ring --model short.safetensors --out no.safetensors
[ "$(cat "$work/err")" = 'shiftvit-head: the model has no classifier; shiftvit-train --init-from gives it one' ] ||
    fail "a model without classes: $(cat "$work/err")"
printf x >new/ring/bad.png
run 1 shiftvit-head $common --add-class fox --images new/ring --model nine.safetensors --out no.safetensors
says 'new/ring/bad.png'
run 0 shiftvit-head $common --add-class fox --images new/ring --on-bad skip --model nine.safetensors --out fox.safetensors
prints '^class fox added from 20 images'

# A threshold that so many images reach is kept with the model; without one nothing is said.
run 0 shiftvit-eval $common --model fitted.safetensors --data procedural:400 --accept 0.5 --out half.safetensors
prints "^none of these below $percent, which 50 % of the images reach: half.safetensors\$"
run 0 shiftvit-eval $common --model half.safetensors --data procedural:400 --accept 1 --out all.safetensors --json
prints '^\{"out": "all.safetensors", "accept": 1.0, "threshold": 0.[0-9]+\}$'
threshold=$(sed -n 's/.*"threshold": \(0.[0-9]*\)}$/\1/p' "$work/out")
run 0 shiftvit-info $common --json all.safetensors
prints "\"output\": \"softmax\", .*\"text_classes\": null, \"threshold\": ${threshold%????}"
run 0 shiftvit-info $common all.safetensors
prints "^none of the classes below $percent\$"
prints '^output: softmax$'
run 0 shiftvit-info $common --json fitted.safetensors
prints '"threshold": null, '
run 0 shiftvit-info $common fitted.safetensors
! grep -Eq 'none of|texts' "$work/out" || fail "a threshold or texts that are not there: $(cat "$work/out")"
run 0 shiftvit-head $common --add-class fox --images new/ring --on-bad skip --model all.safetensors --out unsure.safetensors
says '^shiftvit-head: warning: the threshold 0.* is left out: .*; shiftvit-eval --accept chooses another$'
[ "$(grep -c threshold err)" = 1 ] || fail "twice: $(cat err)"
run 0 shiftvit-predict $common --model fitted.safetensors known/disc
! grep -q 'none' "$work/out" || fail 'a model without a threshold says none'
run 0 shiftvit-predict $common --model all.safetensors known/disc
run 0 shiftvit-predict $common --top 1 --model half.safetensors known/*
none=$(grep -c '^  none of these$' "$work/out")
[ "$none" -ge 60 ] && [ "$none" -le 120 ] || fail "$none of 180 images are none of these"
run 0 shiftvit-predict $common --json --model half.safetensors known/disc
[ "$(grep -c '"none_of_these": true' "$work/out")" -ge 1 ] || fail 'JSON does not say none'
run 2 shiftvit-eval $common --model fitted.safetensors --data procedural --accept 0.5
says 'need each other'

# Classes that are texts have as many channels as the model has logits, and names.
run 0 shiftvit-features $common --model "$model" --data procedural:20 --limit-train 4 --out texts.safetensors
run 2 shiftvit-convert --texts texts.safetensors "$model" texts-model.safetensors
says "channels is 384; the model's logits are embeddings of 10"
header='{"__metadata__":{"format":"shiftvit-features","format_version":"1","class_count":"2","classes":"[\"cat\",\"dog\"]"},'
header=$header'"features":{"dtype":"F32","shape":[2,10],"data_offsets":[0,80]},'
header=$header'"labels":{"dtype":"I32","shape":[2],"data_offsets":[80,88]}}'
{
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((${#header} % 256)))\\$(printf %o $((${#header} / 256)))\\0\\0\\0\\0\\0\\0"
    printf %s "$header"
    for sign in 077 277; do # ten times 1, and ten times -1
        for _ in 1 2 3 4 5 6 7 8 9 10; do printf "\\000\\000\\200\\$sign"; done
    done
    printf '\001\0\0\0\0\0\0\0'
} >two.safetensors
run 0 shiftvit-convert $common --texts two.safetensors --logit-scale 20 --logit-bias 1 "$model" pets.safetensors
run 0 shiftvit-predict $common --output logits --model pets.safetensors known/disc
[ "$(grep -Ec '^ +-?[0-9.]+  (cat|dog)$' "$work/out")" -eq "$((2 * $(ls known/disc | wc -l)))" ] ||
    fail "not two classes of each image: $(cat "$work/out")"
awk 'NF == 2 { sum += $1; n++ } END { exit !(n && sum / n > 0.999 && sum / n < 1.001) }' "$work/out" ||
    fail "opposite embeddings have no opposite logits around the bias: $(cat "$work/out")"
grep -A 1 '^known' "$work/out" | grep -q 'dog$' || fail 'the first class is not that of the first label'
run 0 shiftvit-info $common pets.safetensors
grep -A 2 '^classes that are texts$' "$work/out" | tr -d '\n ' | grep -qx 'classesthataretexts0dog1cat' ||
    fail "shiftvit-info does not say the classes that are texts: $(cat "$work/out")"
run 0 shiftvit-info $common --json pets.safetensors
prints '"classes": \["airplane", .*\], "text_classes": \["dog", "cat"\], "threshold": null, '

# The evaluation measures what the predictions say: of texts, too.
mkdir two
cp -r known/disc two/cat
cp -r known/cross two/dog
run 0 shiftvit-predict $common --model pets.safetensors two/cat two/dog
right=$(awk '/^two/ { split($0, path, "/"); getline; if ($NF == path[2]) n++ } END { print n + 0 }' "$work/out")
run 0 shiftvit-eval $common --model pets.safetensors --data folder:two --split all --per-class \
    --predictions pets.csv --accept 0.9 --out known-pets.safetensors
[ "$(awk '$4 == "right" || $5 == "right" { sum += $4 } END { print sum }' "$work/out")" = "$right" ] ||
    fail "$right are right in the predictions: $(cat "$work/out")"
prints '^cat  *[0-9]+ images'
sed 1d pets.csv | grep -Eqv '(cat|dog),(cat|dog),[01][0-9.]*$' && fail "the predictions are $(cat pets.csv)"
run 0 shiftvit-predict $common --model known-pets.safetensors two/cat two/dog
[ "$(grep -c 'none of these' "$work/out")" -le "$(($(ls two/* | wc -l) / 10 + 1))" ] ||
    fail "too few are known: $(cat "$work/out")"
# By the order of the classes texts need as many classes of the data as other classes do.
run 0 shiftvit-eval $common --model pets.safetensors --data folder:two --split all --match order
mkdir two/fox
cp "$(ls known/ring/*.png known/triangle/*.png 2>/dev/null | head -n 1)" two/fox
run 2 shiftvit-eval $common --model pets.safetensors --data folder:two --split all --match order
says 'the data has 3 classes and the model 2; as many are needed'
rm -r two/fox
mv two/dog dog
run 2 shiftvit-eval $common --model pets.safetensors --data folder:two --split all --match order
says 'the data has 1 classes and the model 2; as many are needed'
mv dog two/dog

run 2 shiftvit-convert --texts texts.safetensors --to pytorch "$model" no.safetensors
says 'a file for pytorch has no classes that are texts'
run 0 shiftvit-convert --texts two.safetensors --to onnx --probabilities "$model" texts.onnx
grep -q text_head texts.onnx || fail 'the ONNX file does not name the texts'

# The images of a folder that are most alike, one image beside its neighbours.
mkdir alike
cp known/disc/*.png alike
first=$(ls alike/*.png | head -n 1)
cp "$first" alike/copy.png
run 0 shiftvit-features $common --model "$model" --neighbours alike --count 3 --grid alike.png alike
[ "$(grep -c '^/' "$work/out")" -eq "$(ls alike | wc -l)" ] || fail "not every query is printed: $(cat "$work/out")"
[ "$(grep -c '^  ' "$work/out")" -eq "$((3 * $(ls alike | wc -l)))" ] || fail "not three neighbours of each"
grep -A 1 "^$PWD/$first\$" "$work/out" | grep -q '^    1.0000  .*/alike/copy.png$' || fail "the copy is not the nearest"
there alike.png
run 0 shiftvit-features $common --model "$model" --neighbours alike --json "known/vertical stripes"
prints '^\{"image": ".*", "neighbours": \[\{"image": ".*", "similarity": 0.[0-9]*\}, '
run 2 shiftvit-features $common --model "$model" --neighbours alike
says 'QUERIES: a folder'
run 2 shiftvit-features $common --model "$model" --neighbours alike --data procedural alike
run 2 shiftvit-features $common --model "$model" --neighbours alike --pool patches alike
run 2 shiftvit-features $common --model "$model" --data procedural --out no.safetensors alike
run 1 shiftvit-features $common --model "$model" --neighbours absent alike
says "cannot open 'absent'"
mkdir one
cp "$first" one
mkdir damaged
cp "$(ls known/triangle/*.png | head -n 1)" damaged
printf x >damaged/bad.png
run 1 shiftvit-features $common --model "$model" --neighbours alike damaged
says 'bad image: .*/damaged/bad.png'
says '1 of 2 images cannot be read; --on-bad skip'
run 0 shiftvit-features $common --model "$model" --neighbours alike --on-bad skip damaged
[ "$(grep -c '^/' "$work/out")" -eq 1 ] || fail "not one query: $(cat "$work/out")"
run 0 shiftvit-features $common --model "$model" --neighbours damaged --on-bad skip --count 1 alike
[ "$(grep -c '^/' "$work/out")" -eq "$(ls alike | wc -l)" ] || fail "not every query is printed: $(cat "$work/out")"
run 2 shiftvit-features $common --model "$model" --neighbours one --count 2 --grid no.png alike
says 'fewer than 2 images'
[ ! -e no.png ] || fail 'a picture without rows was written'

# Good images are remembered. They have the score 0 if all of their patches are; a new one does not.
run 0 shiftvit-anomaly $common --model "$model" --fit alike --keep 1 --out memory.safetensors
says '^[0-9]+ of [0-9]+ patches of [0-9]+ images, layer layers.1.blocks.[0-9]+$'
cp "$(ls known/triangle/*.png | head -n 1)" alike/new.png
run 0 shiftvit-anomaly $common --model "$model" --memory memory.safetensors --maps maps alike
head -n 1 "$work/out" | grep -Eq '^ +[0-9.]+  .*/alike/new.png$' || fail "new.png is not the first: $(cat "$work/out")"
[ "$(grep -c '^ *0  ' "$work/out")" -eq "$(($(ls alike | wc -l) - 1))" ] || fail "a good image has a score: $(cat "$work/out")"
[ "$(ls maps)" = "$(ls alike)" ] || fail "maps: $(ls maps)"
# 0.07 * 1600 is a little more than 112 in floating point: 113 patches were kept.
mkdir many
for file in known/disc/*.png known/cross/*.png; do
    [ "$(ls many | wc -l)" -eq 25 ] || cp "$file" "many/$(basename "$(dirname "$file")")-$(basename "$file")"
done
run 0 shiftvit-anomaly $common --model "$model" --fit many --keep 0.07 --layer layers.1.blocks.0 --out many.safetensors
says '^112 of 1600 patches of 25 images'
run 0 shiftvit-anomaly --threads 1 --model "$model" --fit alike --layer layers.0.blocks.1 --out one.safetensors
run 0 shiftvit-anomaly --threads 3 --model "$model" --fit alike --layer layers.0.blocks.1 --out three.safetensors
cmp one.safetensors three.safetensors || fail 'the memory depends on the number of threads'
run 0 shiftvit-anomaly $common --json --model "$model" --memory one.safetensors alike
prints '^\{"image": ".*", "score": [0-9.]+\}$'
run 0 shiftvit-features $common --model "$model" --data procedural:20 --pool patches --layer layers.1.blocks.0 \
    --out patches.safetensors
prints '^1280 samples x 192 channels of layer layers.1.blocks.0: '
run 2 shiftvit-anomaly $common --model "$model" --memory train.safetensors alike
says 'has the features of images; a memory of patches is needed'
run 2 shiftvit-anomaly $common --model "$model" --fit alike --layer features --out no.safetensors
says "--layer: 'features' has the features of images; a layer of several tokens is needed"
absent no.safetensors
run 2 shiftvit-anomaly $common --model "$model" --fit alike --layer absent --out no.safetensors
says "'absent'"
run 0 shiftvit-anomaly $common --json --model "$model" --fit alike --keep 0.5 --layer layers.0.blocks.1 --out half.safetensors
[ ! -s "$work/err" ] || fail "--json says in words: $(cat "$work/err")"
n=$(ls alike | wc -l)
wanted='{"out": "half.safetensors", "layer": "layers.0.blocks.1", "images": '$n', "patches": '$((256 * n))', "kept": '$((128 * n))'}'
[ "$(cat "$work/out")" = "$wanted" ] || fail "--fit --json prints '$(cat "$work/out")', not '$wanted'"
for what in '--fit damaged --out good.safetensors' '--memory one.safetensors damaged'; do
    run 1 shiftvit-anomaly $common --model "$model" $what
    says 'bad image: .*/damaged/bad.png'
    says '1 of 2 images cannot be read; --on-bad skip'
    run 0 shiftvit-anomaly $common --model "$model" --on-bad skip $what
    says '1 of 2 images cannot be read and are left out'
done
there good.safetensors
[ "$(wc -l <"$work/out")" -eq 1 ] || fail "not one image has a score: $(cat "$work/out")"
rm damaged/*.png
printf x >damaged/bad.png
run 1 shiftvit-anomaly $common --model "$model" --on-bad skip --fit damaged --out no.safetensors
says 'no image of the folder can be read'
run 2 shiftvit-anomaly $common --model "$model" --fit alike
says '--out FILE.safetensors is needed'
run 2 shiftvit-anomaly $common --model "$model" --fit alike --memory one.safetensors --out no.safetensors
run 2 shiftvit-anomaly $common --model "$model" --memory one.safetensors --layer features alike
run 1 shiftvit-anomaly $common --model "$model" --memory one.safetensors absent
run 0 shiftvit-train $common --preset shiftvit-cifar10-fast --data procedural:20 --epochs 1 --out otherrun
run 2 shiftvit-anomaly $common --model otherrun --memory one.safetensors alike
says "'one.safetensors' is of .*; --model is "
run 0 shiftvit-train $common --preset vit-cifar100 --set dim=16 --set depth=1 --set heads=2 --set head_dim=8 \
    --set mlp_dim=16 --data procedural:20 --epochs 1 --out vit
# Of another architecture, which has no such layer, too, and before an image is read.
run 2 shiftvit-anomaly $common --model vit --memory one.safetensors damaged
says "'one.safetensors' is of .*; --model is "

# A map has the name of its image without the ending, also of those that cannot be read and have none.
mkdir same
cp "$(ls alike/*.png | head -n 1)" same/good.png
printf x >same/bad.png
printf x >same/bad.jpg
run 0 shiftvit-anomaly $common --model "$model" --memory one.safetensors --maps same-maps --on-bad skip same
[ "$(ls same-maps)" = good.png ] || fail "maps: $(ls same-maps)"
! grep 'cut to their middle' "$work/err" || fail 'a square image is cut'

# A map lies on what the patches read: 40 of 44 pixels, of which a picture has ten for each. Elsewhere it leaves the
# image, which is black, as it is.
mkdir black
"$python" - black/image.png <<'end'
import struct
import sys
import zlib

def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

header = struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)
with open(sys.argv[1], "wb") as file:
    file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(32 * 97))))
    file.write(chunk(b"IEND", b""))
end
for sides in '40 440' '44 400'; do
    run 0 shiftvit-train $common --quiet --preset vit-cifar100 --set dim=32 --set depth=1 --set heads=2 \
        --set mlp_dim=64 --set 'head_units=[32]' --set input_height="${sides% *}" --set input_width="${sides% *}" \
        --set patch_size=8 --set patch_padding=valid --data procedural:20 --epochs 1 --out rests --overwrite
    run 0 shiftvit-anomaly $common --model rests --fit alike --out rests.safetensors
    run 0 shiftvit-anomaly $common --model rests --memory rests.safetensors --maps rest-maps black
    place=$("$python" "$root/tests/programs/png_colours.py" --box rest-maps/image.png)
    [ "$place" = "0 0 ${sides#* } ${sides#* }" ] || fail "a map of $sides lies on $place"
done

# Images of another shape than the model's input are cut to their middle, which is said.
mkdir wide
cp same/good.png wide
run 0 shiftvit-patches --image same/good.png --augment [] --out wide/wide.png
for what in '--fit wide --out wide.safetensors' '--memory one.safetensors wide'; do
    run 0 shiftvit-anomaly $common --model "$model" $what
    says "^shiftvit-anomaly: '.*/wide/wide.png' and its like are cut to their middle, for the model reads images of 32 x 32"
done
run 0 shiftvit-anomaly $common --quiet --model "$model" --memory one.safetensors wide
[ ! -s "$work/err" ] || fail "--quiet says $(cat "$work/err")"

# What cannot be done is named, and nothing is written.
run 1 shiftvit-head --add-class fox --images absent --model nine.safetensors --out no.safetensors
says "cannot open 'absent'"
mkdir empty
run 1 shiftvit-head --add-class fox --images empty --model nine.safetensors --out no.safetensors
says "has no image; files in it that end in \.jpg \.jpeg"
run 1 shiftvit-head --fit "$model" --model "$model" --out no.safetensors
says "tensor 'features' is missing"
run 1 shiftvit-head --fit absent.safetensors --model "$model" --out no.safetensors
says absent.safetensors
run 2 shiftvit-head --fit early.safetensors --model "$model" --out no.safetensors
says 'the set has 96 channels; the classifier of the model reads 384'
run 2 shiftvit-head --neighbours early.safetensors --reference train.safetensors
says "'early.safetensors' has 96 channels; the neighbours have 384"
run 2 shiftvit-features --model "$model" --data procedural:50 --layer blocks.0 --out no.safetensors
says "layer is 'blocks.0'"
run 2 shiftvit-features --model "$model" --data procedural:50 --layer layers.0.blocks.0 --pool class --out no.safetensors
says "^shiftvit-features: --pool is 'class'; layer 'layers.0.blocks.0' has no class token"
absent no.safetensors

# Options that do not go together.
while IFS='|' read -r message options; do
    run 2 shiftvit-head $options
    says "$message"
done <<'END'
one of --fit, --evaluate, --add-class and --neighbours is needed|--model m
--model FILE is needed|--fit f --out o
--out FILE belongs to --fit and --add-class|--fit f --model m
--out FILE belongs to --fit and --add-class|--evaluate f --model m --out o
--images DIR belongs to --add-class|--add-class n --model m --out o
--images DIR belongs to --add-class|--fit f --images d --model m --out o
--old-features belongs to --add-class|--fit f --old-features d --model m --out o
--add-class goes without --fit|--add-class n --images d --fit f --model m --out o
--neighbours goes without --fit|--neighbours f --reference r --fit f --model m --out o
--reference FILE belongs to --neighbours|--neighbours f
--recall: '0' is no number|--recall 0
--k: '0' is no whole number|--k 0
--temperature: '-1' is no number|--temperature -1
--epochs: 'many' is no whole number|--epochs many
--epochs belongs to --fit$|--evaluate f --model m --epochs 3
--batch belongs to --fit or --add-class$|--evaluate f --model m --batch 3
--learning-rate belongs to --fit$|--evaluate f --model m --learning-rate 0.1
--balanced belongs to --fit$|--evaluate f --model m --balanced
--keep belongs to --fit$|--evaluate f --model m --keep
--k belongs to --neighbours$|--evaluate f --model m -m n --k 3
--temperature belongs to --neighbours$|--fit f --out o --model m --temperature 3
--recall belongs to --add-class$|--evaluate f --model m --recall 0.5
--new-weight belongs to --old-features$|--evaluate f --model m --new-weight 3
--new-weight belongs to --old-features$|--add-class n --images d --model m --out o --new-weight 3
--recall has no effect with --old-features$|--add-class n --images d --model m --out o --old-features f --recall 0.5
--label-smoothing belongs to --fit$|--add-class n --images d --model m --out o --label-smoothing 0.1
--learning-rate belongs to --fit$|--add-class n --images d --model m --out o --learn 0.1
--weight-decay belongs to --fit$|--add-class n --images d --model m --out o --weight-decay 1
--on-bad belongs to --add-class$|--fit f --out o --model m --on-bad skip
--model has no effect with --neighbours$|--neighbours f --reference r -m m
END
while IFS='|' read -r message options; do
    run 2 shiftvit-features --model m $options
    says "$message"
done <<'END'
--count belongs to --neighbours$|--data procedural --out o.safetensors --count 3
--grid belongs to --neighbours$|--list-layers --grid g.png
QUERIES belong to --neighbours$|--list-layers images
--data has no effect with --list-layers$|--list-layers --data procedural
--out has no effect with --list-layers$|--list-layers --out o.safetensors
--layer has no effect with --list-layers$|--list-layers --layer features
--neighbours has no effect with --list-layers$|--list-layers --neighbours a b
--data has no effect with --neighbours$|--neighbours a b --data procedural
--out has no effect with --neighbours$|--neighbours a b --out o.safetensors
--split has no effect with --neighbours$|--neighbours a b --split test
--labels has no effect with --neighbours$|--neighbours a b --labels fine
--limit-train has no effect with --neighbours$|--neighbours a b --limit-train 3
--val-fraction has no effect with --neighbours$|--neighbours a b --val-fraction 0
END
run 2 shiftvit-anomaly --model m --memory m.safetensors --keep 0.5 d
says '--keep belongs to --fit$'
run 2 shiftvit-convert --logit-scale 20 m o
says '--logit-scale belongs to --texts$'
run 2 shiftvit-convert --logit-bias 1 m o
says '--logit-bias belongs to --texts$'
run 2 shiftvit-features --data procedural --out o.safetensors
says '--model FILE is needed'
run 2 shiftvit-features --model "$model" --out o.safetensors
says '--data SPEC is needed'
run 2 shiftvit-features --model m --data procedural
says '--out FILE.safetensors is needed'
run 2 shiftvit-features --model m --data procedural --out o.txt
says "'o.txt' does not end in .safetensors"
run 2 shiftvit-features --pool max
says "'max' is none of mean, class"
echo "features: passed"
