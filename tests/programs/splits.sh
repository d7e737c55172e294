#!/bin/sh
# The splits of folders of images: the names of their folders, classes that one lacks, random parts, and
# what is said of a messy folder. Usage: splits.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
needs_decoders
cd "$work"
export XDG_CACHE_HOME="$work"

run 0 shiftvit-export --data procedural:120 --split train --count 120 --out source
for file in source/*; do
    mv "$file" "${file%%-*}.png"
done
# image N: the path of the N-th image.
image() {
    ls source | sed -n "$1s|^|source/|p"
}

# give FOLDER COUNT...: fills FOLDER/a, FOLDER/b and so on with so many images each, all different
# within a class.
give() {
    folder=$1
    shift
    letters='a b c d e f g'
    for count in "$@"; do
        class=${letters%% *}
        letters=${letters#* }
        [ "$count" -gt 0 ] || continue
        mkdir -p "$folder/$class"
        for file in $(ls source | head -n "$count"); do
            cp "source/$file" "$folder/$class/"
        done
    done
}

# export_split SPLIT OPTION...: the sorted classes of a split's images are in $work/classes.
export_split() {
    rm -rf exported
    split=$1
    shift
    run 0 shiftvit-export --split "$split" --count 1000 --out exported "$@"
    ls exported | sed 's/.*-//; s/\.png$//' | sort >classes
}

# has WORDS: the classes of the split's images.
has() {
    [ "$(tr '\n' ' ' <classes)" = "$1 " ] || fail "$split has '$(tr '\n' ' ' <classes)', not '$1 '"
}

# Every name of every split.
cases=0
give set/train 2 1
give set/val 1 2
give set/test 1 1
before='train val test'
for train in train training_set Training; do
    for val in val Valid VALIDATION dev; do
        for test in test Test-Set Testing; do
            # shellcheck disable=SC2086
            set -- $before
            [ "$1" = "$train" ] || mv "set/$1" "set/$train"
            [ "$2" = "$val" ] || mv "set/$2" "set/$val"
            [ "$3" = "$test" ] || mv "set/$3" "set/$test"
            before="$train $val $test"
            export_split train --data folder:set
            has 'a a b'
            export_split val --data folder:set
            has 'a b b'
            export_split test --data folder:set
            has 'a b'
            cases=$((cases + 1))
        done
    done
done
[ $cases = 36 ] || fail "$cases cases"

# Two folders for one split, and none to train.
cp -R set/dev set/Val
run 1 shiftvit-export --data folder:set --out exported
says "'set' has both Val/ and dev/; one is accepted"
rm -r set/Val set/dev
mv set/Training set/other
rm -r set/other
run 1 shiftvit-export --data folder:set --out exported
says "'set' has Testing/ and no train/; a folder with train/, or 'set/Testing' by itself, is accepted"

# A stray image in train/ makes no class of it beside val/; a class may have the name of a split.
rm -rf set
give set/train 2 2
give set/val 1 1
cp "$(image 1)" set/train/stray.png
export_split val --data folder:set
has 'a b'
says "'set/train': 1 left out, such as 'stray.png': an image outside of the subfolders has no class"
mkdir set/val/a/deep
mv set/val/a/*.png set/val/a/deep
export_split val --data folder:set
has 'a b'
mkdir vehicles
cp -R set/train/a vehicles/train
cp -R set/train/b vehicles/plane
export_split train --data folder:vehicles --val-fraction 0
has 'plane plane train train'
says "warning: 'vehicles/train' has images directly in it and is taken as a class, not as a split"
export_split train --data folder:vehicles --val-fraction 0 --quiet
[ ! -s err ] || fail "with --quiet: $(cat err)"

# Splits without folders of classes are no classes. Kaggle's test1/ is the name of no split.
mkdir -p flat/train flat/val flat/test kaggle
cp set/train/a/*.png flat/train
cp set/val/b/*.png flat/val
cp set/val/b/*.png flat/test
cp -R flat/train flat/test kaggle
mv kaggle/test kaggle/test1
run 1 shiftvit-export --data folder:flat --out exported
says "'flat/train' is beside val/ and has images in no folder of a class; train/CLASS, or a list \(list:FILE.csv\)"
rm -r flat/val
run 1 shiftvit-export --data folder:flat --out exported
says "'flat/train' is beside test/ and has images in no folder"
export_split train --data folder:kaggle --val-fraction 0
says "warning: 'kaggle/train' has images directly in it and is taken as a class"

# A folder beside the splits is told of.
mkdir set/unsorted
export_split val --data folder:set
says "warning: 'set': 1 left out, such as 'unsorted': a subfolder beside train/ is no split"

# Every subset of the classes in a split: labels go by name.
rm -rf set
give set/train 1 1 1 1
for subset in 1000 0100 0010 0001 1100 1010 1001 0110 0101 0011 1110 1101 1011 0111 1111; do
    rm -rf set/test
    # shellcheck disable=SC2046
    give set/test $(echo $subset | sed 's/./& /g')
    export_split test --data folder:set
    has "$(ls set/test | tr '\n' ' ' | sed 's/ $//')"
    if [ $subset = 1111 ]; then
        ! grep -q 'has no images of' err || fail "$(cat err)"
    else
        says "test has no images of [123] of the 4 classes, such as '[abcd]'"
    fi
done
give set/test 0 0 0 0 1
run 1 shiftvit-export --data folder:set --out exported
says "test has the class 'e', which train lacks; train has 4 classes"
# So it is with lists.
printf 'path,label\n%s,a\n%s,b\n' "$(image 1)" "$(image 2)" >train.csv
printf 'path,label\n%s,b\n' "$(image 3)" >test.csv
export_split test --data list:train.csv
has b
says "test.csv has no images of 1 of the 2 classes, such as 'a'"
printf 'path,label\n%s,c\n' "$(image 3)" >test.csv
run 1 shiftvit-export --data list:train.csv --out exported
says "test.csv has the class 'c', which train lacks"

# Random parts are drawn by class: each its share to the nearest, at least one image where that leaves
# one to train. The three parts have every image once.
rm -rf set test.csv
give set 1 2 3 5 14 15 40
for fraction in 0.05 0.1 0.25 0.4; do
    : >all
    for split in train val test; do
        export_split $split --data folder:set --val-fraction $fraction --seed 7
        uniq -c classes | awk '{ print $2, $1 }' >$split.counts
        cat classes >>all
    done
    [ "$(sort all | uniq -c | awk '{ printf "%s ", $1 }')" = '1 2 3 5 14 15 40 ' ] || fail "images are lost"
    cmp val.counts test.counts || fail "validation and test differ"
    awk -v f=$fraction 'BEGIN { split("1 2 3 5 14 15 40", n, " ")
        for (i = 1; i <= 7; i++) { share = int(n[i] * f + 0.5); if (share < 1) share = 1
            most = int((n[i] - 1) / 2); if (share > most) share = most
            if (share) print substr("abcdefg", i, 1), share } }' >wanted
    cmp wanted val.counts || fail "with $fraction: $(cat val.counts), not $(cat wanted)"
done
# One in five classes: each has one to validate and one to test.
rm -rf few
give few 5 5 5 5 5
for seed in 1 2 3 4 5 6 7 8; do
    export_split test --data folder:few --val-fraction 0.2 --seed $seed
    has 'a b c d e'
done
# With a folder to test only the part to validate is drawn, also of two images.
rm -rf few
give few/train 2 2 1
give few/test 1 1 1
export_split val --data folder:few
has 'a b'

# Where no class can give any, classes do not count.
rm -rf few
give few 2 2 2 2 2 2
export_split test --data folder:few --val-fraction 0.2
[ "$(wc -l <classes)" = 2 ] || fail "test has $(cat classes)"

# Numbers are drawn without regard to them, as they always were.
{ echo path,number; for file in $(ls source | head -n 20); do echo "source/$file,1"; done; } >numbers.csv
for split in val test train; do
    export_split $split --data list:numbers.csv --val-fraction 0.2 --seed 3
    for file in exported/*; do
        for from in source/*; do
            ! cmp -s "$file" "$from" || { basename "$from" .png; break; }
        done
    done
done | sed 's/^0*\(.\)/\1/' | tr '\n' ' ' >order
[ "$(cat order)" = '5 9 12 11 19 7 1 4 14 0 17 2 18 8 16 6 10 3 15 13 ' ] || fail "the order of the images is $(cat order)"

# What is said first.
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data folder:set --out run
says '^[0-9]+ parameters, 7 classes; 62 images train, 9 validate, 9 test, drawn at random by class; at most'
run 0 shiftvit-eval --model run --data folder:set
prints '^data: folder:set, 9 images, drawn at random by class of 80; --split all takes all$'

# A run knows its data and how they were drawn. (Another seed or fraction would take images of the training.)
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data folder:set --val-fraction 0.25 --seed 7 --out drawn
# drawn OPTION...: the images that validate are in $work/images.
drawn() {
    run 0 shiftvit-eval --split val --predictions drawn.csv "$@"
    cut -d , -f 1 drawn.csv | sed 's|^.*set/||' >images
}
drawn --model drawn/model.safetensors --data folder:set --val-fraction 0.25 --seed 7
[ "$(grep -c png images)" -gt 15 ] || fail "these validate: $(cat images)"
mv images wanted
drawn --model drawn
taken="^as in the run of 'drawn': --data=folder:.*/set --labels=fine --on-bad=fail --val-fraction=0.25 --seed=7\$"
says "$taken"
cmp images wanted || fail 'other images validate than those of the run'
drawn --model drawn --data folder:set
cmp images wanted || fail 'other images of the same data validate than those of the run'
says "^as in the run of 'drawn': --val-fraction=0.25 --seed=7\$"
drawn --model drawn --data folder:set --seed 8
says "^as in the run of 'drawn': --val-fraction=0.25\$"
! cmp -s images wanted || fail '--seed changes nothing'
cp -R set copy
drawn --model drawn --data folder:copy
! grep -q 'as in the run' err || fail 'other data are split as those of the run'
says "^--data is another data set than that of the run of 'drawn', whose seed 7 is not taken\$"
run 0 shiftvit-eval --model drawn --split all
says "^as in the run of 'drawn': --data=folder:.*/set --labels=fine --on-bad=fail\$"
run 0 shiftvit-eval --model drawn --split val --quiet
! grep -q 'as in the run' err || fail '--quiet is not quiet'
drawn --model drawn/model.safetensors
cmp images wanted || fail 'of the model in the folder other images validate than those of the run'
says "$taken"
cp drawn/model.safetensors alone.safetensors
run 2 shiftvit-eval --model alone.safetensors
says '^shiftvit-eval: --data SPEC is needed'
run 0 shiftvit-features --model drawn --split val --out drawn.safetensors
says "$taken"
run 2 shiftvit-features --model alone.safetensors --out none.safetensors
says '^shiftvit-features: --data SPEC is needed'
# What run.json has may have been changed.
rm drawn/checkpoint.safetensors
drawn --model drawn
cmp images wanted || fail 'without the checkpoint other images validate than those of the run'
cp drawn/run.json good.json
# changed FROM TO: run.json with this change.
changed() {
    sed "s|$1|$2|" good.json >drawn/run.json
    ! cmp -s good.json drawn/run.json || fail "nothing is changed: $1"
}
changed '"val-fraction": "0.25"' '"val-fraction": "9"'
run 2 shiftvit-eval --model drawn
says "^shiftvit-eval: run.json: --val-fraction: '9' is no number from 0 to 0.4\$"
changed '"val-fraction": "0.25"' '"val-fraction": 0.25'
run 1 shiftvit-eval --model drawn
says "run.json: the option 'val-fraction' is no text"
changed '"data": "folder' '"data": "\\u001bfolder'
run 2 shiftvit-eval --model drawn
says "^shiftvit-eval: run.json: --data: '.x1Bfolder:.*' is none of procedural"
changed '"data": "folder:.*"' '"data": 5'
run 1 shiftvit-eval --model drawn
says "run.json: the option 'data' is no text"
changed '"data": "folder:.*",' ''
run 2 shiftvit-eval --model drawn
says '^shiftvit-eval: --data SPEC is needed'
changed '"seed": 7' '"seed": 18446744073709551615'
run 1 shiftvit-eval --model drawn
says "'drawn/run.json' has no options of shiftvit-train, .*: too big integer"
# Version 0.1 had the seed among the options.
changed '"seed": 7' '"speed": 1'
sed -i 's|"options": {|"options": { "seed": "7",|' drawn/run.json
drawn --model drawn
cmp images wanted || fail 'the seed of a run of version 0.1 is not taken'
rm drawn/run.json
run 2 shiftvit-eval --model drawn
says '^shiftvit-eval: --data SPEC is needed'
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data procedural:64 --seed 3 --limit-test 10 --out made
run 0 shiftvit-eval --model made
says "^as in the run of 'made': --data=procedural:64 --labels=fine --on-bad=fail --seed=3\$"
prints '^data: procedural:64, 1000 images$'
# shellcheck disable=SC2086
run 0 shiftvit-train $small --data list:numbers.csv --set loss=mse --out numbers
says '^[0-9]+ parameters, 1 classes; 16 images train, 2 validate, 2 test, drawn at random; at most'

