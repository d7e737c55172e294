#!/bin/sh
# outputs.sh EXAMPLES ROOT: no program writes over what it reads, or over another of its outputs, and the
# exports of two splits do not mix.
set -eu
programs=$1
root=$2
. "$root/tests/programs/support.sh"
needs_decoders
cd "$work"
model=$root/examples/models/cifar10.safetensors
common='--threads 1 --quiet'

# refused FILE PATTERN PROGRAM OPTION...: the exit status is 2, the message says which two files are
# the same, and the file is as it was. An empty FILE: nothing is to be kept.
refused() {
    kept=$1 pattern=$2
    shift 2
    [ -z "$kept" ] || cp "$kept" before
    run 2 "$@"
    says "$pattern"
    [ -z "$kept" ] || cmp "$kept" before || fail "$*: '$kept' was replaced"
}

run 0 shiftvit-export $common --data procedural:200 --split train --count 20 --out photos
set -- photos/*.png
first=$1 second=$2
cp "$model" m.safetensors
run 0 shiftvit-features $common --model m.safetensors --data procedural:20 --out f.safetensors

# One file, also by another name.
refused m.safetensors "^shiftvit-features: --out: './m.safetensors' is the file of --model" shiftvit-features \
    $common --model m.safetensors --data procedural:20 --out ./m.safetensors
ln -s m.safetensors link.safetensors
refused m.safetensors "--out: 'link.safetensors' is the file of --model" shiftvit-features $common \
    --model m.safetensors --data procedural:20 --out link.safetensors
mkdir run
cp m.safetensors run/model.safetensors
refused run/model.safetensors "--out: 'run/model.safetensors' is the file of --model" shiftvit-features $common \
    --model run --data procedural:20 --out run/model.safetensors
refused f.safetensors "--out: 'f.safetensors' is the file of --fit" shiftvit-head $common --fit f.safetensors \
    --model m.safetensors --out f.safetensors
cp f.safetensors g.safetensors
refused g.safetensors "--out: '.*/g.safetensors' is the file of --evaluate" shiftvit-head $common --fit f.safetensors \
    --evaluate g.safetensors --model m.safetensors --out "$PWD/g.safetensors"
run 0 shiftvit-head $common --fit f.safetensors --epochs 1 --model m.safetensors --out m.safetensors # as documented
cp "$model" m.safetensors
refused f.safetensors "--out: 'f.safetensors' is the file of --old-features" shiftvit-head $common --add-class fox \
    --images photos --old-features f.safetensors --model m.safetensors --out f.safetensors
refused m.safetensors "OUT: 'm.safetensors' is the file of IN" shiftvit-convert $common --dtype int8 m.safetensors \
    m.safetensors
refused run/model.safetensors "OUT: 'run/model.safetensors' is the file of IN" shiftvit-convert $common run \
    run/model.safetensors
refused f.safetensors "OUT: 'f.safetensors' is the file of --texts" shiftvit-convert $common --texts f.safetensors \
    m.safetensors f.safetensors
refused "$first" "--out: '$first' is the file of --image" shiftvit-patches $common --size 36 --image "$first" --out "$first"
refused "$second" "--out: '$second' is the file of --image" shiftvit-patches $common --size 36 --image "$first" \
    --image "$second" --augment '[{"name": "crop"}]' --out "$second"

