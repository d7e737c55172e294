#!/bin/sh
# Trains over MPI and compares with one process alone: the same weights and history for any number of processes,
# after a process was killed, and after a stop; and what one process finds wrong ends the job with one message.
# jobs.sh openmpi|mpich TRAIN LIBRARY_FOLDER WORK_FOLDER FAILING_SETTINGS
set -u
flavour=$1
train=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$4
export LD_LIBRARY_PATH="$3${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# More processes than cores, and as whom a container runs.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Containers often forbid what Open MPI reads the memory of other processes with.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
mpirun=$(command -v "mpirun.$flavour" || command -v mpirun) || exit 77
rm -rf "$work"
mkdir -p "$work"
# LD_PRELOAD is split at spaces, which the folders of the build may have.
ln -s "$(cd "$(dirname "$5")" && pwd)/$(basename "$5")" "$work/failing_settings.so"
cd "$work" || exit 1
failed=0

complain() {
    echo "FAILED: $*" >&2
    failed=1
}

options="--data procedural:320 --limit-train 230 --limit-val 60 --limit-test 30 --epochs 2 --batch 32 --seed 7
--threads 1 --set dim=8 --set blocks=[1,1] --set num_div=4 --quiet"

# job NUMBER OPTION...: a job of so many processes.
job() {
    number=$1
    shift
    # Options, meant to be split.
    # shellcheck disable=SC2086
    timeout 120 "$mpirun" -n "$number" "$train" $options --mpi "$@" >"$work/out" 2>"$work/err"
}

# What must not depend on the processes: the weights, and the history without times.
result() {
    sha256sum <"$1/model.safetensors"
    cut -d , -f 1-8 "$1/history.csv"
}

# same FOLDER WHAT
same() {
    result "$work/$1" >"$work/result" 2>&1
    cmp -s "$work/result" "$work/wanted" || {
        complain "$2: another result"
        diff "$work/wanted" "$work/result" >&2
        cat "$work/err" >&2
    }
}

for compute in f32 bf16; do
    # shellcheck disable=SC2086
    "$train" $options --set leaves=16 --compute $compute --out "$work/alone-$compute" >/dev/null 2>"$work/err" ||
        complain "alone: $(cat "$work/err")"
    result "$work/alone-$compute" >"$work/wanted"
    for number in 2 3 $([ $compute = f32 ] && echo 1 4 5 8); do
        folder=$compute-$number
        job "$number" --compute $compute --out "$work/$folder" || complain "$number processes: $(cat "$work/err")"
        same "$folder" "$compute, $number processes"
        rm -rf "${work:?}/$folder"
    done
done

# Jobs that are broken off go on for long enough.
long='--epochs 20 --patience 0'
# shellcheck disable=SC2086
"$train" $options $long --set leaves=16 --out "$work/alone" >/dev/null 2>"$work/err" ||
    complain "alone: $(cat "$work/err")"
result "$work/alone" >"$work/wanted"

# kill_one SIGNAL: sends a signal to the last process of the job that runs, once it has written a checkpoint.
kill_one() {
    for _ in $(seq 600); do
        [ -f "$work/broken/checkpoint.safetensors" ] && break
        sleep 0.05
    done
    kill -s "$1" "$(pgrep -f -- "--out $work/broken" | tail -n 1)"
}

# break_off NUMBER SIGNAL: a job of so many processes that would go on for long, one of which gets the signal.
break_off() {
    rm -rf "$work/broken"
    # shellcheck disable=SC2086
    job "$1" $long --checkpoint-seconds 0.001 --out "$work/broken" &
    kill_one "$2"
    began=$(date +%s)
    wait $! && complain "$2: the job of $1 processes has exit status 0"
    [ $(($(date +%s) - began)) -lt 30 ] || complain "$2: the job of $1 processes ended after half a minute"
}

for pair in '3 2' '4 1'; do
    break_off "${pair% *}" KILL
    timeout 120 "$mpirun" -n "${pair#* }" "$train" --mpi --quiet --resume "$work/broken" >"$work/out" 2>"$work/err" ||
        complain "resumed: $(cat "$work/err")"
    same broken "killed and resumed with ${pair#* } in place of ${pair% *}"
done
break_off 2 TERM
[ "$(grep -c 'stopped, checkpoint written' "$work/err")" = 1 ] || complain "TERM: $(cat "$work/err")"
"$train" --quiet --resume "$work/broken" >/dev/null 2>"$work/err" || complain "resumed alone: $(cat "$work/err")"
same broken 'stopped and resumed by one process without MPI'

