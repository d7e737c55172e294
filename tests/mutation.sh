#!/bin/sh
# Plants COUNT faults (200) into a copy of the library in build-mutation, one at a time and drawn by SEED (1), and reports
# which the tests catch: a fault that survives is a line whose change no test notices.
#
#   sh tests/mutation.sh [COUNT] [SEED]          goes on where an earlier call with this seed stopped
#   sh tests/mutation.sh [COUNT] [SEED] again    judges once more those that survived
#
# The classes of code and the faults are in tests/mutation/mutants.py, how they are judged is in mutate.py, and
# equivalent.txt lists mutants that change nothing. The build of tests/coverage.sh in build-coverage says which tests reach a line.
set -eu
cd "$(dirname "$0")/.."
count=${1:-200}
seed=${2:-1}
coverage=${SHIFTVIT_COVERAGE:-build-coverage}
folder=build-mutation
[ -f "$coverage/coverage.json" ] || sh tests/coverage.sh "$coverage" >"$coverage.log" 2>&1 || {
    echo "no counts of coverage: $coverage.log" >&2
    exit 1
}

# Copies what has changed alone, so that ninja builds only that.
mkdir -p "$folder/next"
git ls-files -z -c -o --exclude-standard | tar -c --null -T - | tar -x -C "$folder/next"
# The tests share one library with all names inside visible, so that a fault costs one linking instead of a hundred.
printf '{ global: *; };\n' >"$folder/next/lib/libshiftvit.map"
sed -i 's/shiftvit_both.get_static_lib()/shiftvit_both.get_shared_lib()/
    s/-Wl,--no-undefined/-Wl,-Bsymbolic/' "$folder/next/lib/meson.build"
mkdir -p "$folder/tree"
(cd "$folder/next" && find . -type f) | while read -r file; do
    cmp -s "$folder/next/$file" "$folder/tree/$file" || {
        mkdir -p "$(dirname "$folder/tree/$file")"
        cp "$folder/next/$file" "$folder/tree/$file"
    }
done
rm -rf "$folder/next"

# A loop that the compiler sees leave its array is no fault that a test has to find: every build with warnings as errors
# refuses it.
[ -f "$folder/build/build.ninja" ] || CC=${CC:-gcc} meson setup "$folder/build" "$folder/tree" -Dbuildtype=debugoptimized \
    -Ddebug=false -Doptimization=1 -Dexamples=false -Dtests=true -Dopenmpi=disabled -Dmpich=disabled \
    -Dc_args='-fvisibility=default -Werror=incompatible-pointer-types -Werror=int-conversion
        -Werror=aggressive-loop-optimizations' >/dev/null
ninja -C "$folder/build" build.ninja >/dev/null
# Names of files, meant to be split.
# shellcheck disable=SC2046
ninja -C "$folder/build" -j 2 $(python3 tests/runner/targets.py "$folder/build" '.*') >"$folder/build.log"
python3 tests/mutation/mutate.py "$folder/tree" "$folder/build" "$coverage" "$folder/results-$seed.jsonl" \
    "$count" "$seed" "${3-}"
