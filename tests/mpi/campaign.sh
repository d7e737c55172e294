#!/bin/sh
# The weights of a short training on CIFAR-10 for many numbers of ranks and threads, both MPIs and both dtypes, and over
# kills of a rank with restarts on other numbers: one sha256 a dtype. Minutes long, so no test of the suite.
# campaign.sh TRAIN LIBRARY_FOLDER CIFAR10_FOLDER WORK_FOLDER [KILLS]
set -u
train=$1 data=$3 work=$4 kills=${5:-10}
export LD_LIBRARY_PATH="$2${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$work"
options="--data cifar10:$data --limit-train 256 --limit-val 64 --limit-test 16 --epochs 2 --batch 64 --seed 5 --quiet"

# job FLAVOUR RANKS OPTION...
job() {
    flavour=$1 ranks=$2
    shift 2
    timeout 600 "mpirun.$flavour" -n "$ranks" "$train" "--mpi=$flavour" --quiet "$@" >"$work/out" 2>"$work/err"
}

sum() {
    sha256sum <"$1/model.safetensors" | cut -c 1-64
}

for compute in f32 bf16; do
    # shellcheck disable=SC2086
    "$train" $options --compute $compute --threads 2 --set leaves=16 --out "$work/alone" --overwrite >"$work/out" 2>&1
    wanted=$(sum "$work/alone")
    echo "$compute, one process without MPI: $wanted"
    same=0 other=0
    for flavour in openmpi mpich; do
        for ranks in 1 2 3 4 5 8 16; do
            for threads in 1 2; do
                # shellcheck disable=SC2086
                job $flavour $ranks $options --compute $compute --threads $threads --out "$work/run" --overwrite
                if [ "$(sum "$work/run")" = "$wanted" ]; then
                    same=$((same + 1))
                else
                    other=$((other + 1))
                    echo "$compute $flavour $ranks ranks of $threads threads: another result"
                    cat "$work/err"
                fi
                rm -rf "$work/run"
            done
        done
    done
    echo "$compute: $same equal, $other others"
    [ $compute = f32 ] && first=$wanted
done

# Each kill breaks off the same run, which the next number of ranks goes on with.
rm -rf "$work/broken"
set -- 2 3 1 4 5 2 8 3 16 1 4 2
number=0
while [ $number -lt "$kills" ]; do
    ranks=$1
    shift
    set -- "$@" "$ranks"
    flavour=$([ $((number % 2)) = 0 ] && echo openmpi || echo mpich)
    if [ -d "$work/broken" ]; then
        job "$flavour" "$ranks" --resume "$work/broken" --checkpoint-seconds 0.001 &
    else
        # shellcheck disable=SC2086
        job "$flavour" "$ranks" $options --threads 1 --out "$work/broken" --checkpoint-seconds 0.001 &
    fi
    # A new checkpoint has come, or the run has ended.
    while [ "$(date -r "$work/broken/checkpoint.safetensors" +%s%N 2>/dev/null)" = "${last-}" ] &&
        kill -0 $! 2>/dev/null; do
        sleep 0.02
    done
    victim=$(pgrep -f -- "$train.*$work/broken" | shuf -n 1)
    [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null
    began=$(date +%s)
    wait $!
    status=$?
    # The other ranks of the job may take a moment to end, and hold the folder until then.
    while pgrep -f -- "$train.*$work/broken" >/dev/null; do
        sleep 0.05
    done
    last=$(date -r "$work/broken/checkpoint.safetensors" +%s%N 2>/dev/null)
    number=$((number + 1))
    echo "kill $number: $flavour, $ranks ranks, exit status $status after $(($(date +%s) - began)) s"
    [ -f "$work/broken/model.safetensors" ] && break
done
"$train" --resume "$work/broken" --threads 2 --quiet >"$work/out" 2>&1
echo "after $number kills: $(sum "$work/broken"), $([ "$(sum "$work/broken")" = "$first" ] && echo equal || echo OTHER)"
