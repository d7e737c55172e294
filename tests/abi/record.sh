#!/bin/sh
# Writes all public headers as one, without comments, to be kept as the headers of a release with
# which programs were compiled.  record.sh SOURCE_ROOT CC > recorded.h
set -eu
root=$1 cc=$2
headers=$(sed -n 's|^#include <\(shiftvit/[a-z]*\.h\)>.*|\1|p' "$root/include/shiftvit/shiftvit.h")
test -n "$headers"
cat <<END
/* The public headers of an older library, which tests/abi/record.sh has written. */
/* clang-format off */
#include <stddef.h>
#include <stdint.h>
#define SVIT_API
END
for header in $headers; do
    # The compiler removes comments and keeps all directives. It may be a command with arguments.
    # shellcheck disable=SC2086
    $cc -std=c11 -fpreprocessed -dD -E -P "$root/include/$header" | grep -v '^ *# *include <shiftvit/'
done
