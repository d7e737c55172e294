/* Checks the reducer over MPI, run by mpirun with any number of processes: sums of buckets of many
 * sizes against the tree of all leaves, to the bit; gathering; times; and what is refused. Prints
 * "ok" on rank 0. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setattr_default_np */
#endif
#include <shiftvit/mpi.h>

#include <fenv.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

/* The gradient of a leaf: numbers whose sum depends on the order. */
static float value(uint64_t leaf, size_t element)
{
    uint64_t bits = (leaf * 1000003 + element + 1) * 0x9E3779B97F4A7C15u;
    bits ^= bits >> 29;
    return ((float)(bits >> 40) - 8388608.0f) * (bits & 1 ? 1e-3f : 1e3f);
}

/* The tree below the node of `size` leaves, a power of two, that begins with `leaf`. */
static float tree(uint64_t leaf, uint64_t size, uint64_t leaves, size_t element)
{
    if (size == 1)
        return value(leaf, element);
    const uint64_t half = size / 2;
    const float left = tree(leaf, half, leaves, element);
    return leaf + half < leaves ? left + tree(leaf + half, half, leaves, element) : left;
}

static uint64_t power_from(uint64_t count)
{
    uint64_t power = 1;
    while (power < count)
        power *= 2;
    return power;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The leaves with which the partial sums of all ranks begin, in ascending order, and all leaves
 * behind them. */
static size_t list_sums(uint64_t *first, uint32_t leaves, uint32_t ranks)
{
    size_t count = 0;
    svit_reduction_plan(leaves, ranks, NULL, 0, &count, NULL);
    svit_reduction *plan = calloc(count + 1, sizeof *plan);
    if (count > 0)
        svit_reduction_plan(leaves, ranks, plan, count, &count, NULL);
    first[0] = 0;
    for (size_t i = 0; i < count; i++)
        first[i + 1] = plan[i].from;
    free(plan);
    qsort(first, count + 1, sizeof *first, compare);
    first[count + 1] = leaves;
    return count + 1;
}

/* Sums buckets of these sizes at once, as one step does. */
static void check_sums(const svit_reducer *reducer, const size_t *sizes, size_t count)
{
    enum { SUMS = 80 };
    svit_error err = {.struct_size = sizeof err};
    uint64_t first[SUMS];
    float *memory[SUMS] = {NULL};
    const uint32_t leaves = reducer->leaves;
    const size_t sums = list_sums(first, leaves, reducer->ranks);
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += sizes[i];
    svit_partial_sum partials[SUMS];
    size_t own = 0;
    for (size_t i = 0; i < sums; i++) {
        if (first[i] < svit_partition_begin(leaves, reducer->ranks, reducer->rank) ||
            first[i] >= svit_partition_begin(leaves, reducer->ranks, reducer->rank + 1))
            continue;
        memory[own] = malloc(total * sizeof(float));
        for (size_t e = 0; e < total; e++)
            memory[own][e] = tree(first[i], power_from(first[i + 1] - first[i]), leaves, e);
        partials[own++].leaf = first[i];
    }
    for (size_t i = 0, at = 0; i < count; at += sizes[i], i++) {
        for (size_t k = 0; k < own; k++)
            partials[k].values = memory[k] + at;
        const svit_bucket bucket = {.struct_size = sizeof bucket,
                                    .number = i,
                                    .elements = sizes[i],
                                    .count = own,
                                    .partials = partials,
                                    .sum = partials[own - 1].values};
        CHECK(reducer->begin(reducer->user, &bucket, &err) == SVIT_OK, "%s", err.message);
    }
    CHECK(reducer->finish(reducer->user, &err) == SVIT_OK, "%s", err.message);
    size_t wrong = 0;
    for (size_t e = 0; e < total; e++) {
        const float wanted = tree(0, power_from(leaves), leaves, e);
        wrong += memcmp(&memory[own - 1][e], &wanted, sizeof wanted) != 0;
    }
    CHECK(wrong == 0, "rank %u of %u, %u leaves: %zu of %zu sums differ", reducer->rank,
          reducer->ranks, leaves, wrong, total);
    for (size_t k = 0; k < own; k++)
        free(memory[k]);
}

/* Subnormal values are zero on CPUs that can flush them, as within the library. */
static void check_subnormal(const svit_reducer *reducer)
{
#if defined(__SSE2__) || defined(__aarch64__)
    enum { SUMS = 80 };
    svit_error err = {.struct_size = sizeof err};
    uint64_t first[SUMS];
    float values[SUMS];
    svit_partial_sum partials[SUMS];
    size_t own = 0;
    const size_t sums = list_sums(first, reducer->leaves, reducer->ranks);
    for (size_t i = 0; i < sums; i++)
        if (first[i] >= svit_partition_begin(reducer->leaves, reducer->ranks, reducer->rank) &&
            first[i] < svit_partition_begin(reducer->leaves, reducer->ranks, reducer->rank + 1)) {
            values[own] = 1e-39f;
            partials[own] = (svit_partial_sum){first[i], &values[own]};
            own++;
        }
    const svit_bucket bucket = {.struct_size = sizeof bucket,
                                .elements = 1,
                                .count = own,
                                .partials = partials,
                                .sum = partials[own - 1].values};
    CHECK(reducer->begin(reducer->user, &bucket, &err) == SVIT_OK, "%s", err.message);
    CHECK(reducer->finish(reducer->user, &err) == SVIT_OK, "%s", err.message);
    CHECK(values[own - 1] == 0, "%g", (double)values[own - 1]);
#else
    (void)reducer;
#endif
}

static void check_gather(const svit_reducer *reducer, size_t bytes)
{
    svit_error err = {.struct_size = sizeof err};
    unsigned char *mine = malloc(bytes), *all = calloc(reducer->ranks, bytes);
    memset(mine, (int)(reducer->rank + 1), bytes);
    CHECK(reducer->gather(reducer->user, mine, all, bytes, &err) == SVIT_OK, "%s", err.message);
    for (size_t i = 0; i < bytes * reducer->ranks; i++)
        CHECK(all[i] == i / bytes + 1, "byte %zu is %u", i, all[i]);
    free(all);
    free(mine);
}

static void check_times(svit_mpi *place, uint32_t ranks)
{
    svit_mpi_times times = {.exchange_seconds = -1, .wait_seconds = -1, .gather_seconds = -1};
    svit_error err = {.struct_size = sizeof err};
    CHECK(svit_mpi_get_times(place, &times, sizeof times, &err) == SVIT_OK, "%s", err.message);
    CHECK(times.exchange_seconds >= 0 && times.wait_seconds >= 0 && times.gather_seconds > 0,
          "%g %g %g", times.exchange_seconds, times.wait_seconds, times.gather_seconds);
    CHECK((times.sent_bytes > 0) == (ranks > 1), "%llu", (unsigned long long)times.sent_bytes);
    CHECK(svit_mpi_get_times(place, NULL, sizeof times, &err) == SVIT_E_ARGUMENT, "times NULL");
}

static void check_leaves(uint32_t leaves)
{
    static const size_t sizes[] = {1, 2, 3, 5, 17, 1000, 65536};
    /* While the first bucket is exchanged, the queue of the others grows. */
    size_t large[40] = {(1 << 20) + 12345};
    for (size_t i = 1; i < sizeof large / sizeof *large; i++)
        large[i] = 7;
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    svit_reducer reducer;
    /* The sums are rounded to nearest, however the program rounds. */
    fesetround(FE_UPWARD);
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, leaves, &err) == SVIT_OK, "%s", err.message);
    fesetround(FE_TONEAREST);
    CHECK(svit_mpi_get_reducer(place, &reducer, sizeof reducer, &err) == SVIT_OK, "%s",
          err.message);
    for (int step = 0; step < 3 && reducer.ranks > 1; step++)
        check_sums(&reducer, sizes, sizeof sizes / sizeof *sizes);
    if (reducer.ranks > 1)
        check_subnormal(&reducer);
    if (reducer.ranks > 1)
        check_sums(&reducer, large, sizeof large / sizeof *large);
    check_gather(&reducer, 1);
    check_gather(&reducer, 4099);
    check_times(place, reducer.ranks);
    svit_mpi_free(place);
}

