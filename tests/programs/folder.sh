#!/bin/sh
# folder.sh EXAMPLES: folders of images through the programs: the source size follows the model's
# input, splits have separate folders, and unreadable images are named before any other work.
# shellcheck disable=SC2086 # Words of options are meant to be split.
set -eu
bin=$1
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
export XDG_CACHE_HOME="$work"

if ! "$bin/shiftvit-info" --build | grep -Eqx 'decoders *jpeg png( webp)?'; then
    echo 'skipped: this build has no JPEG or no PNG'
    exit 77
fi

fail() {
    echo "folder.sh: $1" >&2
    [ ! -f "$work/said" ] || tail -n 20 "$work/said" >&2
    exit 1
}

# says WORDS: the last program printed them.
says() {
    grep -q -- "$1" "$work/said" || fail "'$1' is not in what the program said"
}

# refuses STATUS WORDS COMMAND...
refuses() {
    wanted=$1
    words=$2
    shift 2
    status=0
    timeout 100 "$@" >"$work/said" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || fail "$*: status $status, not $wanted"
    says "$words"
}

# works COMMAND...
works() {
    timeout 200 "$@" >"$work/said" 2>&1 || fail "$*: failed"
}

data=$work/data
small='--threads 2 --set dim=12 --set blocks=[1,1] --batch 20'
for split in train val test; do
    works "$bin/shiftvit-export" --data procedural:100 --split $split --count 100 --by-class --out "$work/small/$split"
    works "$bin/shiftvit-export" --data "folder:$work/small/$split" --val-fraction 0 --split train \
        --count 90 --size 200 --by-class --out "$data/$split"
done

# Splits have separate folders, and the source size is that of the resize.
works "$bin/shiftvit-train" $small --data "folder:$data" --epochs 1 --out "$work/run"
says '90 [a-z]* train, 90 validate, 90 test'
line=$(grep '^test: ' "$work/said")
works "$bin/shiftvit-info" --model "$work/run/model.safetensors"
says 'source_height  *52'
says 'source_filter  *"shorter-side"'
works "$bin/shiftvit-eval" --model "$work/run/model.safetensors" --data "folder:$data"
says "$line"
works "$bin/shiftvit-predict" --model "$work/run/model.safetensors" "$data"/test/*
mv "$data/val" "$data/validation"
works "$bin/shiftvit-train" $small --data "folder:$data" --epochs 1 --out "$work/run2"
says '90 [a-z]* train, 90 validate, 90 test'
cp -R "$data/validation" "$data/valid"
refuses 1 'both valid/ and validation/' "$bin/shiftvit-train" $small --data "folder:$data" --epochs 1 --out "$work/none"
rm -r "$data/valid"
mv "$data/validation" "$data/val"

# A path alone is met with the form that it needs.
refuses 2 "folder:$data is the data of such a folder" "$bin/shiftvit-train" $small --data "$data" --out "$work/none"
refuses 2 "list:$work/said is the data of such a list" "$bin/shiftvit-train" $small --data "$work/said" --out "$work/none"

# Only train/: the other two parts are taken from it. A class called "train" is not a split.
mv "$data/val" "$data/test" "$work"
works "$bin/shiftvit-train" $small --data "folder:$data" --epochs 1 --out "$work/run3"
says '70 [a-z]* train, 10 validate, 10 test, drawn at random by class'
mv "$work/val" "$work/test" "$data"
mkdir "$work/vehicles"
cp -R "$data/train/disc" "$work/vehicles/train"
cp -R "$data/train/ring" "$work/vehicles/plane"
works "$bin/shiftvit-export" --data "folder:$work/vehicles" --val-fraction 0.4 --out "$work/exported"
(cd "$work" && find vehicles -name '*.png' | sort | sed '1d;$d' | xargs rm)
refuses 1 '2 images are too few to split; more images, or --val-fraction 0 ' \
    "$bin/shiftvit-export" --data "folder:$work/vehicles" --val-fraction 0.4 --out "$work/exported"
# The fraction that is named works. Classes that then train on nothing are named as well.
first=$(find "$work/vehicles/plane" "$work/vehicles/train" -name '*.png' | sed -n 1p)
mkdir -p "$work/few/a" "$work/few/b"
cp "$first" "$work/few/a/1.png"
cp "$first" "$work/few/a/2.png"
cp "$first" "$work/few/b/1.png"
refuses 1 '3 images are too few to split; --val-fraction 0.34, or --val-fraction 0 to train on all of them' \
    "$bin/shiftvit-train" $small --data "folder:$work/few" --val-fraction 0.3 --epochs 1 --out "$work/few-run"
works "$bin/shiftvit-train" $small --data "folder:$work/few" --val-fraction 0.34 --epochs 1 --out "$work/few-run"
says "warning: no image of 1 of the 2 classes trains, such as '[ab]'"
for count in 4 5 6 7 8 9; do
    mkdir -p "$work/few/$count"
    cp "$first" "$work/few/$count/1.png"
    refuses 1 "$count images are too few to split; --val-fraction 0\.[12]" "$bin/shiftvit-export" --split train \
        --data "folder:$work/few" --val-fraction 0.05 --out "$work/exported-$count"
    fraction=$(sed -n 's/.* --val-fraction \(0\.[0-9]*\), or.*/\1/p' "$work/said")
    works "$bin/shiftvit-export" --split test --data "folder:$work/few" --val-fraction "$fraction" \
        --out "$work/exported-$count"
