/* Checks that no process waits for one that has no memory, and that MPI is left alone once it has
 * failed. Run by mpirun with any number of processes, and with the word "start" for the failures of
 * svit_mpi_start. The linker puts the __wrap_ functions between the library and what it calls.
 * Prints "ok" on rank 0. */
#include <shiftvit/mpi.h>

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

/* Allocations that still succeed if memory is scarce; no thread but the program's allocates. */
static bool is_scarce;
static size_t left;

static bool has_memory(void)
{
    if (!is_scarce)
        return true;
    const bool has = left > 0;
    left -= has;
    return has;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return has_memory() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return has_memory() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return has_memory() ? __real_realloc(memory, bytes) : NULL;
}

/* MPI fails while it collects bytes, if `breaks`; calls are counted. */
static bool breaks;
static int mpi_calls, finalized;

int __real_MPI_Iallgather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                          int to_count, MPI_Datatype to_type, MPI_Comm among, MPI_Request *request);
int __wrap_MPI_Iallgather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                          int to_count, MPI_Datatype to_type, MPI_Comm among, MPI_Request *request)
{
    mpi_calls++;
    return breaks ? MPI_ERR_OTHER
                  : __real_MPI_Iallgather(from, from_count, from_type, to, to_count, to_type, among,
                                          request);
}

int __real_MPI_Testall(int count, MPI_Request *requests, int *done, MPI_Status *statuses);
int __wrap_MPI_Testall(int count, MPI_Request *requests, int *done, MPI_Status *statuses)
{
    mpi_calls++;
    return __real_MPI_Testall(count, requests, done, statuses);
}

int __real_MPI_Finalize(void);
int __wrap_MPI_Finalize(void)
{
    finalized++;
    return __real_MPI_Finalize();
}

/* The last process lacks memory for each of the library's allocations in turn: none gets a place.
 * */
static void check_creation(int rank, int ranks)
{
    svit_status status = SVIT_E_MEMORY;
    size_t n = 0;
    for (; status == SVIT_E_MEMORY && n < 100; n++) {
        svit_error err = {.struct_size = sizeof err};
        svit_mpi *place = NULL;
        left = n;
        is_scarce = rank == ranks - 1;
        status = svit_mpi_create(&place, MPI_COMM_WORLD, (uint32_t)ranks, &err);
        is_scarce = false;
        CHECK(status == SVIT_OK || status == SVIT_E_MEMORY, "%zu: %s", n, err.message);
        CHECK((status == SVIT_OK) == (place != NULL), "%zu: %d", n, (int)status);
        CHECK(status == SVIT_OK || rank == ranks - 1 || strstr(err.message, "SVIT_E_MEMORY"), "%s",
              err.message);
        svit_mpi_free(place);
    }
    CHECK(n > (ranks > 1 ? 20u : 2u) && n < 100, "%zu allocations", n);
}

/* Begins more buckets than the queue has room for, of which the first is exchanged for long. */
static void begin_buckets(const svit_reducer *reducer, float *values, size_t first, size_t others)
{
    svit_error err = {.struct_size = sizeof err};
    for (size_t i = 0, at = 0; i <= others; at += i++ ? 7 : first) {
        const size_t count = i ? 7 : first;
        for (size_t k = 0; k < count; k++)
            values[at + k] = (float)((reducer->rank + 1) * (i + 1));
        const svit_partial_sum own = {reducer->rank, values + at};
        const svit_bucket bucket = {.struct_size = sizeof bucket,
                                    .number = i,
                                    .elements = count,
                                    .count = 1,
                                    .partials = &own,
                                    .sum = values + at};
        CHECK(reducer->begin(reducer->user, &bucket, &err) == SVIT_OK, "%s", err.message);
    }
}

static void check_sums(const svit_reducer *reducer, const float *values, size_t first,
                       size_t others)
{
    const uint32_t ranks = reducer->ranks;
    size_t wrong = 0;
    for (size_t i = 0, at = 0; i <= others; at += i++ ? 7 : first)
        for (size_t k = 0; k < (i ? 7 : first); k++)
            wrong += values[at + k] != (float)(ranks * (ranks + 1) / 2 * (i + 1));
    CHECK(wrong == 0, "%zu sums are wrong", wrong);
}

/* The last process has memory for `some` allocations of its buckets alone: all sums are right. */
static void check_buckets(int rank, int ranks, size_t some)
{
    enum { FIRST = (1 << 20) + 12345, OTHERS = 70 };
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    svit_reducer reducer;
    float *values = __real_calloc(FIRST + 7 * OTHERS, sizeof *values);
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, (uint32_t)ranks, &err) == SVIT_OK, "%s",
          err.message);
    CHECK(svit_mpi_get_reducer(place, &reducer, sizeof reducer, &err) == SVIT_OK, "%s",
          err.message);
    left = some;
    is_scarce = rank == ranks - 1;
    for (int step = 0; step < 2; step++) {
        begin_buckets(&reducer, values, FIRST, OTHERS);
        CHECK(reducer.finish(reducer.user, &err) == SVIT_OK, "%s", err.message);
        check_sums(&reducer, values, FIRST, OTHERS);
    }
    is_scarce = false;
    svit_mpi_free(place);
    free(values);
}

/* After a failure of MPI the functions of the reducer fail, and call nothing of it. */
static void check_after_failure(int ranks)
{
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    svit_reducer reducer;
    float values[7] = {1};
    unsigned char mine = 1, all[64];
    CHECK(svit_mpi_create(&place, MPI_COMM_WORLD, (uint32_t)ranks, &err) == SVIT_OK, "%s",
          err.message);
    CHECK(svit_mpi_get_reducer(place, &reducer, sizeof reducer, &err) == SVIT_OK, "%s",
          err.message);
    breaks = true;
    CHECK(reducer.gather(reducer.user, &mine, all, 1, &err) == SVIT_E_IO, "%s", err.message);
    breaks = false;
    const int calls = mpi_calls;
    CHECK(reducer.gather(reducer.user, &mine, all, 1, &err) == SVIT_E_IO, "%s", err.message);
    CHECK(strstr(err.message, "MPI has failed"), "%s", err.message);
    begin_buckets(&reducer, values, 7, 0);
    CHECK(reducer.finish(reducer.user, &err) == SVIT_E_IO, "%s", err.message);
    svit_mpi_free(place);
    CHECK(mpi_calls == calls, "%d calls of MPI", mpi_calls - calls);
}

/* After a failure of MPI svit_mpi_start does not finalise what it has initialised. */
static int check_start(void)
{
    svit_error err = {.struct_size = sizeof err};
    svit_mpi *place = NULL;
    int rank;
    breaks = true;
    CHECK(svit_mpi_start(&place, 64, &err) == SVIT_E_IO, "%s", err.message);
    CHECK(finalized == 0 && !place, "%d", finalized);
    if (finalized)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && failures == 0)
        puts("ok");
    __real_MPI_Finalize();
    return failures > 0;
}

int main(int argc, char **argv)
{
    int level, rank, ranks, all_failures = 0;
    if (argc > 1 && strcmp(argv[1], "start") == 0)
        return check_start();
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_creation(rank, ranks);
    for (size_t some = 0; some < 4 && ranks > 1; some++)
        check_buckets(rank, ranks, some);
    if (ranks > 1)
        check_after_failure(ranks);
    MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0 && all_failures == 0)
        puts("ok");
    return all_failures > 0;
}
