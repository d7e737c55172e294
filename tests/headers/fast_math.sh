#!/bin/sh
# The library does not compile with an option that takes NaN or the order of sums away.  fast_math.sh SOURCE_ROOT CC
set -eu
root=$1 cc=$2

# refused OPTION...: whether the header that every kernel includes refuses them.
refused() {
    said=$(echo '#include "base/real.h"' | $cc -std=c11 "$@" -I"$root/lib" -fsyntax-only -x c - 2>&1) || true
    case $said in
    *'#error'*fast-math*) return 0 ;;
    esac
    return 1
}
for option in -ffast-math -Ofast -ffinite-math-only; do
    refused "$option" || { echo "$option is accepted: $said"; exit 1; }
done
# What the build itself uses, and its levels of optimisation.
for option in -O0 -O3 -Os -ffp-contract=fast -fno-math-errno -fno-trapping-math; do
    ! refused "$option" || { echo "$option is refused"; exit 1; }
done