# A messy folder.
mkdir -p messy/train/a/2023/May messy/train/b messy/Test/a messy/notes messy/train/empty
cp "$(image 1)" messy/train/a/1.JPG
cp "$(image 2)" messy/train/a/2023/May/2.jfif
cp "$(image 3)" messy/train/b/3.PNG
cp "$(image 4)" messy/train/4.png
cp "$(image 5)" messy/Test/a/5.png
for file in a/5.bmp a/2023/6.gif b/7.tiff; do
    printf x >messy/train/$file
done
printf x >messy/train/a/.DS_Store
printf x >messy/train/a/Thumbs.db
ln -s .. messy/train/a/2023/up
export_split train --data folder:messy --val-fraction 0
has 'a a b'
cat >wanted <<'END'
shiftvit-export: warning: 'messy': 1 left out, such as 'notes': a subfolder beside train/ is no split
shiftvit-export: warning: 'messy/train': 3 left out, such as 'a/5.bmp': the name ends in none of .jpg ...
shiftvit-export: warning: 'messy/train': 1 left out, such as '4.png': an image outside of the subfolders has no class
shiftvit-export: warning: 'messy/train': 1 left out, such as 'empty': a subfolder without files is no class
shiftvit-export: warning: 'messy/train': 1 left out, such as 'a/2023/up': this link leads to a folder that is read already
shiftvit-export: Test has no images of 1 of the 2 classes, such as 'b'
3 images in exported/
END
sed 's/none of \.jpg \.jpeg \.jpe \.jfif \.png.*/none of .jpg .../' err >said
cmp wanted said || fail "of the messy folder it says: $(cat err)"
export_split train --data folder:messy --val-fraction 0 --quiet
[ ! -s err ] || fail "with --quiet: $(cat err)"
rm messy/train/b/3.PNG
run 1 shiftvit-export --data folder:messy --out exported
says "'messy/train/b' has files \(1\) and no image among them; files that end in .jpg"