# run.json has the leaves that a fine-tuning was trained with, whatever is trained: a new run by the file has the same
# weights without MPI, and the run goes on without it. The picture of the curves is an image for a list with targets.
picture=$work/alone/curves.png
[ ! -f "$picture" ] || {
    echo 'path,first,second'
    for row in $(seq 40); do
        echo "alone/curves.png,0.$((row % 7)),-0.$((row % 5))"
    done
} >"$work/targets.csv"
new=--data=procedural:60
echo '{"architecture": "vit", "tokenizer": "patch", "attention": "global", "input_height": 32, "input_width": 32,
       "patch_size": 8, "dim": 24, "depth": 2, "heads": 2, "head_dim": 12, "mlp_dim": 48}' >"$work/vit.json"
"$train" --config "$work/vit.json" $new --epochs 1 --threads 1 --quiet --out "$work/vit" >"$work/out" 2>"$work/err" ||
    complain "a model to begin with: $(cat "$work/err")"
while read -r kind options_of_kind; do
    [ "$kind" != targets ] || [ -f "$picture" ] || continue
    # shellcheck disable=SC2086
    timeout 60 "$mpirun" -n 2 "$train" --init-from "$work/vit/model.safetensors" $options_of_kind --epochs 1 --seed 3 \
        --threads 1 --quiet --mpi --out "$work/$kind" </dev/null >"$work/out" 2>"$work/err" ||
        complain "$kind: $(cat "$work/err")"
    leaves=$([ "$kind" = small ] && echo 8 || echo 16)
    grep -q "\"leaves\": $leaves\>" "$work/$kind/run.json" ||
        complain "$kind: run.json has other leaves: $(grep leaves "$work/$kind/run.json")"
    "$train" --config "$work/$kind/run.json" --threads 1 --quiet --out "$work/$kind-anew" >"$work/out" 2>"$work/err" ||
        complain "$kind, again: $(cat "$work/err")"
    cmp "$work/$kind/model.safetensors" "$work/$kind-anew/model.safetensors" || complain "$kind: other weights"
    "$train" --resume "$work/$kind" --epochs 2 --threads 1 --quiet >"$work/out" 2>"$work/err" ||
        complain "$kind, resumed: $(cat "$work/err")"
done <<KINDS
tuned $new
adapted $new --lora 2
frozen $new --freeze patch_embed.*
small $new --batch 8
targets --data list:targets.csv --set loss=mse
KINDS

# Two programs in one job, which differ in one option.
# shellcheck disable=SC2086
timeout 60 "$mpirun" -n 2 "$train" $options --mpi --out "$work/other" : \
    -n 1 "$train" $options --mpi --seed 8 --out "$work/other" >"$work/out" 2>"$work/err" &&
    complain 'another seed: exit status 0'
[ "$(grep -c 'rank 2 of 3 has other settings than rank 0' "$work/err")" = 1 ] ||
    complain "another seed: $(cat "$work/err")"
# shellcheck disable=SC2086
timeout 60 "$mpirun" -n 1 "$train" $options --mpi --out "$work/other" : \
    -n 1 "$train" $options --mpi --data folder:/none --out "$work/other" >"$work/out" 2>"$work/err" &&
    complain 'no data: exit status 0'
