#!/bin/sh
# Runs fuzz targets: run.sh SECONDS [NAME...]. Builds them with clang in build-fuzz, runs each for SECONDS on its
# corpus, with its dictionary if it has one, and prints a table. Inputs that crash are copied to tests/fuzz/crashes.
# New inputs go to build-fuzz/found/NAME, where the next run finds them. The exit status is 1 if a target crashed.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ $# -lt 1 ]; then
    echo "usage: sh tests/fuzz/run.sh SECONDS [NAME...]" >&2
    exit 2
fi
seconds=$1
shift
here=tests/fuzz
build=build-fuzz
if [ ! -f $build/build.ninja ]; then
    CC=clang meson setup $build -Dfuzzing=true -Dbuildtype=debugoptimized -Doptimization=1 \
        -Db_sanitize=address,undefined -Db_lundef=false -Dexamples=false -Dtests=true \
        -Dopenmpi=disabled -Dmpich=disabled >$build.log 2>&1 || { cat $build.log; exit 1; }
fi
ninja -C $build fuzzers >$build/fuzz.log 2>&1 || { tail -n 40 $build/fuzz.log; exit 1; }
if [ $# -eq 0 ]; then
    for source in $here/fuzz_*.c; do
        name=${source#$here/fuzz_}
        set -- "$@" "${name%.c}"
    done
fi

SHIFTVIT_FUZZ_FOLDER=$(mktemp -d -p /dev/shm fuzz.XXXXXX 2>/dev/null || mktemp -d)
export SHIFTVIT_FUZZ_FOLDER
trap 'rm -rf "$SHIFTVIT_FUZZ_FOLDER"' EXIT
trap 'exit 1' HUP INT TERM
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
crashed=0
printf '%-16s %12s %8s %10s\n' target executions crashes edges
for name in "$@"; do
    program=$build/$here/fuzz_$name
    [ -x "$program" ] || { printf '%-16s %12s\n' "$name" 'not built'; continue; }
    mkdir -p "$build/found/$name" "$build/crashes/$name"
    log=$build/found/$name.log
    set --
    [ -f "$here/$name.dict" ] && set -- "-dict=$here/$name.dict"
    "$program" "$@" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=3000 -print_final_stats=1 \
        -artifact_prefix="$build/crashes/$name/" "$build/found/$name" "$here/corpus/$name" >"$log" 2>&1
    status=$?
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    edges=$(sed -n 's/.*cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    # An input that takes long on a busy machine is noted there too, and is no crash.
    crashes=$(find "$build/crashes/$name" -type f ! -name 'slow-unit-*' | wc -l)
    [ $status -eq 0 ] || crashed=1
    if [ "$crashes" -gt 0 ]; then
        crashed=1
        mkdir -p "$here/crashes/$name"
        cp "$build/crashes/$name"/* "$here/crashes/$name/"
    fi
    printf '%-16s %12s %8s %10s\n' "$name" "${executions:-?}" "$crashes" "${edges:-?}"
done
exit $crashed
