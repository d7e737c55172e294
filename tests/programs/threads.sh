#!/bin/sh
# --threads and --pin: a run on 128 threads, pinned or not, has the bits of a run on one; 1024 threads are
# accepted and 1025 refused; every program has --pin.
# Usage: threads.sh FOLDER_OF_THE_PROGRAMS
set -eu
programs=$1
. "$(dirname "$0")/support.sh"
cd "$work"
train='--data procedural:64 --set dim=24 --set blocks=[1,1] --epochs 1 --batch 32 --limit-val 20 --limit-test 20
    --seed 3 --quiet'

# Options are meant to be split.
# shellcheck disable=SC2086
for options in '--threads 1 --out one' '--threads 128 --out many' '--threads 128 --pin --out pinned'; do
    run 0 shiftvit-train $train $options
done
for folder in many pinned; do
    cmp one/model.safetensors "$folder/model.safetensors" ||
        fail "the run '$folder' has other weights than with one thread"
done
run 0 shiftvit-train --resume many --epochs 2 --threads 65 --pin --quiet
run 0 shiftvit-train --resume one --epochs 2 --quiet
cmp one/model.safetensors many/model.safetensors || fail 'a run resumed on 65 threads has other weights'

run 0 shiftvit-info --build --json --threads 1024
prints '"threads": *1024, *"pinned": *0[,}]'
run 0 shiftvit-info --build --json --threads 5 --pin
if [ -s err ]; then
    says '[0-9]+ of 4 workers could not be pinned to a CPU: '
    echo "skipped check: $(cat err)"
else
    prints '"threads": *5, *"pinned": *4[,}]'
fi
run 2 shiftvit-info --build --threads 1025
says "'1025' is no whole number from 0 to 1024"
for program in "$programs"/shiftvit-*; do
    case $program in
    *.p) ;;
    *) "$program" --help | grep -q -e '--pin' || fail "$program has no --pin" ;;
    esac
done
