#!/bin/sh
# Every program that writes refuses a symbolic link that leads nowhere, file or folder, with the same
# words, and leaves it as it is; it follows a link to what exists. Usage: out_links.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
needs_decoders
cd "$work"
export XDG_CACHE_HOME="$work"
refused='it is a symbolic link to .*; no link, or a link to what exists, is accepted'

# shellcheck disable=SC2086
run 0 shiftvit-train $small --data procedural:20 --out run
run 0 shiftvit-features --model run --data procedural:20 --out features.safetensors

# refuses LINK PROGRAM OPTION...: it is given the link, or a path below it.
refuses() {
    link=$1
    shift
    ln -s gone "$link"
    run 1 "$@"
    says "$refused"
    [ "$(readlink "$link")" = gone ] || fail "the link has changed"
    absent gone
    rm "$link"
}
# shellcheck disable=SC2086
refuses link shiftvit-train $small --data procedural:20 --out link
# shellcheck disable=SC2086
refuses link shiftvit-train $small --data procedural:20 --out link/inner/run
refuses link shiftvit-export --count 2 --out link
refuses link shiftvit-export --count 2 --out link/inner
refuses link.safetensors shiftvit-features --model run --data procedural:20 --out link.safetensors
refuses link.safetensors shiftvit-convert run link.safetensors
refuses link.onnx shiftvit-convert --to onnx run link.onnx
refuses link.safetensors shiftvit-eval --model run --data procedural:20 --limit-test 5 --accept 1 --out link.safetensors
refuses link.safetensors shiftvit-head --fit features.safetensors --model run --out link.safetensors
for file in predictions.csv confusion.csv confusion.png; do
    refuses $file shiftvit-eval --model run --data procedural:20 --limit-test 5 --${file%.*} $file
done

# A link to a folder or file is followed.
mkdir folder
: >file.safetensors
ln -s folder folder-link
ln -s file.safetensors file-link.safetensors
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data procedural:20 --out folder-link
there folder/model.safetensors
run 0 shiftvit-export --count 2 --out folder-link/images
there folder/images
run 0 shiftvit-convert run file-link.safetensors
[ -s file.safetensors ] && [ -L file-link.safetensors ] || fail "the link was not followed"

# A list and a shard that are links: what belongs to them is beside the links, also when a run is resumed.
mkdir store linked linked/sets
run 0 shiftvit-export --data procedural:40 --split train --count 40 --out linked/images
for split in train val; do
    {
        echo path,label
        (cd linked && ls images) | sed 's/\(.*-\)\(.*\)\.png$/images\/\1\2.png,\2/'
    } >store/$split-blob
    ln -s "../store/$split-blob" linked/$split.csv
    run 0 shiftvit-export --data procedural:40 --split $split --count 20 --shards linked/sets/$split
    mv linked/sets/$split-000000.tar store/$split-tar
    ln -s "../../store/$split-tar" linked/sets/$split.tar
done
for data in list:linked/train.csv shards:linked/sets/train.tar; do
    # shellcheck disable=SC2086
    run 0 shiftvit-train $small --data "$data" --out "${data%%:*}"
    grep -q "\"data\": \"${data%%:*}:.*/${data#*:}\"" "${data%%:*}/run.json" || fail "run.json: $(cat "${data%%:*}/run.json")"
    run 0 shiftvit-train --resume "${data%%:*}" --epochs 2
done
# No file of others is touched, and none is left behind.
echo mine >out.safetensors.part
mkdir other.safetensors.part
run 0 shiftvit-convert run out.safetensors
run 0 shiftvit-convert run other.safetensors
[ "$(cat out.safetensors.part)" = mine ] || fail "a file of the user is gone"
[ -z "$(find . -name '.shiftvit-*')" ] || fail "there are $(find . -name '.shiftvit-*')"
echo "links: passed"
