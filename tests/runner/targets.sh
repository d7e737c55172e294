#!/bin/sh
# A test that came after a build was configured is among its targets, one that went is not, and a build that cannot be
# configured is said.
#     targets.sh SOURCE_ROOT
set -u
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# describe NAME...: a project of tests with these names.
describe() {
    {
        echo "project('small', 'c')"
        for name in "$@"; do
            echo "test('$name', executable('test_$name', 'main.c'))"
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

echo 'int main(void) { return 0; }' >"$work/main.c"
describe one two
meson setup "$work/build" "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
check 'test_one test_two'
check test_two 'tw.*'
# The clock of a file system may be too coarse to tell a file from one that was written just before.
describe two three
touch -d '1 hour ago' "$work/build/build.ninja"
check 'test_three test_two'
echo "project(" >"$work/meson.build"
touch -d '1 hour ago' "$work/build/build.ninja"
if python3 "$root/tests/runner/targets.py" "$work/build" '.*' >"$work/log" 2>&1 || ! grep -q 'meson.build:' "$work/log"; then
    echo 'a project that cannot be configured is not said'
    cat "$work/log"
    bad=1
fi
exit $bad