# No picture replaces a file that these programs have not drawn, also where it is not read, and each replaces its own.
photograph='exists and is no picture that these programs, from version 0.4 on, have drawn'
run 0 shiftvit-export $common --data procedural:200 --split train --count 20 --by-class --out classes
vit='--preset vit-cifar100 --set dim=16 --set depth=1 --set heads=2 --set head_dim=8 --set mlp_dim=16 --set head_units=[]'
train="$common $vit --epochs 1 --batch 8 --data procedural:20 --limit-val 10 --limit-test 10"
# shellcheck disable=SC2086
run 0 shiftvit-train $train --out vit
mkdir other
cp "$first" other/photo.png
printf 'a text' >other/text.png
cp m.safetensors other/model.png
while read -r drawing; do
    for kept in other/*.png; do
        # shellcheck disable=SC2086
        refused $kept "^shiftvit-[a-z]*: --[a-z]*: '$kept' $photograph; another name is needed$" $drawing $kept $common
    done
    : >empty.png
    for again in 1 2; do
        # shellcheck disable=SC2086
        run 0 $drawing empty.png $common
        is_png empty.png
    done
    rm empty.png
done <<END
shiftvit-predict --model m.safetensors $second --grid
shiftvit-predict --model vit $second --attention
shiftvit-features --model m.safetensors --neighbours photos --count 1 photos --grid
shiftvit-eval --model vit --data folder:classes --match order --split test --confusion
shiftvit-curves vit --out
shiftvit-patches --size 36 --image $second --out
shiftvit-patches --size 36 --image $second --augment [] --out
END
mkdir other/run
cp "$first" other/run/curves.png
# shellcheck disable=SC2086
refused other/run/curves.png "--out: 'other/run/curves.png' $photograph; .* has to be moved" shiftvit-train $train \
    --overwrite --out other/run
# That of a run is its own, also where an older version has drawn it, without a mark.
cp vit/*.* other/run
cp "$first" other/run/curves.png
run 0 shiftvit-train --epochs 2 --resume other/run
! cmp -s "$first" other/run/curves.png || fail 'the curves of the run were not drawn'
rm -r other classes vit

# The pictures of shiftvit-predict. A picture that was drawn before may be replaced, an image may not.
refused "$first" "--grid: '$first' $photograph; another name is needed" shiftvit-predict $common --model \
    m.safetensors --grid photos/*.png
refused "$first" "--attention: '$first' $photograph" shiftvit-predict $common --model m.safetensors \
    --attention "$first" photos
refused "$first" "--grid: '$first' is the file of an image that is read" shiftvit-predict $common --model \
    m.safetensors "$first" --grid "$first"
refused '' "--attention: './new.png' is the file of --grid" shiftvit-predict $common --model m.safetensors --grid \
    new.png --attention ./new.png photos
absent new.png
for images in "$first" photos "$first $second"; do
    run 0 shiftvit-predict $common --model m.safetensors --grid photos/grid.png $images
    is_png photos/grid.png
done
refused photos/grid.png "--grid: 'photos/grid.png' is the file of an image that is read" shiftvit-predict $common \
    --model m.safetensors --grid photos/grid.png "$first" photos/grid.png
rm photos/grid.png
mkdir others drawn
cp "$second" others
run 0 shiftvit-predict $common --model m.safetensors --grid drawn/grid.png "$first"
for folders in 'photos drawn' 'drawn photos'; do
    refused drawn/grid.png "--grid: 'drawn/grid.png' is the file of an image that is read" shiftvit-features $common \
        --model m.safetensors --count 1 --grid drawn/grid.png --neighbours $folders
done
rm -r drawn

# A drawn picture is told by what its file says, and every chunk of the file is whole.
run 0 shiftvit-predict $common --model m.safetensors --grid grid.png "$first"
python3 - grid.png "$work/plain.png" <<'END' || fail "grid.png has no mark of a drawn picture"
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
at, kept, marks = 8, data[:8], 0
while at < len(data):
    length = struct.unpack(">I", data[at:at + 4])[0]
    chunk = data[at:at + length + 12]
    assert struct.unpack(">I", chunk[-4:])[0] == zlib.crc32(chunk[4:-4])
    marks += chunk[4:-4] == b"tEXtSoftware\0shiftvit"
    kept += b"" if chunk[4:8] == b"tEXt" else chunk
    at += length + 12
assert at == len(data) and marks == 1
open(sys.argv[2], "wb").write(kept)
END
mv plain.png photos/plain.png
refused photos/plain.png "--grid: 'photos/plain.png' $photograph" shiftvit-predict $common --model m.safetensors \
    --grid photos/plain.png "$first"
rm photos/plain.png

# Maps of anomalies.
refused m.safetensors "--out: 'm.safetensors' is the file of --model" shiftvit-anomaly $common --fit photos --model \
    m.safetensors --out m.safetensors
run 0 shiftvit-anomaly $common --fit photos --model m.safetensors --out memory.safetensors
refused "$first" "--maps: 'photos/.*.png' is an image that is scored" shiftvit-anomaly $common --memory \
    memory.safetensors --model m.safetensors --maps photos photos
mkdir maps
ln -s "../$first" maps
refused "$first" "--maps: 'maps/.*.png' is an image that is scored" shiftvit-anomaly $common --memory \
    memory.safetensors --model m.safetensors --maps maps photos
rm -r maps
cp -r photos copies
refused "copies/${first#photos/}" "--maps: 'copies/.*.png' $photograph; another folder" shiftvit-anomaly $common --memory \
    memory.safetensors --model m.safetensors --maps copies photos
cp "$first" others/x.png
cp "$first" others/x.jpg
refused '' "--maps: '.*/others/x.(jpg|png)' and '.*/others/x.(jpg|png)' would both be drawn to 'maps/x.png'" \
    shiftvit-anomaly $common --memory memory.safetensors --model m.safetensors --maps maps others
absent maps
run 0 shiftvit-anomaly $common --memory memory.safetensors --model m.safetensors others
rm others/x.jpg
run 0 shiftvit-anomaly $common --memory memory.safetensors --model m.safetensors --maps maps others
run 0 shiftvit-anomaly $common --memory memory.safetensors --model m.safetensors --maps maps others # again

# Where nothing can be written, no work is begun: the messages are of the place, not of the model or images.
printf x >file
mkdir folder.png
printf x >broken.safetensors
while IFS='|' read -r message program options; do
    # shellcheck disable=SC2086
    run 1 $program $common $options
    says "$message"
    [ ! -s "$work/out" ] || fail "$program $options: prints '$(cat "$work/out")' before"
