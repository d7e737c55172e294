#!/bin/sh
# Builds the site: site.sh DOXYGEN SOURCE_ROOT VERSION OUTPUT [DEPFILE TARGET]. OUTPUT is replaced. DEPFILE gets what
# the site, the file TARGET of ninja, is made of.
set -eu
doxygen=$1 root=$2 version=$3 output=$4
case $output in /*) ;; *) output=$PWD/$output ;; esac
if [ $# -ge 6 ]; then
    echo "$6: $(find "$root/docs" "$root/include" "$root"/*.md -type f | sed 's/[ $#]/\\&/g' | tr '\n' ' ')" >"$5"
fi
rm -rf "$output"
mkdir -p "$output"
cd "$root"
export PWD
{
    cat docs/site/Doxyfile
    echo "PROJECT_NUMBER = $version"
    echo "OUTPUT_DIRECTORY = \"$output\""
} | LC_ALL=C "$doxygen" -
