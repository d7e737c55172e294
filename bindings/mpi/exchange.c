/* Adds the partial sums of all ranks in the order of the tree, each rank a part of the elements,
 * and gives the sums to all. MPI moves the bytes; the additions are made here, since those of
 * MPI_Allreduce depend on the number of ranks. */
#include "place.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Elements that are exchanged at once: a bound on the memory, and below what MPI's int can count.
 */
enum { ELEMENTS_MAX = 1 << 20 };

/* A wait looks so many times, giving way to other threads, before it sleeps in between. */
enum { EAGER_LOOKS = 30, PAUSE_NS = 50000 };

/* Waits for one or two requests without keeping a core from the threads that compute, as
 * MPI_Waitall would. */
static int wait_all(int count, MPI_Request *requests)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    MPI_Status statuses[2];
    for (int looks = 0;; looks++) {
        int done = 0;
        const int code = MPI_Testall(count, requests, &done, statuses);
        if (code != MPI_SUCCESS || done)
            return code;
        if (looks < EAGER_LOOKS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
    }
}

static void add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* Gives `send` elements of `from` to another rank and takes `take` elements from it. */
static int swap(svit_mpi *self, uint32_t partner, const float *from, size_t send, float *to,
                size_t take)
{
    MPI_Request requests[2];
    int code =
        MPI_Irecv(to, (int)take, MPI_FLOAT, (int)partner, 0, self->communicator, &requests[0]);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(from, (int)send, MPI_FLOAT, (int)partner, 0, self->communicator,
                         &requests[1]);
    self->bytes += send * sizeof *from;
    return code == MPI_SUCCESS ? wait_all(2, requests) : code;
}

/* Elements begin..end-1, of which a rank keeps one half. */
typedef struct span {
    size_t begin, middle, end;
    bool keeps_low;
} span;

/* sum[count] becomes the sum of all ranks' arrays, added as a tree over the ranks: neighbours
 * first, then pairs of neighbours. At each level a rank gives half of its elements away and adds
 * what it gets for the other half; then it collects the halves again in reverse. */
