#!/bin/sh
# Runs the test programs of one MPI with several numbers of processes, and checks that its library exports what
# mpi.h declares and nothing else.
# sums.sh openmpi|mpich PROGRAM PROGRAM_OF_FAILURES LIBRARY HEADER
set -u
flavour=$1 program=$2 failures=$3 library=$4 header=$5
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
for job in '1' '2' '3' '2 start'; do
    # The word after the number, if there is one.
    # shellcheck disable=SC2086
    [ "$(timeout 60 "$mpirun" -n "${job% *}" "$failures" ${job#[0-9]})" = ok ] || {
        echo "$flavour: failures, $job: fails"
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
