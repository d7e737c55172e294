#!/bin/sh
# Every command of the tutorials runs verbatim, on files in CIFAR's layout with few images, and prints
# the expected lines.  tutorials.sh FOLDER_OF_THE_PROGRAMS SOURCE_ROOT PYTHON
set -eu
programs=$1 root=$2 python=$3
. "$root/tests/programs/support.sh"
needs_decoders
"$python" "$root/tests/programs/cifar.py" "$work/data"
mkdir -p "$work/build"
ln -s "$programs" "$work/build/examples"
ln -s "$root/examples" "$work/examples"
cd "$work"

# limited COMMAND: the command with options that limit its work to about a second.
limited() {
    case $1 in
    *train_minimal*) echo "$1 data/cifar-10-batches-bin" ;; # minimal.sh runs it as it is
    *shiftvit-train*--resume*) echo "$1" ;;
    *shiftvit-train*--init-from*) echo "$1 --epochs 1 --limit-train 24 --limit-val 12 --limit-test 12" ;;
    *shiftvit-train*slvit* | *shiftvit-train*vit-cifar100*)
        echo "$1 --epochs 1 --limit-train 24 --limit-val 12 --limit-test 12 --set depth=1 --set head_units=[16]" ;;
    *shiftvit-train*)
        echo "$1 --epochs 1 --limit-train 24 --limit-val 12 --limit-test 12 --set dim=24 --set blocks=[1,1]" ;;
    *shiftvit-bench*) echo "$1 --seconds 0 --repeat 1" ;;
    *) echo "$1" ;;
    esac
}

check_train() {
    out=$(option out "$1")
    lasts "^test: $result\$"
    if [ -n "$out" ]; then
        there "$out/model.safetensors" "$out/checkpoint.safetensors" "$out/history.csv" "$out/run.json"
        is_png "$out/curves.png"
        [ "$(wc -l <"$out/history.csv")" = 2 ] || fail "$out/history.csv is not of one epoch"
    fi
}

check_predict() {
    prints "^ +$percent  [a-z]"
    for name in grid attention; do
        image=$(option $name "$1")
        [ -z "$image" ] || is_png "$image"
    done
}

check() {
    case $1 in
    *train_minimal*) lasts '^epoch 5: loss [0-9.]+$' ;;
    *predict_minimal*) prints "^ *$percent  class [0-9]  [a-z]" ;;
    *shiftvit-train*) check_train "$1" ;;
    *shiftvit-eval*--per-class*)
        prints "^test: $result\$"
        lasts '^mean accuracy of the classes: '
        is_png "$(option confusion "$1")"
        ;;
    *shiftvit-eval*) lasts "^test: $result\$" ;;
    *shiftvit-predict*) check_predict "$1" ;;
    *shiftvit-curves*)
        prints '^2 runs: '
        is_png "$(option out "$1")"
        ;;
    *shiftvit-patches*)
        prints '^144 patches of [0-9]+ values: '
        is_png "$(option out "$1")"
        ;;
    *shiftvit-export*--by-class*)
        for file in "$(option out "$1")"/*/*.png; do
            is_png "$file"
        done
        ;;
    *shiftvit-export*)
        for file in "$(option out "$1")"/*.png; do
            is_png "$file"
        done
        ;;
    *shiftvit-info*) prints '^parameters: [1-9][0-9]*$' ;;
    *shiftvit-bench*) prints '"images_per_second": *[1-9]' ;;
    *) fail "no check for: $1" ;;
    esac
}

count=0
for page in tutorial-shiftvit tutorial-slvit; do
    commands "$root/docs/$page.md" >"$work/commands"
    while read -r line; do
        program=$line
        sh -c "$(limited "$line")" >"$work/out" 2>"$work/err" </dev/null ||
            fail "$page: $line: $(cat "$work/out" "$work/err")"
        check "$line"
        count=$((count + 1))
    done <"$work/commands"
done
[ "$count" -ge 24 ] || fail "only $count commands were found in the tutorials"
echo "$count commands"
