#!/bin/sh
# Shards: what shiftvit-export --shards writes, read by Python's tarfile and by the library, and training
# from them.
# Usage: shards.sh FOLDER_OF_THE_PROGRAMS PYTHON
set -eu
programs=$1
python=$2
tools=$(dirname "$0")
. "$tools/support.sh"
needs_decoders
tools=$(cd "$tools" && pwd)
cd "$work"
small='--set dim=24 --set blocks=[1,1] --batch 16 --epochs 2 --threads 2 --seed 3'

# Images that are no files.
run 0 shiftvit-export --data procedural:60 --split train --shards sets/train --samples-per-shard 25
says '^60 images in 3 shards sets/train-\*\.tar$'
run 0 shiftvit-export --data procedural:60 --split train --shards again/train --samples-per-shard 25
for shard in 0 1 2; do
    cmp "sets/train-00000$shard.tar" "again/train-00000$shard.tar" || fail 'the bytes of two exports differ'
done
absent sets/train-000003.tar
[ -z "$(find sets -name '.*' -type f)" ] || fail "temporary files: $(ls -A sets)"
"$python" "$tools/shards.py" files sets 25 25 10
run 0 shiftvit-export --data procedural:60 --split train --count 0 --out wanted
run 0 shiftvit-export --data 'shards:sets/train-{000000..000002}.tar' --val-fraction 0 --split train \
    --count 0 --out found
diff -r wanted found || fail 'the images of the shards are others'
there sets/train-000000.tar.index

# Images that are files are copied; a part of them too.
run 0 shiftvit-export --data procedural:40 --split train --count 40 --by-class --out images
run 0 shiftvit-export --data folder:images --val-fraction 0 --split train --shards files/train --count 30
"$python" "$tools/shards.py" copies files images 30
sort sets/classes.txt | cmp - files/classes.txt || fail "the classes are $(cat files/classes.txt)"

# What is refused leaves nothing.
run 1 shiftvit-export --data procedural:60 --split train --shards sets/train
says "train-00000[0-2]\.tar' is there already; remove the shards"
echo other >files/classes.txt
run 1 shiftvit-export --data procedural:60 --split val --shards files/val
says "classes\.txt' has other classes"
echo 'path,width' >numbers.csv
find "$PWD/images" -name '*.png' | sed 's/$/,1/' >>numbers.csv
run 2 shiftvit-export --data list:numbers.csv --val-fraction 0 --split train --shards numbers/train
says 'numbers instead of classes'
absent numbers
echo text >"images/$(head -n 1 sets/classes.txt)/00099.png"
run 1 shiftvit-export --data folder:images --val-fraction 0 --split train --shards bad/train --samples-per-shard 2
says 'bad image: .* a text; JPEG, PNG and WebP are accepted'
absent bad
# A damaged image is one that begins as one, too.
rm -r "images/$(head -n 1 sets/classes.txt)/00099.png"
image=$(find images -name '*.png' | sort | head -n 1)
head -c 60 "$image" >"images/$(head -n 1 sets/classes.txt)/00099.png"
run 1 shiftvit-export --data folder:images --val-fraction 0 --split train --shards bad/train
says "bad image: .*00099\.png"
says '1 of 41 images cannot be read; --on-bad skip goes on without them'
absent bad
run 0 shiftvit-export --data folder:images --val-fraction 0 --split train --shards good/train --on-bad skip
says '1 of 41 images cannot be read and are left out'
says '^40 images in 1 shards'
run 2 shiftvit-export --data 'shards:sets/train-*.tar' --split all --shards sets/again
says '\-\-shards does not take --data shards:'
[ -z "$(find files -name '*val*' -o -name '*.tar*' | grep -v files/train)" ] ||
    fail "left: $(find files)"
run 2 shiftvit-export --data procedural:60
run 2 shiftvit-export --data procedural:60 --out a --shards b/c
run 2 shiftvit-export --data shards: --out a
says 'shards:PATTERN'

# Splits: val*.tar and test*.tar beside train*.tar, or parts of the shards.
run 0 shiftvit-export --data procedural:60 --split val --count 20 --shards sets/val
run 0 shiftvit-export --data procedural:60 --split test --count 30 --shards sets/test --samples-per-shard 20
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data 'shards:sets/train-*.tar' --set shuffle_window=8 --set leaves=3 --out run
run 0 shiftvit-eval --model run --data 'shards:sets/train-*.tar'
prints '30 images'
run 0 shiftvit-eval --model run --data 'shards:sets/train-*.tar' --split val
prints '20 images'
run 0 shiftvit-eval --model run --data 'shards:again/train-*.tar' --split val
prints '10 images, drawn at random by class'
grep -q "\"data\": \"shards:$PWD/sets/train-\*\.tar\"" run/run.json || fail "run.json is $(cat run/run.json)"
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data 'shards:again/train-*.tar' --set shuffle_window=8 --out drawn

# Names of one split alone.
mkdir half
cp sets/train-000000.tar half
"$python" - <<'END'
import io, json, tarfile
with tarfile.open("sets/val-000000.tar") as old, tarfile.open("half/val-000000.tar", "w") as new:
    for member in old:
        data = old.extractfile(member).read()
        if member.name.endswith(".cls"):
            member.name = member.name.replace(".cls", ".json")
            data = json.dumps({"label": "class " + data.decode()}).encode()
            member.size = len(data)
        new.addfile(member, io.BytesIO(data))
END
run 1 shiftvit-export --data 'shards:half/train-*.tar' --split val --out none
says 'the classes of val\*\.tar have names and those of train do not; names of both, or of neither, are accepted'

# A brace in the path of the shards is no range: the run has the whole path, and goes on.
mkdir 'we{ird}'
cp sets/*.tar 'we{ird}'
for pattern in 'train-*.tar' 'train-{000000..000002}.tar'; do
    # shellcheck disable=SC2086
    (cd 'we{ird}' && run 0 shiftvit-train $small --data "shards:$pattern" --out run)
    run 0 shiftvit-train --resume 'we{ird}/run' --epochs 3
    run 0 shiftvit-eval --model 'we{ird}/run'
    rm -r 'we{ird}/run'
done

# The window is part of a run, and gives another order.
run 2 shiftvit-train --resume run --epochs 3 --set shuffle_window=9
says "shuffle window 8"
run 0 shiftvit-train --resume run --epochs 3
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data 'shards:sets/train-*.tar' --set leaves=3 --out whole
cut -d, -f1-8 run/history.csv | head -n 3 >a
cut -d, -f1-8 whole/history.csv >b
! cmp -s a b || fail 'shuffle_window changes nothing'
