#!/bin/sh
# Builds the site and checks it: Doxygen ends without a warning, and what check_site.py says.
# site.sh DOXYGEN SOURCE_ROOT VERSION PYTHON; DOXYGEN is empty where there is none.
set -eu
doxygen=$1 root=$2 version=$3 python=$4
[ -n "$doxygen" ] || { echo 'skipped: doxygen is missing'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
sh "$root/docs/site/site.sh" "$doxygen" "$root" "$version" "$work/html" >"$work/messages" 2>&1 ||
    { cat "$work/messages"; exit 1; }
[ ! -s "$work/messages" ] || { cat "$work/messages"; exit 1; }
"$python" "$root/tests/docs/check_site.py" "$root" "$work/html"