done <<END
--grid: cannot write to 'nowhere'|shiftvit-predict|--model broken.safetensors --grid nowhere/g.png photos
--attention: 'folder.png' is a folder|shiftvit-predict|--model broken.safetensors --attention folder.png photos
--grid: cannot write to 'nowhere'|shiftvit-features|--model broken.safetensors --neighbours photos --grid nowhere/g.png photos
--out: cannot write to 'nowhere'|shiftvit-curves|--out nowhere/c.png absent
--out: cannot write to 'nowhere'|shiftvit-patches|--image absent.png --out nowhere/p.png
--out: 'folder.png' is a folder|shiftvit-patches|--image absent.png --augment [] --out folder.png
--maps: 'file' is no folder|shiftvit-anomaly|--model m.safetensors --memory memory.safetensors --maps file photos
--maps: 'file' is no folder|shiftvit-anomaly|--model m.safetensors --memory memory.safetensors --maps file/a/b photos
END
# Too few images for a row of the picture are told before any neighbour is.
rm others/*
cp "$first" "$second" others
refused '' "--grid: 'others' has fewer than 2 images besides the query" shiftvit-features $common --model \
    m.safetensors --neighbours others --count 2 --grid g.png others
[ ! -s out ] || fail "neighbours are printed: $(cat out)"
refused '' "--grid: 'others' has fewer than 3 images" shiftvit-features $common --model m.safetensors \
    --neighbours others --count 3 --grid g.png photos
absent g.png
run 0 shiftvit-features $common --model m.safetensors --neighbours others --count 2 --grid g.png photos
is_png g.png
rm -r others folder.png

# Two exports do not mix.
run 1 shiftvit-export $common --data procedural:200 --split test --count 20 --out photos
says "^shiftvit-export: 'photos/[0-9]{5}-[a-z -]*.png' is there already; remove the images"
run 0 shiftvit-export $common --data procedural:200 --split train --count 20 --by-class --out classes
sum=$(cat classes/*/*.png | cksum)
run 1 shiftvit-export $common --data procedural:200 --split test --count 20 --by-class --out classes
says "'classes/[a-z -]*/[0-9]{5}.png' is there already"
[ "$(cat classes/*/*.png | cksum)" = "$sum" ] || fail 'an export was mixed with another one'

# Classes whose folders would be one, and a name that is cut between characters.
{
    echo path,label
    echo "$first,A/S"
    echo "$second,A_S"
} >two.csv
run 1 shiftvit-export $common --data list:two.csv --split all --by-class --out merged
says "the classes 'A[/_]S' and 'A[/_]S' would share the folder 'A_S'"
absent merged
long=y$(printf '\342\202\254%.0s' $(seq 70)) # 211 bytes
{
    echo path,label
    echo "$first,$long"
} >long.csv
run 0 shiftvit-export $common --data list:long.csv --split all --by-class --out long
[ "$(ls long)" = "y$(printf '\342\202\254%.0s' $(seq 66))" ] || fail "the folder is called '$(ls long)'"

# Classes that --data folder: would take for splits.
first=$(find classes -name '*.png' | sed -n 1p)
while read -r status classes; do
    rm -rf named
    {
        echo path,label
        for class in $classes; do
            echo "$first,$class"
        done
    } >named.csv
    run "$status" shiftvit-export $common --data list:named.csv --split all --by-class --out named
    [ "$status" = 0 ] || says '^shiftvit-export: --by-class: classes that are called as splits, such as train and val'
    [ "$status" != 0 ] ||
        run 0 shiftvit-export $common --data folder:named --split all --out "read-$(echo "$classes" | tr ' ' -)"
done <<'END'
1 train val test
1 Training dev
1 cat val validation
0 train cat val
0 val test
0 train
END

# A split that is not there; results as JSON; options without effect.
run 2 shiftvit-export $common --data procedural --split val --val-fraction 0 --out none
says "--split: 'procedural' has no images for 'val'"
absent none
run 0 shiftvit-export $common --json --data procedural:20 --split train --count 2 --out json
[ "$(cat out)" = '{"out": "json", "images": 2}' ] || fail "--json prints '$(cat out)'"
run 0 shiftvit-export $common --json --data procedural:20 --split train --shards shards/a --samples-per-shard 12
[ "$(cat out)" = '{"out": "shards/a", "images": 20, "shards": 2}' ] || fail "--json prints '$(cat out)'"
# Shards in the folder of their data would be classes, or files among them.
for shards in classes/shards/tr classes/tr classes/disc/tr; do
    refused '' "--shards: '.*' (is|lies in) 'classes', the folder of the data" shiftvit-export $common \
        --data folder:classes --split all --shards "$shards"
done
absent classes/shards
run 0 shiftvit-export $common --data folder:classes --split all --shards archives/tr
while IFS='|' read -r message options; do
    refused '' "^shiftvit-export: $message" shiftvit-export --data procedural:20 $options
done <<'END'
--size has no effect with --shards|--shards b/c --size 32
--by-class has no effect with --shards|--shards b/c --by-class
--samples-per-shard belongs to --shards|--out b --samples-per-shard 3
END
absent b
echo "outputs: passed"
