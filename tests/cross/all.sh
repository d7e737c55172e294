#!/bin/sh
# Runs the scripts of all machines, then the exchange of files between those that could be built, and prints the table.
#     sh tests/cross/all.sh [FOLDER]
. "$(dirname "$0")/common.sh"
rm -f "$builds/table"
for machine in $machines exchange; do
    sh "tests/cross/$machine.sh" "$builds" || bad=1
done
echo
# shellcheck disable=SC2059
printf "$form\n" machine tests passed failed skipped seconds remarks
cat "$builds/table"
finish