[ "$(grep -c "rank 1 of 2: .*'/none'" "$work/err")" = 1 ] || complain "no data: $(cat "$work/err")"
# Images that differ are said to, not the settings that a preset takes of them. Which images are bad, one process says.
[ ! -f "$picture" ] || {
    for set in here there; do
        for class in a b; do
            mkdir -p $set/train/$class $set/test/$class
            for image in 1 2 3 4; do
                cp "$picture" $set/train/$class/$image.png
            done
            cp "$picture" $set/test/$class
        done
    done
    cp "$work/tuned/curves.png" there/train/a/1.png
    vit='--preset vit-cifar100 --set depth=1 --set dim=16 --set heads=2 --set mlp_dim=16 --set leaves=2 --mpi
        --threads 1 --quiet --val-fraction 0 --epochs 1 --batch 4'
    # shellcheck disable=SC2086
    timeout 60 "$mpirun" -n 1 "$train" $vit --data folder:here --out "$work/other" : \
        -n 1 "$train" $vit --data folder:there --out "$work/other" >"$work/out" 2>"$work/err" &&
        complain 'other images: exit status 0'
    [ "$(grep -c 'rank 1 of 2 has other training data than rank 0' "$work/err")" = 1 ] ||
        complain "other images: $(cat "$work/err")"
    head -c 100 "$picture" >there/train/a/5.png
    # shellcheck disable=SC2086
    timeout 60 "$mpirun" -n 1 "$train" $vit --data folder:here --out "$work/bad" : \
        -n 1 "$train" $vit --data folder:there --out "$work/bad" >"$work/out" 2>"$work/err" &&
        complain 'a bad image of another rank: exit status 0'
    [ "$(grep -c 'rank 1 of 2: 1 of 9 images cannot be read, the first: .*there/train/a/5.png' "$work/err")" = 1 ] ||
        complain "a bad image of another rank: $(cat "$work/err")"
    head -c 100 "$picture" >here/train/a/5.png
    head -c 100 "$picture" >here/test/a/5.png
    # shellcheck disable=SC2086
    timeout 60 "$mpirun" -n 2 "$train" $vit --data folder:here --out "$work/bad" >"$work/out" 2>"$work/err" &&
        complain 'bad images: exit status 0'
    [ "$(grep -c 'bad image: ' "$work/err")" = 2 ] && grep -q '2 of 12 images cannot be read' "$work/err" ||
        complain "bad images: $(cat "$work/err")"
    # shellcheck disable=SC2086
    timeout 60 "$mpirun" -n 2 "$train" $vit --data folder:here --on-bad skip --out "$work/bad" >"$work/out" \
        2>"$work/err" || complain "bad images that are skipped: $(cat "$work/err")"
    [ "$(grep -c 'bad image: ' "$work/err")" = 2 ] || complain "bad images that are skipped: $(cat "$work/err")"
}
# What keeps them from meeting, one says for all.
# shellcheck disable=SC2086
timeout 60 "$mpirun" -n 2 "$train" $options --mpi --out "$work/other" : \
    -n 1 "$train" $options --mpi --batch 8 --out "$work/other" >"$work/out" 2>"$work/err" &&
    complain 'other leaves: exit status 0'
[ "$(grep -c '^shiftvit-train: leaves is 16 on rank 0 and 8 on rank 2; all ranks need the same' "$work/err")" = 1 ] ||
    complain "other leaves: $(cat "$work/err")"
# A process that cannot describe its run. It fails before it creates its trainer, in which the others would wait.
# shellcheck disable=SC2086
timeout 60 "$mpirun" -n 1 "$train" $options --mpi --out "$work/other" : \
    -n 1 env LD_PRELOAD=./failing_settings.so "$train" $options --mpi --out "$work/other" >"$work/out" 2>"$work/err" &&
    complain 'no description: exit status 0'
[ "$(grep -c "rank 1 of 2: no memory for the text of the settings" "$work/err")" = 1 ] ||
    complain "no description: $(cat "$work/err")"
other=$([ "$flavour" = mpich ] && echo openmpi || echo mpich)
if [ -e "$3/libshiftvit-$other.so.1" ]; then
    # shellcheck disable=SC2086
    timeout 60 "$mpirun" -n 2 "$train" $options --mpi="$other" --out "$work/other" >"$work/out" 2>"$work/err" &&
        complain "--mpi=$other: exit status 0"
    said="mpirun has started 2 processes, but $other knows of one; the mpirun is that of $flavour"
    [ "$(grep -c "$said" "$work/err")" = 1 ] ||
        complain "--mpi=$other: $(cat "$work/err")"
fi
# A run keeps its leaves.
# shellcheck disable=SC2086
"$train" $options --out "$work/whole" >/dev/null 2>&1
timeout 60 "$mpirun" -n 2 "$train" --mpi --quiet --resume "$work/whole" --epochs 3 >"$work/out" 2>"$work/err" &&
    complain 'leaves for a run without: exit status 0'
grep -q "class weights', this one '.*leaves 16'; a resumed run needs the same" "$work/err" ||
    complain "leaves for a run without: $(cat "$work/err")"
job 17 --out "$work/many" && complain '17 processes: exit status 0'
[ "$(grep -c 'ranks is 17; 1 to 16' "$work/err")" = 1 ] || complain "17 processes: $(cat "$work/err")"
[ $failed = 0 ] && rm -rf "$work"
exit $failed
