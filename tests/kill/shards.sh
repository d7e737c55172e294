#!/bin/sh
# shiftvit-export --shards is killed at every call for a file. Each archive that it leaves is whole, and what else it
# leaves does not disturb the next export.
# usage: shards.sh SHIFTVIT_EXPORT FAILING_FILES
set -eu
export_program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
failing_files=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
# LD_PRELOAD is split at spaces, which the names of folders may have.
ln -s "$failing_files" failing_files.so

# Writes to the folder $1, and is killed at call $2; 0: it is not killed.
export_killed() {
    SHIFTVIT_KILL_AT=$2 SHIFTVIT_COUNT_TO=$work/count LD_PRELOAD=./failing_files.so \
        "$export_program" --data procedural:10 --split train --count 4 --shards "$1/train" --samples-per-shard 2 \
        >/dev/null 2>"$work/said"
}

export_killed whole 0 || { cat said >&2; exit 1; }
[ -s count ] || { echo "$failing_files was not loaded, and no call is counted: $(cat said)" >&2; exit 1; }
calls=$(cat count)
[ "$calls" -gt 20 ] || { echo "only $calls calls for files" >&2; exit 1; }

kills=0 at=1
while [ "$at" -le "$calls" ]; do
    status=0
    export_killed broken "$at" || status=$?
    [ "$status" -eq 137 ] || { echo "call $at: status $status instead of a kill" >&2; exit 1; }
    kills=$((kills + 1))
    for archive in broken/*.tar; do
        [ ! -e "$archive" ] || cmp "$archive" "whole/${archive#broken/}"
    done
    [ ! -e broken/classes.txt ] || cmp broken/classes.txt whole/classes.txt
    rm -f broken/*.tar
    export_killed broken 0 || { echo "after a kill at call $at:" >&2; cat said >&2; exit 1; }
    rm -f broken/.shiftvit-*.part
    diff -r whole broken
    rm -rf broken
    at=$((at + 1))
done
echo "killed at each of $kills calls for files"
