#!/bin/sh
# The commands of the pages that no tutorial or guide has: README.md and the pages on training, ONNX, speed, building
# and embedding run as they are printed, on few images. Those of the pages on reproduction and results, which take
# hours, are parsed with --help behind them, so that each option exists and takes its value.
# pages.sh FOLDER_OF_THE_PROGRAMS SOURCE_ROOT PYTHON CC LIBRARY
set -eu
programs=$1 root=$2 python=$3 cc=$4 library=$5
. "$root/tests/programs/support.sh"
"$python" "$root/tests/programs/cifar.py" "$work/data"
mkdir "$work/build"
ln -s "$programs" "$work/build/examples"
ln -s "$root/examples" "$work/examples"
cd "$work"

# What a reader has: photographs in a subfolder for each class, one more, scans, the files of CIFAR as fetch-cifar.sh
# lays them out, the settings that the page on training shows, and a list of images.
run 0 shiftvit-export --data procedural:200 --split train --count 200 --by-class --out photos
cp "$(ls photos/disc/*.png | head -n 1)" photo.jpg
cp photo.jpg scan.png
ln -s photos scans
awk '/^```json/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/docs/training.md" | head -n 1 >settings.json
run 0 shiftvit-export --data cifar10:data/cifar-10-batches-bin --split test --count 12 --out listed
{
    echo path,label
    for file in listed/*.png; do
        label=${file#*-}
        echo "$file,${label%.png}"
    done
} >test.csv

limits='--limit-train 24 --limit-val 12 --limit-test 12'

# limited COMMAND: the command with options that limit its work to about a second, where a page's own are for hours.
limited() {
    case $1 in
    *shiftvit-train*" vit-cifar100"* | *shiftvit-train*" slvit-cifar100"*)
        echo "$1 $limits --set epochs=1 --set depth=1 --set head_units=[16]"
        ;;
    *shiftvit-train*vit-mae-* | *shiftvit-train*vit-paper-*) echo "$1 $limits --epochs 1 --set depth=1" ;;
    *shiftvit-train*photos*) echo "$1 $limits --epochs 2" ;;
    *shiftvit-train*shards:*) echo "$1 --epochs 2" ;;
    *shiftvit-train*settings.json*) echo "$1 $limits --epochs 1 --set dim=24 --set blocks=[1,1]" ;;
    *shiftvit-train*) echo "$1 $limits --epochs 1 --set dim=24 --set blocks=[1,1]" ;;
    *shiftvit-bench*) echo "$1 --seconds 0 --repeat 1 --batch 2" ;;
    *) echo "$1" ;;
    esac
}

check() {
    case $1 in
    *shiftvit-train*vit-mae-*) lasts '^test: none$' ;;
    *shiftvit-train*) lasts "^test: $result\$" ;;
    *shiftvit-predict*) prints "^ +$percent  [a-z ]+\$" ;;
    *shiftvit-eval*--per-class*)
        is_png confusion.png
        there predictions.csv
        ;;
    *shiftvit-eval*) lasts "^[a-z.]+: $result\$" ;;
    *shiftvit-convert*) prints '^[0-9]+ parameters in [0-9]+ bytes: [a-z.]+$' ;;
    *shiftvit-export*--shards*) there shards/train-000000.tar shards/classes.txt ;;
    *shiftvit-bench*) prints '"(images_per_second|latency_ms)": *[0-9]' ;;
    *shiftvit-info*--build*) prints '^gemm +[a-z]' ;;
    *) fail "no check for: $1" ;;
    esac
}

# run_page FILE COUNT: runs the commands of a page, which are COUNT or more.
run_page() {
    commands "$1" >"$work/commands"
    [ "$(wc -l <"$work/commands")" -ge "$2" ] || fail "only $(wc -l <"$work/commands") commands were found in $1"
    while read -r line; do
        program=$line
        sh -c "$(limited "$line")" >"$work/out" 2>"$work/err" </dev/null ||
            fail "$1: $line: $(cat "$work/out" "$work/err")"
        check "$line"
    done <"$work/commands"
}

run_page "$root/README.md" 4
# It evaluates the run of README.md.
run_page "$root/docs/training.md" 10
# The other pages take a model in the folder `run`.
cp run/narrow/* run
run_page "$root/docs/onnx.md" 1
run_page "$root/docs/performance.md" 3
run_page "$root/docs/building.md" 1

# The program of the page on embedding: it names a class, refuses a file, and has no memory left at the end.
sed -n '/<!-- program: embedding -->/,/<!-- program: end -->/p' "$root/docs/embedding.md" |
    sed '/^```/d; /^<!--/d' >host.c
# The words of the compiler's command are meant to be split.
# shellcheck disable=SC2086
$cc -std=c11 -Wall -Wextra -Werror -I"$root/include" host.c -o host "$library" -Wl,-rpath,"$(dirname "$library")"
program=host
./host 256 examples/models/cifar10.safetensors photo.jpg >out 2>err || fail "host: $(cat err)"
prints '^photo.jpg: [a-z]+ [0-9.]+ %$'
says '^0 bytes are left$'
! ./host 1 examples/models/cifar10.safetensors photo.jpg >out 2>err || fail 'host: 1 MiB is enough'
says '^SVIT_E_MEMORY: '
says '^0 bytes are left$'
! ./host 256 examples/models/cifar10.safetensors settings.json photo.jpg >out 2>err || fail 'host: JSON is an image'
says '^SVIT_E_FORMAT: .*settings.json'
prints '^photo.jpg: '

# Settings that stand alone, for any training.
for page in fine-tuning training; do
    awk '/^    --set/ { line = substr($0, 5); open = 1 }
         open && !/^    --set/ { line = line substr($0, 5) }
         open && line ~ /\\$/ { sub(/\\$/, "", line); next }
         open { print line; open = 0 }' "$root/docs/$page.md"
done >"$work/commands"
[ "$(wc -l <"$work/commands")" = 5 ] || fail "$(wc -l <"$work/commands") settings, not 5, stand alone"
while read -r line; do
    program=$line size='--set dim=24'
    case $line in *output_height=224*) size="$size --set input_height=224 --set input_width=224 --set patch_size=16" ;; esac
    sh -c "build/examples/shiftvit-train --data folder:photos --preset shiftvit-cifar10-fast $line $size \
        --epochs 1 --batch 8 --limit-train 8 --limit-val 4 --limit-test 4 --overwrite" \
        >"$work/out" 2>"$work/err" </dev/null || fail "$line: $(cat "$work/err")"
    check shiftvit-train
done <"$work/commands"

# Reproduction and results: the commands, also those of loops, with the first value of each variable.
parse_page() {
    sed 's/^ *build/    build/' "$root/docs/$1" >whole.md
    commands whole.md >"$work/commands"
    [ "$(wc -l <"$work/commands")" -ge "$2" ] || fail "only $(wc -l <"$work/commands") commands were found in $1"
    while read -r line; do
        model=vit sh -c "$line --help" >"$work/out" 2>"$work/err" </dev/null || fail "$1: $line: $(cat "$work/err")"
        grep -q '^Usage: ' "$work/out" || fail "$1: $line: no help"
    done <"$work/commands"
}
parse_page reproduction.md 13
parse_page results/README.md 6
echo 'the commands of the pages work'
