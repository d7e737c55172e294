#!/bin/sh
# The programs lose nothing that they read, say nothing that they did not do, and end as they are told.
# Usage: careful.sh FOLDER_OF_THE_PROGRAMS ROOT PYTHON
set -eu
programs=$1 root=$2 python=$3
. "$(dirname "$0")/support.sh"
needs_decoders
cd "$work"
vit='--preset vit-cifar100 --set dim=16 --set depth=1 --set heads=2 --set head_dim=8 --set mlp_dim=16 --set head_units=[]'
tiny='--epochs 1 --batch 8 --threads 1 --quiet'
# shellcheck disable=SC2086
run 0 shiftvit-train $vit $tiny --data procedural:20 --limit-val 10 --limit-test 10 --out vit
run 0 shiftvit-export --data procedural:40 --split train --count 12 --by-class --out photos
run 0 shiftvit-export --data procedural:40 --split train --count 4 --out fox
test_on='--data procedural:20 --limit-test 10'

# A model file says what its model is; a preset or a configuration that says something else is refused.
# shellcheck disable=SC2086
run 0 shiftvit-eval --model vit $vit --set num_classes=10 $test_on
for given in "$vit --set num_classes=10 --set heads=4 --set head_dim=4" '--config heads.json'; do
    "$python" - <<'END'
import json
config = json.load(open("vit/run.json"))["config"]
json.dump({**config, "heads": 4, "head_dim": 4}, open("heads.json", "w"))
END
    # shellcheck disable=SC2086
    run 2 shiftvit-eval --model vit $given $test_on
    says 'says what its model is'
    # shellcheck disable=SC2086
    run 2 shiftvit-convert vit other.safetensors $given
    absent other.safetensors
done
for option in '--name vit_tiny_patch16_224' '--prefix a.' '--base b' --explain; do
    # shellcheck disable=SC2086
    run 2 shiftvit-eval --model vit --config vit/run.json $option $test_on
    says "${option%% *} is for finding out"
    # shellcheck disable=SC2086
    run 2 shiftvit-convert --from timm --preset deit-tiny-patch16-224 vit/model.safetensors new.safetensors $option
    says "${option%% *} is for finding out"
done

# A model file of this library has nothing to find out, and what is no adapter has no base.
run 0 shiftvit-info --explain vit/model.safetensors
says "'vit/model.safetensors': the file is of this library, and says what the model is\$"
run 2 shiftvit-info --base nix vit
says "^shiftvit-info: --base: 'vit' is no adapter"
for option in '--base b' '--preset vit-cifar100' '--set dim=3' '--config none.json' --explain; do
    # shellcheck disable=SC2086
    run 2 shiftvit-info --build $option
    says "^shiftvit-info: ${option%% *} has no effect with --build"
done

# Of a model that is not there, that is said first.
for model in run_typo ''; do
    run 1 shiftvit-eval --model "$model"
    says "^shiftvit-eval: --model: cannot open '$model': No such file or directory$"
    run 1 shiftvit-features --model "$model" --out x.safetensors
    says "^shiftvit-features: --model: cannot open '$model'"
done

