#!/bin/sh
# Labels go by the names of the classes: shiftvit-eval and shiftvit-head on data that lack classes of the
# model or have them in another order; and --split all. Usage: classes.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
needs_decoders
cd "$work"

run 0 shiftvit-export --data procedural:60 --split train --count 60 --by-class --out images
for class in a:checkerboard:2 b:cross:3 c:disc:4 d:ring:5; do
    name=${class%%:*} from=${class#*:}
    mkdir -p whole/$name
    for file in $(ls "images/${from%:*}" | head -n "${from#*:}"); do
        mv "images/${from%:*}/$file" "whole/$name/$name$file"
    done
done
images=$(find whole -name '*.png' | wc -l)
[ "$images" = 14 ] || fail "there are $images images"
run 0 shiftvit-train --set dim=24 --set 'blocks=[1,1]' --batch 8 --epochs 3 --threads 2 --quiet \
    --data folder:whole --val-fraction 0 --out run

# predict SPEC OPTION...: the lines FILE,LABEL,PREDICTED,PROBABILITY of all images are in $work/lines.
predict() {
    spec=$1
    shift
    run 0 shiftvit-eval --model run/model.safetensors --split all --predictions lines.csv --threads 2 --data "$spec" "$@"
    sed '1d; s|^.*/||' lines.csv >lines
}

# All images, in order.
predict folder:whole
cp lines wanted
sed 's/,.*//' wanted >names
find whole -name '*.png' | sed 's|^.*/||' | sort | cmp - names || fail "the images are $(cat names)"
awk -F, 'substr($1, 1, 1) != $2 { bad = 1 } END { exit bad || NR != 14 }' wanted || fail "the labels are $(cat wanted)"
prints '^data: folder:whole, 14 images$'
prints "^all: $result\$"
! grep -q . err || fail "it says $(cat err)"

# Of every subset of the classes each image has the same label and prediction, from a folder, a list whose
# order is the reverse, and shards; and so have its features.
run 0 shiftvit-features --model run/model.safetensors --data folder:whole --split all --out whole.safetensors
for subset in a b c d 'a b' 'a c' 'a d' 'b c' 'b d' 'c d' 'a b c' 'a b d' 'a c d' 'b c d'; do
    rm -rf part
    mkdir part
    for class in $subset; do
        cp -R whole/$class part
    done
    grep "^[$(echo "$subset" | tr -d ' ')]" wanted >some
    predict folder:part
    cmp lines some || fail "folder of $subset: $(cat lines), not $(cat some)"
    says 'the data has no images of [123] of the 4 classes, such as '"'[abcd]'"
    grep '^all: ' out >folder.out
    { echo path,label; find part -name '*.png' | sort -r | sed 's|^\(part/\(.\)/.*\)|\1,\2|'; } >part.csv
    predict list:part.csv
    sort lines | cmp - some || fail "list of $subset: $(cat lines), not $(cat some)"
    run 0 shiftvit-features --model run/model.safetensors --data folder:part --split all --out part.safetensors
    run 0 shiftvit-head --model run/model.safetensors --evaluate part.safetensors
    says 'part.safetensors has no images of [123] of the 4 classes, such as '"'[abcd]'"
    sed 's/^features: /all: /' out | cmp - folder.out || fail "features of $subset: $(cat out), not $(cat folder.out)"
    run 0 shiftvit-head --neighbours part.safetensors --reference whole.safetensors --k 1
    prints '^neighbours: k 1 top-1 100.00 %'
done

# With --quiet nothing is said; a class that the model lacks is named.
predict folder:part --quiet
! grep -q . err || fail "with --quiet it says $(cat err)"
mv part/d part/e
run 1 shiftvit-eval --model run/model.safetensors --split all --data folder:part
says "the data has the class 'e', which the model lacks; the model has 4 classes.*; --match order goes by place"
run 0 shiftvit-features --model run/model.safetensors --data folder:part --split all --out part.safetensors
run 1 shiftvit-head --model run/model.safetensors --evaluate part.safetensors
says "part.safetensors has the class 'e', which the model lacks"
run 1 shiftvit-head --neighbours part.safetensors --reference whole.safetensors
says "part.safetensors has the class 'e', which the reference lacks"

# A class that was added comes first among the folders and last in the model.
run 0 shiftvit-head --model run/model.safetensors --add-class Aa --images whole/a --out more.safetensors
rm -rf part
mkdir part
cp -R whole/b whole/d part
cp -R whole/a part/Aa
run 0 shiftvit-eval --model more.safetensors --split all --data folder:part --predictions lines.csv
grep '^all: ' out >all.out
sed 1d lines.csv | awk -F'[/,]' '{ print $2, $4 }' | sort | uniq -c >labels
printf '      2 Aa Aa\n      3 b b\n      5 d d\n' | cmp - labels || fail "the labels are $(cat labels)"
run 0 shiftvit-features --model more.safetensors --data folder:part --split all --out part.safetensors
run 0 shiftvit-head --model more.safetensors --evaluate part.safetensors
sed 's/^features: /all: /' out | cmp - all.out || fail "features: $(cat out), not $(cat all.out)"

# By the order of the classes names do not count, but all must be there.
mkdir renamed
for class in a:w b:x c:y d:z; do
    cp -R whole/${class%:*} renamed/${class#*:}
done
predict folder:renamed --match order
tr wxyz abcd <lines | cut -d, -f1-3 >order
cut -d, -f1-3 wanted | cmp - order || fail "by order: $(cat order)"
prints "^all: $result\$"
rm -r renamed/z
run 2 shiftvit-eval --model run/model.safetensors --split all --data folder:renamed --match order
says 'the data has 3 classes and the model 4'
run 2 shiftvit-eval --model run/model.safetensors --data folder:renamed --match order --accept 1 --out none.safetensors
says '--match order and --out exclude each other'
run 2 shiftvit-eval --model run/model.safetensors --data folder:renamed --match size
says "'size' is none of name, order"

# Of a model that has a class name twice only the images of that name cannot be matched.
sed 's/\[\\"a\\",\\"b\\",\\"c\\",\\"d\\"\]/[\\"a\\",\\"b\\",\\"c\\",\\"b\\"]/' run/model.safetensors >twice.safetensors
rm -rf part
mkdir part
cp -R whole/a whole/c part
predict folder:part
grep '^all: ' out >once.out
run 0 shiftvit-eval --model twice.safetensors --split all --data folder:part --threads 2
grep '^all: ' out | cmp - once.out || fail "with a name twice: $(cat out), not $(cat once.out)"
cp -R whole/b part
run 1 shiftvit-eval --model twice.safetensors --split all --data folder:part
says "classes 1 and 3 of the names are 'b', a class of the dataset; .*; --match order goes by place, for as many classes"
run 0 shiftvit-eval --model twice.safetensors --split all --data folder:whole --match order

# The names of many classes are matched in another order in no time that grows with their square.
image=$(find whole -name '*.png' | head -n 1)
awk -v image="$image" 'BEGIN { print "path,label"; for (i = 0; i < 80000; i++) printf "%s,c%05d\n", image, i }' >many.csv
run 0 shiftvit-train --set dim=24 --set 'blocks=[1]' --set num_div=12 --set input_height=8 --set input_width=8 --batch 8 \
    --epochs 1 --threads 1 --quiet --data list:many.csv --val-fraction 0 --limit-train 8 --out many
run 0 shiftvit-export --data procedural:60 --split train --count 10 --shards reversed/x
awk 'BEGIN { for (i = 79999; i >= 0; i--) printf "c%05d\n", i }' >reversed/classes.txt
(
    ulimit -t 3
    run 0 shiftvit-eval --model many/model.safetensors --split all --data 'shards:reversed/*.tar' --threads 1
)
prints '^data: shards:reversed/\*\.tar, 10 images$'

# Data that have splits are not all in one.
mkdir -p set
cp -R whole set/train
cp -R whole set/test
run 2 shiftvit-eval --model run/model.safetensors --split all --data folder:set
says '--split all: the data has splits of its own; train, val or test, or --data with one of them, is accepted'
run 2 shiftvit-eval --model run/model.safetensors --split all --data procedural:40
says "--split all is for folder:DIR, list:FILE.csv and shards:PATTERN; of 'procedural:40' train"
run 0 shiftvit-export --split all --data folder:whole --shards shards/whole
predict 'shards:shards/*.tar'
[ "$(wc -l <lines)" = 14 ] || fail "the shards have $(cat lines)"
cut -d, -f2-4 wanted | sort >a
cut -d, -f2-4 lines | sort | cmp - a || fail "the shards have $(cat lines)"

# A model that ends before its classifier has no classes to be right about.
run 0 shiftvit-convert --truncate layers.1.blocks.0 run/model.safetensors short.safetensors
run 0 shiftvit-eval --model short.safetensors --split all --data folder:whole
says 'the model has no classifier; its 48 features are taken for the scores of classes'
run 0 shiftvit-predict --model short.safetensors "$(find whole -name '*.png' | head -n 1)"
says 'the model has no classifier; its 48 features are taken for classes'
run 0 shiftvit-features --model run --data folder:whole --split all --out features.safetensors
run 2 shiftvit-head --model short.safetensors --evaluate features.safetensors
says '^shiftvit-head: the model has no classifier; shiftvit-train --init-from gives it one$'
run 0 shiftvit-predict --model run "$(find whole -name '*.png' | head -n 1)"
[ "$(cat err)" = "the model is run/model.safetensors" ] || fail "shiftvit-predict: $(cat err)"
echo 'classes: passed'
