#!/bin/sh
# Writes a public header without comments, and those of the library that shiftvit.h includes as one, to be kept as those
# of a release with which programs were compiled.  record.sh HEADER CC > releases/VERSION/NAME
set -eu
headers=$1 cc=$2
if [ "$(basename "$1")" = shiftvit.h ]; then
    headers=$(sed -n "s|^#include <shiftvit/\([a-z]*\.h\)>.*|$(dirname "$1")/\1|p" "$1")
fi
test -n "$headers"
cat <<END
/* Public headers of a release, which tests/abi/record.sh has written. */
/* clang-format off */
#include <stddef.h>
#include <stdint.h>
#define SVIT_API
END
for header in $headers; do
    # The compiler removes comments and keeps all directives. It may be a command with arguments.
    # shellcheck disable=SC2086
    $cc -std=c11 -fpreprocessed -dD -E -P "$header" | grep -v '^ *# *include <shiftvit/'
done
