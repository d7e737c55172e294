#!/bin/sh
# Checks the first two laws of docs/architecture.md: includes point down only, and each outside thing
# has one adapter. check.sh SOURCE_ROOT
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
here=tests/floors
find lib -name '*.[ch]' | sort | xargs awk -f "$here/floors.awk"
