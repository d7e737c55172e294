/* Times the exchange of a step's gradients: this library's sums in a fixed order against
 * MPI_Allreduce of the same buckets.  mpirun -n RANKS bench_exchange ELEMENTS ROUNDS: medians of
 * the rounds, which alternate. */
#include <shiftvit/mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BUCKET = 1 << 18, ROUNDS_MAX = 1000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void exchange(const svit_reducer *reducer, float *values, size_t elements)
{
    for (size_t at = 0, i = 0; at < elements; at += BUCKET, i++) {
        const size_t count = elements - at < BUCKET ? elements - at : BUCKET;
        const svit_partial_sum own = {reducer->rank, values + at};
        const svit_bucket bucket = {.struct_size = sizeof bucket,
                                    .number = i,
                                    .elements = count,
                                    .count = 1,
                                    .partials = &own,
                                    .sum = values + at};
        if (reducer->begin(reducer->user, &bucket, NULL) != SVIT_OK)
            abort();
    }
    if (reducer->finish(reducer->user, NULL) != SVIT_OK)
        abort();
}

static void allreduce(float *values, size_t elements)
{
    for (size_t at = 0; at < elements; at += BUCKET)
        MPI_Allreduce(MPI_IN_PLACE, values + at,
                      elements - at < BUCKET ? (int)(elements - at) : BUCKET, MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int level, rank, ranks;
    const size_t elements = argc > 1 ? strtoull(argv[1], NULL, 10) : 11690602;
    const int rounds = argc > 2 ? atoi(argv[2]) : 9;
    static double own[ROUNDS_MAX], theirs[ROUNDS_MAX];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    svit_mpi *place;
    svit_reducer reducer;
    if (rounds < 1 || rounds > ROUNDS_MAX ||
        svit_mpi_create(&place, MPI_COMM_WORLD, (uint32_t)ranks, NULL) != SVIT_OK ||
        svit_mpi_get_reducer(place, &reducer, sizeof reducer, NULL) != SVIT_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    float *values = calloc(elements, sizeof *values);
    for (int i = -1; i < rounds; i++) { /* the first round warms up */
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = now();
        exchange(&reducer, values, elements);
        MPI_Barrier(MPI_COMM_WORLD);
        const double between = now();
        allreduce(values, elements);
        MPI_Barrier(MPI_COMM_WORLD);
        if (i >= 0) {
            own[i] = between - begin;
            theirs[i] = now() - between;
        }
    }
    qsort(own, (size_t)rounds, sizeof *own, compare);
    qsort(theirs, (size_t)rounds, sizeof *theirs, compare);
    if (rank == 0)
        printf(
            "%d ranks, %zu elements, medians of %d: fixed order %.1f ms, MPI_Allreduce %.1f ms\n",
            ranks, elements, rounds, 1e3 * own[rounds / 2], 1e3 * theirs[rounds / 2]);
    svit_mpi_free(place);
    free(values);
    MPI_Finalize();
}
