#!/bin/sh
# Runs a test of the build in SHIFTVIT_COUNTED, an absolute path, with counts of its own in the folder counts/PROGRAM-LAST
# there: PROGRAM is the name of its program and LAST that of its last argument. They say which lines this test reaches.
#
#   count.sh PROGRAM [ARGUMENT...]
set -eu
for last; do :; done
GCOV_PREFIX=$SHIFTVIT_COUNTED/counts/${1##*/}-${last##*/}
GCOV_PREFIX_STRIP=$(printf '%s' "$SHIFTVIT_COUNTED" | tr -cd / | wc -c)
export GCOV_PREFIX GCOV_PREFIX_STRIP
exec "$@"