# The random split of a run is of the images that it had: with one more, images that it trained on would be
# tested. A folder that is only moved has the same split.
give pool 8 8
tiny='--preset shiftvit-cifar10 --set dim=12 --set blocks=[1,1] --set num_div=12 --set input_height=16
    --set input_width=16 --batch 8 --epochs 1 --val-fraction 0.2 --threads 2'
# shellcheck disable=SC2086
run 0 shiftvit-train $tiny --data folder:pool --out chance
run 0 shiftvit-eval --model chance
result=$(tail -n 1 out)
mv pool moved
sed 's|/pool"|/moved"|' chance/run.json >run.json
cp chance/run.json kept.json
mv run.json chance
run 0 shiftvit-eval --model chance
[ "$(tail -n 1 out)" = "$result" ] || fail "the moved folder has another split: $(cat out)"
mv kept.json chance/run.json
mv moved pool
cp pool/a/"$(ls pool/a | head -n 1)" pool/a/more.png
for command in 'eval --model chance' 'features --model chance --split test --out f.safetensors' \
    'train --resume chance --epochs 2'; do
    # shellcheck disable=SC2086
    run 1 shiftvit-$command
    says "the images are not those that the run of 'chance' has split at random: some were added"
done
run 0 shiftvit-eval --model chance --split all
run 1 shiftvit-eval --model chance --seed 0
run 0 shiftvit-eval --model chance --seed 1
rm pool/a/more.png
mv pool/a/"$(ls pool/a | head -n 1)" pool/a/last.png
run 1 shiftvit-eval --model chance
rm -r pool
give pool 8 8
run 0 shiftvit-eval --model chance
[ "$(tail -n 1 out)" = "$result" ] || fail "the images of before have another split: $(cat out)"

