#!/bin/sh
# A run that is killed ten times at random moments, and resumed each time with one thread and two in turn, ends with the
# same bytes as a run that is not killed. If a run that replaces another is killed, the old one can be resumed.
# usage: kill.sh SHIFTVIT_TRAIN shiftvit|slvit [SEED]
set -eu
train=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") model=$2 seed=${3:-$$}
kills=10
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# Options are split into words, so the names in them are relative.
cd "$work"

# A few seconds of training; a checkpoint every 50 ms, so that most kills fall within an epoch.
case $model in
shiftvit) config='{"dim": 24, "blocks": [1, 1, 1]}' ;;
slvit) config='{"architecture": "vit", "tokenizer": "spt", "attention": "lsa",
                "input_height": 32, "input_width": 32, "patch_size": 4, "dim": 24, "depth": 2,
                "heads": 2, "head_dim": 12, "mlp_dim": 48, "head_units": [32], "drop_path": 0.1}' ;;
*) echo "'$model' is neither shiftvit nor slvit" >&2; exit 2 ;;
esac
printf '%s\n' "$config" >"$work/config.json"
options="--data procedural:1200 --limit-val 200 --limit-test 100 --config config.json
         --epochs 10 --batch 32 --patience 0 --checkpoint-seconds 0.05 --quiet"

# Seconds, the $1-th random number of this seed. Ten of them add up to a little more than half of the time
# that the run which is not killed took (`seconds` in its history), so that few runs end before ten kills.
delay() {
    awk -F , -v seed="$seed" -v at="$1" '
        FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") column = i; next }
        { seconds += $column }
        END { srand(seed * 1000 + at); printf "%.3f", 0.05 + seconds / 9 * rand() }' "$work/whole/history.csv"
}

echo "$model, seed $seed"
# shellcheck disable=SC2086
"$train" $options --threads 2 --out "$work/whole" >/dev/null

killed=0 attempt=0
while [ "$killed" -lt "$kills" ]; do
    attempt=$((attempt + 1))
    if [ "$attempt" -gt 200 ]; then
        echo "only $killed of $kills kills hit a running process" >&2
        exit 1
    fi
    if [ -e "$work/broken/checkpoint.safetensors" ]; then
        "$train" --resume "$work/broken" --threads $((attempt % 2 + 1)) --quiet >/dev/null 2>"$work/errors" &
    else
        # shellcheck disable=SC2086
        "$train" $options --threads $((attempt % 2 + 1)) --out "$work/broken" >/dev/null 2>"$work/errors" &
    fi
    process=$!
    sleep "$(delay "$attempt")"
    if kill -KILL "$process" 2>/dev/null; then
        wait "$process" 2>/dev/null || true
        [ -e "$work/broken/model.safetensors" ] || killed=$((killed + 1))
    elif ! wait "$process"; then
        echo "a resumed run failed:" >&2
        cat "$work/errors" >&2
        exit 1
    fi
    if [ -e "$work/broken/model.safetensors" ]; then
        # The run finished before it was killed often enough: start again.
        cmp "$work/whole/model.safetensors" "$work/broken/model.safetensors"
        rm -rf "$work/broken"
        killed=0
    fi
done

# A new run that takes its place is killed before its first checkpoint, at the end of a long epoch:
# the old run is unchanged. Another process cannot use the folder meanwhile.
cp -r "$work/broken" "$work/copy"
rm -f "$work/broken/.lock" "$work/copy/.lock" "$work/errors"
# shellcheck disable=SC2086
"$train" --data procedural:1000000 --config "$work/config.json" --epochs 2 --batch 32 --threads 1 --overwrite \
    --checkpoint-seconds 0 --out "$work/broken" >/dev/null 2>"$work/errors" &
process=$!
# The message that it prints after its trainer has been created.
until grep -q 'parameters,' "$work/errors"; do
    kill -0 "$process"
    sleep 0.05
done
for way in '--resume broken' "$options --out broken" "$options --overwrite --out broken"; do
    # shellcheck disable=SC2086
    if "$train" $way >/dev/null 2>"$work/said"; then
        echo "a second run has the folder: $way" >&2
        exit 1
    fi
    grep -q 'is in use by another process' "$work/said" || { cat "$work/said" >&2; exit 1; }
done
sleep "$(delay 0)"
kill -KILL "$process"
wait "$process" 2>/dev/null || true
rm "$work/broken/.lock"
diff -r "$work/copy" "$work/broken"
# shellcheck disable=SC2086
if "$train" $options --out "$work/broken" >/dev/null 2>"$work/said"; then
    echo 'a used folder is overwritten in silence' >&2
    exit 1
fi
grep -q "holds a run (checkpoint.safetensors, [0-9]* epochs done).*--resume.*--overwrite" "$work/said"

"$train" --resume "$work/broken" --threads 2 --quiet >/dev/null
cmp "$work/whole/model.safetensors" "$work/broken/model.safetensors"
cmp "$work/whole/best.safetensors" "$work/broken/best.safetensors"
[ ! -e "$work/broken/.lock" ]
echo "killed $killed times in $attempt starts, and once while it was replaced: the same bytes"

# After the replacement the files are those of the new run; files that no run wrote stay.
echo note >"$work/broken/note"
# shellcheck disable=SC2086
"$train" $options --threads 2 --overwrite --out "$work/broken" >/dev/null
cmp "$work/whole/model.safetensors" "$work/broken/model.safetensors"
[ "$(cat "$work/broken/note")" = note ]
cmp "$work/whole/run.json" "$work/broken/run.json"