done

# A class that train lacks is named.
mkdir "$data/val/zebra"
cp "$data/val/disc/"*.png "$data/val/zebra"
refuses 1 "val has the class 'zebra', which train lacks; train has 10 classes" \
    "$bin/shiftvit-eval" --split val --model "$work/run/model.safetensors" --data "folder:$data"
rm -r "$data/val/zebra"

# Every bad image is named, with control characters escaped, before anything is written.
escape=$(printf '\033')
printf x >"$data/train/disc/bad${escape}[31m.png"
printf x >"$data/test/ring/worse.jpg"
mkfifo "$data/val/ring/fifo.jpg"
for program in train eval; do
    case $program in
    train) set -- $small --epochs 1 --out "$work/none" ;;
    eval) set -- --split test --model "$work/run/model.safetensors" ;;
    esac
    refuses 1 '/test/ring/worse.jpg' "$bin/shiftvit-$program" "$@" --data "folder:$data"
    says 'cannot be read; --on-bad skip goes on'
done
refuses 1 '3 of 273 images cannot be read' "$bin/shiftvit-train" $small --data "folder:$data" --epochs 1 --out "$work/none"
says '/train/disc/bad\\x1B\[31m.png'
says "/val/ring/fifo.jpg' is a FIFO; a regular file is needed"
[ ! -e "$work/none" ] || fail "$work/none was made"
refuses 2 "'maybe' is none of fail, skip" "$bin/shiftvit-train" $small --on-bad maybe
works "$bin/shiftvit-train" $small --data "folder:$data" --on-bad skip --epochs 1 --out "$work/run4"
says '90 [a-z]* train, 90 validate, 90 test'
says '3 of 273 images cannot be read and are left out'
mkdir -p "$work/lost/a" "$work/lost/b"
cp "$data"/train/ring/*.png "$work/lost/a"
printf x >"$work/lost/b/1.png"
printf x >"$work/lost/b/2.png"
works "$bin/shiftvit-export" --data "folder:$work/lost" --split all --on-bad skip --count 3 --out "$work/found"
says "no image of 1 of the 2 classes of all can be read, such as 'b'"
refuses 1 '2 of 11 images cannot be read' "$bin/shiftvit-export" --data "folder:$work/lost" --split all --count 0 --out "$work/none"
works "$bin/shiftvit-export" --data "folder:$work/lost" --split all --count 2 --out "$work/two"
refuses 1 '2 of 11 images cannot be read' "$bin/shiftvit-export" --data "folder:$work/lost" --split all --on-bad fail \
    --shards "$work/none/x"
[ ! -e "$work/none" ] || fail "$work/none was made"

# A run on such a folder still ends at SIGTERM, and goes on without the bad images.
"$bin/shiftvit-train" $small --data "folder:$data" --on-bad skip --epochs 100000 --out "$work/run5" >"$work/said" 2>&1 &
pid=$!
tries=0
until [ -s "$work/run5/history.csv" ] && [ "$(wc -l <"$work/run5/history.csv")" -gt 2 ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "no epoch ended"
    sleep 0.1
done
kill -TERM "$pid"
tries=0
while kill -0 "$pid" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "SIGTERM was lost"
    sleep 0.1
done
status=0
wait "$pid" || status=$?
pid=
[ "$status" -eq 1 ] || fail "after SIGTERM: status $status, not 1"
says 'stopped, checkpoint written'
grep -q '"on-bad": "skip"' "$work/run5/run.json" || fail "run.json does not say --on-bad"
echo "folders: passed"
