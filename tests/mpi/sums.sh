#!/bin/sh
# Runs the test program of one MPI with several numbers of processes, and checks that its library exports what
# mpi.h declares and nothing else.
# sums.sh openmpi|mpich PROGRAM LIBRARY HEADER
set -u
flavour=$1 program=$2 library=$3 header=$4
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Containers often forbid what Open MPI reads the memory of other processes with.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
mpirun=$(command -v "mpirun.$flavour" || command -v mpirun) || {
    echo "skipped: no mpirun of $flavour"
    exit 77
}
# Freed memory is overwritten, so that what still uses it fails.
export MALLOC_PERTURB_=165
failed=0
for number in 1 2 3 4 8; do
    [ "$(timeout 100 "$mpirun" -n "$number" "$program")" = ok ] || {
        echo "$flavour: $number processes fail"
        failed=1
    }
done
declared=$(sed -n 's/^SVIT_API .*\(svit_[a-z_]*\)(.*/\1/p' "$header" | sort)
exported=$(nm -D --defined-only "$library" | sed -n 's/.* T \(.*\)@@.*/\1/p' | sort)
[ "$declared" = "$exported" ] || {
    echo "declared: $declared"
    echo "exported: $exported"
    failed=1
}
exit $failed