# Nor is a part drawn in place of a split of its own that is gone, of images that trained. (A split beside one that
# was drawn changes what is drawn.)
# refused_without FILE DATA DREW WOULD_DRAW: of a run on DATA, the programs refuse to draw in place of FILE.
refused_without() {
    rm -rf chance
    # shellcheck disable=SC2086
    run 0 shiftvit-train $tiny --data "$2" --out chance
    run 0 shiftvit-eval --model chance
    mv "$1" gone
    for command in 'eval --model chance' 'features --model chance --split test --out f.safetensors' \
        'train --resume chance --epochs 2'; do
        # shellcheck disable=SC2086
        run 1 shiftvit-$command
        says "the run of 'chance' has drawn $3 from the images to train, and now $4 would be drawn: a split was"
    done
    mv gone "$1"
    run 0 shiftvit-eval --model chance
}
mkdir own
give own/train 8 8
give own/test 3 3
refused_without own/test folder:own val 'val and test'
give own/val 3 3
refused_without own/test folder:own none test
# Nor by another fraction.
# shellcheck disable=SC2086
run 0 shiftvit-train $tiny --data folder:own/train --val-fraction 0 --overwrite --out chance
run 1 shiftvit-eval --model chance --split val --val-fraction 0.2
says "the run of 'chance' has drawn none .*, or --val-fraction is another, and images that it has trained on"
# shellcheck disable=SC2086
run 0 shiftvit-train $tiny --data folder:own --overwrite --out chance
# A run that did not store it is tested as before. --split all, which is for data without splits, is not advised.
sed -i '/drawn_splits/d' chance/run.json
mv own/test gone
run 0 shiftvit-eval --model chance
prints 'own, [0-9]+ images, drawn at random by class of [0-9]+$'
run 2 shiftvit-eval --model chance --split all
mv gone own/test
for split in train val test; do
    (cd own && echo path,label && for image in "$split"/*/*; do echo "$image,${image#"$split"/}"; done) |
        sed 's|/[^/]*$||' >own/$split.csv
done
refused_without own/test.csv list:own/train.csv none test
for split in train val test; do
    mv own/$split.csv own/$split-one.csv
    run 0 shiftvit-export --data list:own/$split-one.csv --split all --shards own/$split
done
refused_without own/test-000000.tar 'shards:own/train-*.tar' none test

# A split or list that is a link to nothing is not drawn instead, nor is a class left out without a word.
# broken LINK DATA MESSAGE: with that link to nothing the data are refused.
broken() {
    ln -s gone "$1"
    run 1 shiftvit-export --data "$2" --split train --out exported
    says "$3"
    rm "$1"
}
mkdir links
mv own/train links
for split in val TEST testing; do
    broken "links/$split" folder:links "cannot open the folder 'links/$split': it is a symbolic link that"
done
mv own/train-one.csv links/train.csv
mv own/train-000000.tar links
for split in val test; do
    broken "links/$split.csv" list:links/train.csv "cannot open 'links/$split.csv': No such file"
    broken "links/$split-1.tar" 'shards:links/train-*.tar' "cannot open 'links/$split-1.tar': No such file"
done
ln -s gone links/train/cats
export_split train --data folder:links/train --val-fraction 0
says "'links/train': 1 left out, such as 'cats': this link leads nowhere"
echo "splits: passed"