static void check_refusals(int rank, int ranks)
{
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, (uint32_t)ranks - 1, &err) == SVIT_E_ARGUMENT,
          "too few leaves");
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, 70000, &err) == SVIT_E_ARGUMENT, "many leaves");
    CHECK(svit_mpi_create(NULL, MPI_COMM_WORLD, 16, &err) == SVIT_E_ARGUMENT, "out NULL");
    if (ranks == 1)
        return;
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, rank == 1 ? 64 : 32, &err) == SVIT_E_ARGUMENT,
          "leaves differ");
    CHECK(strstr(err.message, "32 on rank 0 and 64 on rank 1"), "%s", err.message);
}

/* The communicator of a process that belongs to none of the parts of another one. */
static void check_no_communicator(int rank)
{
    MPI_Comm part;
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &part);
    const svit_status status = svit_mpi_create(&place, part, 16, &err);
    CHECK(status == (rank == 0 ? SVIT_OK : SVIT_E_ARGUMENT), "%s", err.message);
    CHECK(rank == 0 || strstr(err.message, "MPI_COMM_NULL"), "%s", err.message);
    svit_mpi_free(place);
    if (part != MPI_COMM_NULL)
        MPI_Comm_free(&part);
}

/* The last process can start no thread: none gets a place. */
static void check_failure_of_one(int rank, int ranks)
{
    const size_t more_than_there_is = (size_t)1 << 50;
    pthread_attr_t normal, larger;
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    pthread_getattr_default_np(&normal);
    pthread_getattr_default_np(&larger);
    pthread_attr_setstacksize(&larger, more_than_there_is);
    if (rank == ranks - 1)
        pthread_setattr_default_np(&larger);
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, 16, &err) == SVIT_E_MEMORY, "no thread");
    const char *wanted = rank == ranks - 1 ? "no thread" : "could not take its place";
    CHECK(strstr(err.message, wanted), "%s", err.message);
    pthread_setattr_default_np(&normal);
    pthread_attr_destroy(&larger);
    pthread_attr_destroy(&normal);
}

int main(void)
{
    int level, rank, ranks, all_failures = 0;
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, 16, &err) == SVIT_E_STATE, "before MPI_Init");
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    static const uint32_t leaves[] = {16, 7, 24, 33};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        check_leaves(leaves[i] < (uint32_t)ranks ? (uint32_t)ranks : leaves[i]);
    check_refusals(rank, ranks);
    check_no_communicator(rank);
    check_failure_of_one(rank, ranks);
    MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, 16, &err) == SVIT_E_STATE, "after MPI_Finalize");
    if (rank == 0 && all_failures + failures == 0)
        puts("ok");
    return all_failures + failures > 0;
}