static int sum_in_halves(svit_mpi *self, float *sum, size_t count)
{
    span spans[32];
    size_t level = 0, begin = 0, end = count;
    for (uint32_t apart = 1; apart < self->ranks; apart *= 2, level++) {
        const span at = {begin, begin + (end - begin) / 2, end, (self->rank & apart) == 0};
        begin = at.keeps_low ? at.begin : at.middle;
        end = at.keeps_low ? at.middle : at.end;
        const size_t given = at.keeps_low ? at.middle : at.begin;
        const size_t given_count = at.end - at.begin - (end - begin);
        const int code =
            swap(self, self->rank ^ apart, sum + given, given_count, self->received, end - begin);
        if (code != MPI_SUCCESS)
            return code;
        add(sum + begin, self->received, end - begin);
        spans[level] = at;
    }
    while (level-- > 0) {
        const span *at = &spans[level];
        const size_t other = at->keeps_low ? at->middle : at->begin;
        const size_t own = at->keeps_low ? at->begin : at->middle;
        const size_t own_count = at->keeps_low ? at->middle - at->begin : at->end - at->middle;
        const int code = swap(self, self->rank ^ (uint32_t)1 << level, sum + own, own_count,
                              sum + other, at->end - at->begin - own_count);
        if (code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

/* Writes how many elements this rank sends to each rank (`sends`): its own rows times the other's
 * part of `count` elements; or receives from each: the other's rows times its own part. `places`
 * become the offsets at which they begin. Returns the sum of the counts. */
static size_t set_counts(const svit_mpi *self, int *counts, int *places, size_t count, bool sends)
{
    size_t at = 0;
    for (uint32_t rank = 0; rank < self->ranks; rank++) {
        const uint32_t of = sends ? rank : self->rank, rows_of = sends ? self->rank : rank;
        const size_t part = svit_partition_begin(count, self->ranks, of + 1) -
                            svit_partition_begin(count, self->ranks, of);
        const size_t rows = self->first_row[rows_of + 1] - self->first_row[rows_of];
        counts[rank] = (int)(rows * part);
        places[rank] = (int)at;
        at += rows * part;
    }
    return at;
}

/* Copies the partial sums of this rank to `sent`, by the rank that adds them. */
static void pack(svit_mpi *self, float *const *partials, size_t offset, size_t count)
{
    const size_t rows = self->first_row[self->rank + 1] - self->first_row[self->rank];
    float *to = self->sent;
    for (uint32_t rank = 0; rank < self->ranks; rank++) {
        const size_t first = svit_partition_begin(count, self->ranks, rank);
        const size_t part = svit_partition_begin(count, self->ranks, rank + 1) - first;
        for (size_t row = 0; row < rows; row++, to += part)
            memcpy(to, partials[row] + offset + first, part * sizeof *to);
    }
}

/* Gives every rank its part of the sums of the others. */
static int spread_sums(svit_mpi *self, float *sum, size_t count)
{
    MPI_Request request;
    int *counts = self->counts, *places = self->places;
    for (uint32_t rank = 0; rank < self->ranks; rank++) {
        places[rank] = (int)svit_partition_begin(count, self->ranks, rank);
        counts[rank] = (int)svit_partition_begin(count, self->ranks, rank + 1) - places[rank];
    }
    self->bytes += (uint64_t)counts[self->rank] * (self->ranks - 1) * sizeof *sum;
    const int code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, sum, counts, places, MPI_FLOAT,
                                     self->communicator, &request);
    return code == MPI_SUCCESS ? wait_all(1, &request) : code;
}

/* The way for any number of ranks and of partial sums: each rank gets all partial sums of its part
 * of the elements, and adds them. */
static int sum_in_parts(svit_mpi *self, float *const *partials, float *sum, size_t offset,
                        size_t count)
{
    MPI_Request request;
    int *sent = self->counts, *received = sent + self->ranks;
    int *sent_at = self->places, *received_at = sent_at + self->ranks;
    const size_t first = svit_partition_begin(count, self->ranks, self->rank);
    const size_t part = svit_partition_begin(count, self->ranks, self->rank + 1) - first;
    pack(self, partials, offset, count);
    self->bytes += set_counts(self, sent, sent_at, count, true) * sizeof *sum;
    set_counts(self, received, received_at, count, false);
    int code = MPI_Ialltoallv(self->sent, sent, sent_at, MPI_FLOAT, self->received, received,
                              received_at, MPI_FLOAT, self->communicator, &request);
    if (code == MPI_SUCCESS)
        code = wait_all(1, &request);
    if (code != MPI_SUCCESS)
        return code;
    for (size_t i = 0; i < self->addition_count; i++)
        add(self->received + self->additions[i].to * part,
            self->received + self->additions[i].from * part, part);
    memcpy(sum + offset + first, self->received, part * sizeof *sum);
    return spread_sums(self, sum + offset, count);
}

svit_status sv_mpi_check(svit_mpi *self, int code, svit_error *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return SVIT_OK;
    self->has_failed = true;
    MPI_Error_string(code, text, &length);
    return sv_mpi_fail(err, SVIT_E_IO, "MPI: %.*s", length, text);
}

/* SVIT_E_IO once MPI has failed. */
static svit_status check_usable(const svit_mpi *self, svit_error *err)
{
    return self->has_failed ? sv_mpi_fail(err, SVIT_E_IO, "MPI has failed before") : SVIT_OK;
}

svit_status sv_mpi_exchange(svit_mpi *self, const job *one, svit_error *err)
{
    const svit_status usable = check_usable(self, err);
    if (usable != SVIT_OK)
        return usable;
    for (size_t offset = 0; offset < one->elements; offset += ELEMENTS_MAX) {
        const size_t left = one->elements - offset;
        const size_t count = left < ELEMENTS_MAX ? left : ELEMENTS_MAX;
        const int code = self->in_halves
                             ? sum_in_halves(self, one->sum + offset, count)
                             : sum_in_parts(self, one->partials, one->sum, offset, count);
        if (code != MPI_SUCCESS)
            return sv_mpi_check(self, code, err);
    }
    return SVIT_OK;
}

svit_status sv_mpi_exchange_bytes(svit_mpi *self, const void *mine, void *all, size_t bytes,
                                  svit_error *err)
{
    MPI_Request request;
    const svit_status usable = check_usable(self, err);
    if (usable != SVIT_OK)
        return usable;
    if (bytes > INT32_MAX / self->ranks)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT, "bytes is %zu; at most %u are gathered", bytes,
                           INT32_MAX / self->ranks);
    int code = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                              self->communicator, &request);
    if (code == MPI_SUCCESS)
        code = wait_all(1, &request);
    return sv_mpi_check(self, code, err);
}

