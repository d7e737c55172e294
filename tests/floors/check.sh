#!/bin/sh
# The house rules of docs/architecture.md: includes go down only, and outside things come in by one
# door each. check.sh SOURCE_ROOT
set -eu
LC_ALL=C
export LC_ALL
cd "$1"
here=tests/floors
find lib -name '*.[ch]' | sort | xargs awk -f "$here/floors.awk"