# Nothing that is written replaces what is read.
mkdir lists
(echo path,label && for file in "$PWD"/photos/*/*.png; do
    echo "$file,$(basename "$(dirname "$file")")"
done) >lists/train.csv
cp lists/train.csv lists/val.csv
cp lists/train.csv lists/test.csv
cp -r lists kept
cp -r photos kept-photos
cp -r fox kept-fox
for option in --predictions --confusion; do
    for file in train val test; do
        run 2 shiftvit-eval --model vit --data list:lists/train.csv --split test $option lists/$file.csv
        says "$file.csv' is the file of"
    done
done
# Nor another file than one of its kind, and nothing that a run needs.
photo=$(find photos -name '*.png' | head -n 1)
mkdir run
cp vit/* run
for out in "$photo" run/run.json; do
    run 2 shiftvit-convert run "$out"
    says "'$out' is there and is no .safetensors file"
done
for file in best model checkpoint; do
    [ -e run/$file.safetensors ] || continue
    run 2 shiftvit-convert vit run/$file.safetensors
    says "'run/$file.safetensors' belongs to the run in its folder"
    run 2 shiftvit-features --model vit --data folder:photos --split all --out run/$file.safetensors
    says "'run/$file.safetensors' belongs to the run in its folder"
done
run 0 shiftvit-features --model vit --data folder:photos --split all --out features.safetensors
run 2 shiftvit-head --model run/best.safetensors --fit features.safetensors --out run/best.safetensors
says "'run/best.safetensors' belongs to the run in its folder"
# shellcheck disable=SC2086
run 2 shiftvit-eval --model vit $test_on --predictions run/history.csv
says "'run/history.csv' belongs to the run in its folder"
for again in 1 2; do
    run 0 shiftvit-convert vit weights.bin
    rm weights.bin
    : >weights.bin
done
run 2 shiftvit-head --model run/checkpoint.safetensors --fit features.safetensors --out run/checkpoint.safetensors
says "'run/checkpoint.safetensors' belongs to the run in its folder"
run 2 shiftvit-head --model run --fit features.safetensors --out "$photo"
run 0 shiftvit-head --model run/model.safetensors --fit features.safetensors --epochs 1 --out run/model.safetensors
for file in vit/*.*; do
    [ "$file" = vit/model.safetensors ] || cmp "$file" run/"${file#vit/}"
done
run 2 shiftvit-export --data folder:photos --split all --by-class --out photos
says "'photos' is 'photos', the folder of the data"
run 2 shiftvit-export --data folder:photos --split all --out "$(dirname "$photo")"
says "lies in 'photos', the folder of the data"
run 2 shiftvit-eval --model vit --data folder:photos --split all --confusion "$photo"
run 2 shiftvit-head --model vit --add-class fox --images fox --out "$(find fox -name '*.png' | head -n 1)"
cp lists/train.csv list.safetensors
run 2 shiftvit-features --model vit --data list:list.safetensors --split all --out list.safetensors
cmp lists/train.csv list.safetensors
diff -r lists kept
diff -r photos kept-photos
diff -r fox kept-fox

# Work whose result has no place does not begin.
for option in '--predictions none/a.csv' '--confusion none/a.csv' '--accept 0.9 --out none/a.safetensors'; do
    # shellcheck disable=SC2086
    run 1 shiftvit-eval --model vit $test_on $option
    says "cannot write to 'none'"
    [ ! -s out ] || fail 'the model was evaluated'
done
run 1 shiftvit-features --model vit --data procedural:20 --out none/a.safetensors
says "cannot write to 'none'"
mkfifo pipe.csv pipe.safetensors
ln -s gone link.csv
for option in '--predictions pipe.csv' '--confusion pipe.csv' '--accept 1 --out pipe.safetensors' '--predictions link.csv'; do
    # shellcheck disable=SC2086
    run 1 shiftvit-eval --model vit $test_on $option
    says "^shiftvit-eval: --[a-z]*: .*('pipe.[a-z]*' is a pipe or a device|'link.csv': it is a symbolic link to what is not)"
    [ ! -s out ] || fail 'the model was evaluated'
done
rm link.csv pipe.*
mkdir folder.safetensors
run 1 shiftvit-features --model vit --data procedural:20 --out folder.safetensors
says "'folder.safetensors' is a folder"

# An archive says how large its members are, and what a killed export has left is removed.
run 0 shiftvit-export --data procedural:20 --count 2 --by-class --out large
truncate -s 140000000 "$(find large -name '*.png' | head -n 1)"
mkdir archives
touch archives/.large-000007.tar.part
run 0 shiftvit-export --data folder:large --split all --shards archives/large
"$python" -c '
import tarfile
members = tarfile.open("archives/large-000000.tar").getmembers()
assert len(members) == 4 and max(member.size for member in members) == 140000000, members'
[ "$(ls -A archives)" = "$(printf 'classes.txt\nlarge-000000.tar')" ] || fail "left: $(ls -A archives)"
rm -r large archives

# A picture that cannot be drawn is told before the training, and later loses neither the model nor the test.
mkdir -p drawn/curves.png
# shellcheck disable=SC2086
run 1 shiftvit-train $vit $tiny --data procedural:20 --limit-val 10 --limit-test 10 --overwrite --out drawn
says "curves.png' is a folder"
absent drawn/model.safetensors
rmdir drawn/curves.png
# shellcheck disable=SC2086
run 1 shiftvit-train $vit $tiny --epochs 100 --data procedural:20 --limit-val 10 --limit-test 10 --out drawn &
trained=$!
until [ -s drawn/history.csv ]; do sleep 0.05; done
mkdir drawn/curves.png
wait "$trained" || fail 'a picture that cannot be drawn'
says "curves.png' is a folder"
prints '^test: loss'
there drawn/model.safetensors

# A run with adapters starts again from its run.json, to the bit.
# shellcheck disable=SC2086
run 0 shiftvit-train --init-from vit --lora 2 $tiny --data folder:photos --out adapted
# shellcheck disable=SC2086
run 0 shiftvit-train --config adapted/run.json $tiny --out again
cmp adapted/model.safetensors again/model.safetensors

# Tables and JSON that can be read back, whatever the names.
cat >numbers.csv <<END
path,"big, red","say ""hi"""
$PWD/$photo,1,0
END
for i in 1 2 3 4 5 6 7 8 9; do echo "$PWD/$photo,0,$((i % 2))"; done >>numbers.csv
# shellcheck disable=SC2086
run 0 shiftvit-train $vit $tiny --set loss=binary --data list:numbers.csv --out numbers
run 0 shiftvit-eval --model numbers --data list:numbers.csv --split all --predictions outputs.csv
"$python" -c '
import csv
rows = list(csv.reader(open("outputs.csv")))
assert rows[0] == ["path", "big, red", "output of big, red", "say \"hi\"", "output of say \"hi\""], rows[0]
assert all(len(row) == 5 for row in rows)'
run 2 shiftvit-export --data list:numbers.csv --split all --by-class --out bare
run 0 shiftvit-export --data list:numbers.csv --split all --count 2 --out bare
[ "$(ls bare)" = "$(printf '00000.png\n00001.png')" ] || fail "$(ls bare)"
run 1 shiftvit-export --data list:numbers.csv --split all --count 2 --out bare
odd=$(printf 'a\377b')
run 0 shiftvit-patches --json --image "$photo" --out "$odd.png"
"$python" -c 'import json; assert json.load(open("out"))["out"] == "a\\xFFb.png"'
newline=$(printf 'a\nb.safetensors')
run 0 shiftvit-convert --json vit "$newline"
"$python" -c 'import json; assert json.load(open("out"))["out"] == "a\nb.safetensors"'
# shellcheck disable=SC2086
run 0 shiftvit-train $vit $tiny --json --data folder:photos --val-fraction 0 --out untested
lasts '"split": "test", "images": 0'

# All files are written before the first line, whose reader may need no other. 200 lines fill the buffer of a pipe.
{
    echo path,label
    for label in $(seq 200); do echo "$PWD/$photo,$label"; done
} >many.csv
# shellcheck disable=SC2086
run 0 shiftvit-train $vit $tiny --data list:many.csv --val-fraction 0 --out many
"$programs/shiftvit-eval" --model many --data list:many.csv --split train --per-class --predictions predictions.csv \
    --confusion confusion.csv --accept 1 --out known.safetensors 2>err | true
there predictions.csv confusion.csv known.safetensors

# What the model cannot give is told before its evaluation.
{
    echo path,label
    for label in $(seq 1001); do echo "$PWD/$photo,$label"; done
} >more.csv
# shellcheck disable=SC2086
run 0 shiftvit-train $vit $tiny --set num_classes=1001 --data list:more.csv --val-fraction 0 --out more
run 2 shiftvit-eval --model more --data list:more.csv --split train --confusion more.png
says '1001 classes do not fit a picture'
[ ! -s out ] || fail 'the model was evaluated'
# shellcheck disable=SC2086
run 0 shiftvit-train $vit $tiny --set loss=binary --data procedural:20 --limit-val 10 --limit-test 10 --out labels
# shellcheck disable=SC2086
run 2 shiftvit-eval --model labels $test_on --accept 1 --out known.safetensors
says 'the model predicts no probabilities of classes'
[ ! -s out ] || fail 'the model was evaluated'

# An image that was read, but whose logits are too large for a number, is not one that could not be read.
"$python" - vit/model.safetensors loud.safetensors <<'END'
import array, json, sys
data = bytearray(open(sys.argv[1], "rb").read())
length = int.from_bytes(data[:8], "little")
for name, entry in json.loads(data[8:8 + length]).items():
    if name.startswith("head") or name.startswith("mlp_head.1"):
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        data[begin:end] = array.array("f", [3e38] * ((end - begin) // 4)).tobytes()
open(sys.argv[2], "wb").write(data)
END
run 1 shiftvit-predict --model loud.safetensors "$photo"
says '^shiftvit-predict: not every image could be predicted$'

# Options that would have no effect.
for split in train test val; do
    for other in train test val; do
        [ $split = $other ] || run 2 shiftvit-eval --model vit --data procedural:20 --split $split --limit-$other 5
        [ $split = $other ] || says "^shiftvit-eval: --limit-$other has no effect with --split $split$"
    done
done
run 2 shiftvit-features --model vit --data procedural:20 --limit-val 3 --out limited.safetensors
says '^shiftvit-features: --limit-val has no effect with --split train$'
run 2 shiftvit-eval --model vit --data folder:photos --split all --limit-train 3
run 2 shiftvit-eval --model vit --data folder:photos --split all --val-fraction 0.3
run 2 shiftvit-export --data procedural --size 64 --out sized
run 2 shiftvit-patches --image "$photo" --augment crop --out versions.png
says '^shiftvit-patches: --augment:'
run 2 shiftvit-patches --image "$photo" --augment '[],"channels":1' --out versions.png
mkdir two
cp -r photos/disc photos/square two
run 2 shiftvit-eval --model vit --data folder:two --match order --split all
says '--match order: the data has'
run 2 shiftvit-export --data folder:photos --size 8001 --out large
says "8001. is no whole number from 1 to 8000"
absent large
mkfifo pipe
run 2 shiftvit-train --config pipe
says 'is no regular file'
run 2 shiftvit-train --config vit
says "^shiftvit-train: --config: 'vit' is a folder; a file, such as the run.json of a run, is accepted\$"
if [ -x "$programs/shiftvit-bench" ]; then
    run 2 shiftvit-bench --work data --compute int8
    run 2 shiftvit-bench --work infer --memory stages
    run 2 shiftvit-bench --work limits --batch 3
    run 0 shiftvit-bench --config vit/run.json --work infer --batch 2 --seconds 0 --repeat 1
    prints '"preset": null'
fi

# A run is extended at a rate of its own, however epochs and rate are given.
for given in '--epochs 2 --lr 0.01' '--set epochs=2 --lr 0.01' '--epochs 2 --set learning_rate=0.01'; do
    cp -r vit extended
    # shellcheck disable=SC2086
    run 0 shiftvit-train --resume extended $given --quiet
    tail -n 1 extended/history.csv | cut -d , -f 8 | grep -qx '0\.01' || fail "$given: $(tail -n 1 extended/history.csv)"
    rm -r extended
done

# A folder with the ending of an image is no image; a link to nothing is one that cannot be read.
cp -r fox mixed
mkdir mixed/folder.png
run 0 shiftvit-predict --model vit mixed
run 0 shiftvit-head --model vit --add-class fox --images mixed --out new.safetensors
rm new.safetensors
ln -s nowhere mixed/link.png
run 1 shiftvit-predict --model vit mixed
says 'link.png'
run 1 shiftvit-head --model vit --add-class fox --images mixed --out new.safetensors
says 'link.png'

# A tensor file whose header length begins as ONNX does is no ONNX file, which may be replaced.
printf '\010\001\000\000\000\000\000\000{}' >weights
run 2 shiftvit-convert --to onnx vit weights
says "'weights' is there and is no .onnx file"
[ "$(wc -c <weights)" = 10 ] || fail 'weights were replaced'
run 0 shiftvit-convert --to onnx vit graph.onnx
mv graph.onnx graph
run 0 shiftvit-convert --to onnx vit graph
run 2 shiftvit-convert --to onnx vit new.safetensors
says "'new.safetensors' has the ending of a model file"
absent new.safetensors

# Files whose names no list can have, and drawings of no training.
cp -r fox odd
cp "$photo" "odd/$odd.png"
run 1 shiftvit-head --model vit --add-class fox --images odd --out new.safetensors
says 'a.xFFb.png.: the name is no UTF-8'
mkdir "$odd"
mv odd "$odd/kept"
run 1 shiftvit-head --model vit --add-class fox --images "$odd/kept" --out new.safetensors
says "the folder '.*/a.xFFb/kept': its path is no UTF-8"
sed '2s/^\([^,]*\),[^,]*/\1,1e308/' vit/history.csv >huge.csv
sed '2s/^\([^,]*\),[^,]*/\1,5e-324/' vit/history.csv >small.csv
if [ -x "$programs/shiftvit-curves" ]; then
    timeout 60 "$programs/shiftvit-curves" --out drawn.png huge.csv small.csv vit/history.csv || fail 'curves do not end'
    is_png drawn.png
fi

# Closed standard streams: messages and results do not go into the program's files.
# shellcheck disable=SC2086
"$programs/shiftvit-train" $vit --epochs 1 --batch 8 --json --data procedural:20 --limit-val 10 --limit-test 10 \
    --out closed >&- 2>messages && fail 'results that nobody gets are no failure'
grep -q 'cannot write the results' messages || fail "$(cat messages)"
# shellcheck disable=SC2086
"$programs/shiftvit-train" $vit --epochs 1 --batch 8 --data procedural:20 --limit-val 10 --limit-test 10 --out mute 2>&- \
    >results || fail 'closed messages are a failure'
grep -q '^test: loss' results
[ "$(ls -A mute)" = "$(ls -A vit)" ] || fail "$(ls -A mute)"

# A closed terminal stops a run as Ctrl-C does, and a signal that is ignored stays so.
long="$vit --batch 8 --threads 1 --quiet --epochs 100000 --data procedural:20 --val-fraction 0 --limit-test 10"
# stopped SIGNAL: of a training in the folder `signalled` that has begun; its exit status is $status.
stopped() {
    tries=0
    until [ -s signalled/history.csv ] || [ "$tries" = 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -"$1" "$trained"
    status=0
    wait "$trained" || status=$?
}
# Under nohup SIGHUP is ignored here, too, as SIGINT is in the background, and a shell cannot change that.
heeding='import os, signal, sys
for number in signal.SIGHUP, signal.SIGINT: signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])'
# shellcheck disable=SC2086
"$python" -c "$heeding" "$programs/shiftvit-train" $long --out signalled 2>err &
trained=$!
stopped HUP
[ "$status" = 1 ] || fail "SIGHUP: $status"
program=shiftvit-train
says 'stopped, checkpoint written'
absent signalled/.lock
rm -r signalled
# shellcheck disable=SC2086
(trap '' HUP && exec "$programs/shiftvit-train" $long --out signalled 2>err) &
trained=$!
until [ -s signalled/history.csv ]; do sleep 0.1; done
kill -HUP "$trained"
sleep 1
kill -0 "$trained" || fail 'a signal that was ignored ended the run'
stopped TERM
[ "$status" = 1 ] || fail "SIGTERM: $status"
# A second signal ends the run at once, within its only step, of whatever kinds the two are.
for pair in INT:130 HUP:129; do
    second=${pair%:*}
    rm -rf signalled err
    "$python" -c "$heeding" "$programs/shiftvit-train" --data procedural:8000 --val-fraction 0 --limit-test 10 \
        --batch 8000 --set accumulate=400 --threads 1 --epochs 1 --out signalled 2>err &
    trained=$!
    until grep -qs 'images train' err; do sleep 0.1; done
    sleep 1
    kill -TERM "$trained"
    sleep 0.1
    kill -"$second" "$trained"
    status=0
    wait "$trained" || status=$?
    [ "$status" = "${pair#*:}" ] || fail "SIGTERM and SIG$second: $status"
done

# The scripts take their options in any order, and nothing that they do not know.
for given in '10 --from' '10 a b' '10 --nothing' 11; do
    # shellcheck disable=SC2086
    sh "$root/examples/fetch-cifar.sh" $given >out 2>&1 && fail "fetch-cifar.sh $given"
    grep -q '^usage' out || fail "fetch-cifar.sh $given: $(cat out)"
done
sh "$root/examples/fetch-cifar.sh" 10 into --from none.tar.gz >out 2>&1 && fail 'an archive that is not there'
grep -q 'none.tar.gz' out || fail "$(cat out)"
