#!/bin/sh
# Runs the scripts of all machines, then the exchange of files between those that could be built, and prints the table.
#     sh tests/cross/all.sh [FOLDER]
# SHIFTVIT_CROSS_SIDE_BY_SIDE=N tests N machines at the same time, each with SHIFTVIT_CROSS_JOBS programs.
. "$(dirname "$0")/common.sh"
rm -rf "$builds/rows"
tested=
SHIFTVIT_CROSS_ONLY=build
export SHIFTVIT_CROSS_ONLY
for machine in $machines; do
    [ "$only" = test ] || { rm -f "$builds/$machine/built" && sh "tests/cross/$machine.sh" "$builds"; } || bad=1
    [ ! -f "$builds/$machine/built" ] || tested="$tested $machine"
    [ "$machine" != aarch64 ] || [ ! -f "$builds/aarch64/built" ] || tested="$tested aarch64_cpus"
done
[ "$only" = test ] || sh tests/cross/exchange.sh "$builds" || bad=1
[ "$only" != build ] || finish
SHIFTVIT_CROSS_ONLY=test
# Names, meant to be split.
# shellcheck disable=SC2086
printf '%s\n' $tested | xargs -P "${SHIFTVIT_CROSS_SIDE_BY_SIDE:-1}" -I {} sh tests/cross/{}.sh "$builds" || bad=1
sh tests/cross/exchange.sh "$builds" || bad=1
echo
# shellcheck disable=SC2059
printf "$form\n" machine tests passed failed skipped seconds remarks
cat "$builds"/rows/*
finish
