#!/bin/sh
# Which lines and branches of lib/ the tests reach: builds with gcc --coverage in FOLDER (build-coverage), runs the
# tests of the library and the corpora of the fuzz targets, and prints the share by folder and what is not reached.
#
#   sh tests/coverage.sh [FOLDER]
#
# SHIFTVIT_COVERAGE_TESTS='NAME...' runs these tests alone, on top of what has been counted in FOLDER. Needs gcovr.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build-coverage}
command -v gcovr >/dev/null || {
    echo "skipped: no gcovr" >&2
    exit 77
}

# Not for coverage: what checks the tree, the programs and the installed library (suites structure and install), which
# run the library in other processes; and tests which repeat in other amounts, threads or precision what others run.
left_out='determinism|small_stack|many_threads|.*_double'

# Assertions are compiled away (-Db_ndebug), so that no branch counts that must never be taken. Without early inlining
# a branch of an inline function counts once, and without if-conversion it is there.
if [ ! -f "$folder/build.ninja" ]; then
    CC=${CC:-gcc} meson setup "$folder" -Db_coverage=true -Dbuildtype=debug -Doptimization=1 -Db_ndebug=true \
        -Dexamples=false -Dtests=true -Dopenmpi=disabled -Dmpich=disabled \
        -Dc_args="-fno-early-inlining -fno-ssa-phiopt -fprofile-update=prefer-atomic -include $PWD/tests/coverage/exit.h"
fi
wanted="(?!($left_out)\$).*"
# The list of tests is that of the last configuration.
ninja -C "$folder" build.ninja >/dev/null
# Names of files, meant to be split.
# shellcheck disable=SC2046
nice ninja -C "$folder" -j 2 $(python3 tests/runner/targets.py "$folder" "$wanted")

tests=${SHIFTVIT_COVERAGE_TESTS-}
if [ -z "$tests" ]; then
    rm -rf "$folder/counts"
    tests=$(python3 tests/runner/names.py "$folder" "$wanted")
fi
# A failed test does not end the count, but the script fails. Counting takes time, which Check's limits do not know.
status=0
# Names, meant to be split.
# shellcheck disable=SC2086
SHIFTVIT_COUNTED=$(cd "$folder" && pwd -P) CK_TIMEOUT_MULTIPLIER=20 nice meson test -C "$folder" --no-rebuild \
    --num-processes 2 -t 10 --wrapper "$PWD/tests/coverage/count.sh" $tests || status=$?

# The counts of all tests together. gcov-tool refuses an empty folder.
find "$folder" -path "$folder/counts" -prune -o -name '*.gcda' -exec rm {} +
rm -rf "$folder/together" "$folder/more"
for counts in "$folder"/counts/*; do
    if [ -d "$folder/together" ]; then
        gcov-tool merge -o "$folder/more" "$folder/together" "$counts"
        rm -rf "$folder/together"
        mv "$folder/more" "$folder/together"
    else
        cp -r "$counts" "$folder/together"
    fi
done
cp -r "$folder/together/." "$folder"

# Code for AMX that cannot run says nothing about the headers that it shares with what can.
grep -q amx_tile /proc/cpuinfo || find "$folder/lib" -name 'amx_amx_*.gcno' -delete
# Counters of threads that meet may be wrong by a few, never from some to none.
gcovr --root . --filter 'lib/' --object-directory "$folder" --gcov-ignore-parse-errors -j 2 \
    --exclude-throw-branches --exclude-unreachable-branches --json "$folder/coverage.json" "$folder/lib"
python3 tests/coverage/report.py "$folder/coverage.json" tests/coverage/unreached.txt
exit "$status"
