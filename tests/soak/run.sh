#!/bin/sh
# The long runs: 10,000 steps of training beside evaluation and prediction, and ten minutes of prediction in 32
# threads.  run.sh PROGRAM [STEPS] [SECONDS] [THREADS]      PROGRAM: build/tests/soak/soak
set -eu
program=$1 steps=${2-10000} seconds=${3-600} threads=${4-32}
corpus=$(cd "$(dirname "$0")/../fuzz/corpus" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
"$program" train "$steps" "$folder/run"
"$program" predict "$seconds" "$threads" "$corpus/jpeg" "$corpus/png" "$corpus/webp"
