#!/bin/sh
# A test that came after a build was configured is among its targets, one that went is not, and a build that cannot be
# configured is said. Names are those of the tests that match, and there is at least one.
#     targets.sh SOURCE_ROOT
set -u
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
bad=0

# describe NAME...: a project of tests with these names.
describe() {
    {
        echo "project('small', 'c')"
        for name in "$@"; do
            echo "test('$name', executable('test_$name', 'main.c'), suite: '${name#*_of_}')"
        done
    } >"$work/meson.build"
}

# check WANTED [PATTERN]
check() {
    found=$(python3 "$root/tests/runner/targets.py" "$work/build" "${2:-.*}")
    [ "$found" = "$1" ] && return 0
    echo "targets are '$found', not '$1'"
    bad=1
}

# named WANTED PATTERN [SUITE...]
named() {
    wanted=$1
    shift
    found=$(python3 "$root/tests/runner/names.py" "$work/build" "$@" | tr '\n' ' ')
    [ "$found" = "$wanted" ] && return 0
    echo "names that match '$*' are '$found', not '$wanted'"
    bad=1
}

echo 'int main(void) { return 0; }' >"$work/main.c"
describe one two
meson setup "$work/build" "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check 'test_one test_two'
check test_two 'tw.*'
# The clock of a file system may be too coarse to tell a file from one that was written just before.
describe two three
touch -d '1 hour ago' "$work/build/build.ninja"
check 'test_three test_two'
describe two three four_of_structure five_of_packages six_of_mpi
touch -d '1 hour ago' "$work/build/build.ninja"
ninja -C "$work/build" build.ninja >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
named 'two three six_of_mpi ' '.*'
named 'two three ' '.*' mpi
named 'three ' '(?!.*w).*e.*'
if python3 "$root/tests/runner/names.py" "$work/build" 't' >"$work/log" 2>&1 || ! grep -q 'no test of' "$work/log"; then
    echo 'that no name matches is not said'
    cat "$work/log"
    bad=1
fi
echo "project(" >"$work/meson.build"
touch -d '1 hour ago' "$work/build/build.ninja"
if python3 "$root/tests/runner/targets.py" "$work/build" '.*' >"$work/log" 2>&1 || ! grep -q 'meson.build:' "$work/log"; then
    echo 'a project that cannot be configured is not said'
    cat "$work/log"
    bad=1
fi
exit $bad