/* The row of the partial sum that begins with `leaf`. */
static size_t row_of(const uint64_t *leaf_of, size_t count, uint64_t leaf)
{
    size_t row = 0;
    while (row < count && leaf_of[row] != leaf)
        row++;
    return row;
}

static int compare_leaves(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Fills additions and rows from the plan: a sum that is added to another has a row, and so has leaf
 * 0. */
static void fill_rows(svit_mpi *self, const svit_reduction *plan, uint64_t *leaf_of)
{
    size_t rows = 1;
    leaf_of[0] = 0;
    for (size_t i = 0; i < self->addition_count; i++)
        leaf_of[rows++] = plan[i].from;
    qsort(leaf_of, rows, sizeof *leaf_of, compare_leaves);
    for (size_t i = 0; i < self->addition_count; i++)
        self->additions[i] =
            (addition){row_of(leaf_of, rows, plan[i].to), row_of(leaf_of, rows, plan[i].from)};
    for (size_t row = 0, rank = 0; rank <= self->ranks; rank++) {
        const uint64_t first = svit_partition_begin(self->leaves, self->ranks, rank);
        while (row < rows && leaf_of[row] < first)
            row++;
        self->first_row[rank] = row;
    }
    self->in_halves = rows == self->ranks && (self->ranks & (self->ranks - 1)) == 0;
}

/* Allocates what the chosen way needs. */
static bool allocate(svit_mpi *self)
{
    const size_t rows = self->first_row[self->ranks];
    const size_t own = self->first_row[self->rank + 1] - self->first_row[self->rank];
    const size_t part = ELEMENTS_MAX / self->ranks + 1;
    self->sent_elements = self->in_halves ? 0 : own * ELEMENTS_MAX;
    self->received_elements = self->in_halves ? ELEMENTS_MAX / 2 + 1 : rows * part;
    self->received = malloc(self->received_elements * sizeof *self->received);
    self->sent = self->in_halves ? NULL : malloc(self->sent_elements * sizeof *self->sent);
    self->counts = calloc(2 * (size_t)self->ranks, sizeof *self->counts);
    self->places = calloc(2 * (size_t)self->ranks, sizeof *self->places);
    return self->received && (self->sent || self->in_halves) && self->counts && self->places &&
           sv_mpi_queue_allocate(self);
}

svit_status sv_mpi_plan_exchange(svit_mpi *self, svit_error *err)
{
    svit_status status =
        svit_reduction_plan(self->leaves, self->ranks, NULL, 0, &self->addition_count, err);
    if (status != SVIT_OK || self->ranks == 1)
        return status;
    svit_reduction *plan = calloc(self->addition_count, sizeof *plan);
    uint64_t *leaf_of = calloc(self->addition_count + 1, sizeof *leaf_of);
    self->additions = calloc(self->addition_count, sizeof *self->additions);
    self->first_row = calloc((size_t)self->ranks + 1, sizeof *self->first_row);
    bool has_memory = plan && leaf_of && self->additions && self->first_row;
    if (has_memory)
        status = svit_reduction_plan(self->leaves, self->ranks, plan, self->addition_count,
                                     &self->addition_count, err);
    if (has_memory && status == SVIT_OK) {
        fill_rows(self, plan, leaf_of);
        has_memory = allocate(self);
    }
    free(leaf_of);
    free(plan);
    return has_memory ? status : sv_mpi_fail(err, SVIT_E_MEMORY, "no memory to exchange gradients");
}
