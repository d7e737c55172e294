#!/bin/sh
# Lets each machine that has been built write one file of each kind, and every machine read the files of every other.
# Those of fixed numbers must have the same bytes. Weights after a training may differ by rounding; by how much is printed.
#     sh tests/cross/exchange.sh [FOLDER]
. "$(dirname "$0")/common.sh"
files=$builds/files
begun=$(date +%s)
passed=0 failed=0 missing=

# on MACHINE ARGUMENT...: runs the program of a machine.
on() {
    machine=$1
    shift
    # Words, meant to be split.
    # shellcheck disable=SC2046
    $(cat "$builds/$machine/emulator") "$builds/$machine/build/tests/cross/exchange" "$@"
}

mkdir -p "$builds/native"
: >"$builds/native/emulator"
[ "$only" = test ] || {
    {
        [ -f "$builds/native/build/build.ninja" ] ||
            meson setup "$builds/native/build" -Dexamples=false -Dtests=true -Dopenmpi=disabled -Dmpich=disabled
    } >"$builds/native/build.log" 2>&1 &&
        ninja -C "$builds/native/build" -j "$jobs" tests/cross/exchange >>"$builds/native/build.log" 2>&1
} || {
    tail -n 40 "$builds/native/build.log"
    exit 1
}
[ "$only" != build ] || finish
built=
for machine in native $machines; do
    if [ -x "$builds/$machine/build/tests/cross/exchange" ]; then
        built="$built $machine"
    else
        missing="$missing $machine"
    fi
done
rm -rf "$files"
mkdir -p "$files"
for writer in $built; do
    on "$writer" write "$files/$writer" || failed=$((failed + 1))
done
for reader in $built; do
    for writer in $built; do
        [ "$reader" = "$writer" ] && continue
        # The reader goes on with the run, and so writes.
        cp -Rp "$files/$writer" "$files/copy"
        if differences=$(on "$reader" read "$files/copy" "$files/$reader"); then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED: $reader reads the files of $writer"
        fi
        echo "$reader reads $writer: $differences"
        rm -rf "$files/copy"
    done
done
row 'exchange of files' "$passed" "$failed" "$(echo "$missing" | wc -w)" $(($(date +%s) - begun)) "${missing:+not built:$missing}"
[ "$failed" = 0 ]
