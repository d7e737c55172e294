#!/bin/sh
# apart.sh FOLDER PROGRAM ARGUMENT...: runs a test so that its counts go to a folder of its own in FOLDER, named as
# the program and its last word: one program may be several tests.
last=
for last in "$@"; do :; done
GCOV_PREFIX=$1/$(basename "$2")-$(basename "$last")
shift
export GCOV_PREFIX
exec "$@"
