/* Creates and frees a place among the processes of a communicator. */
#include "place.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

svit_status sv_mpi_fail(svit_error *err, svit_status status, const char *format, ...)
{
    char text[sizeof err->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return svit_error_set(err, status, text);
}

/* SVIT_E_STATE unless MPI can be called, by one thread at a time. */
static svit_status check_initialised(svit_error *err)
{
    int is_initialised, is_finalised, level;
    MPI_Initialized(&is_initialised);
    MPI_Finalized(&is_finalised);
    if (!is_initialised || is_finalised)
        return sv_mpi_fail(err, SVIT_E_STATE,
                           "MPI %s; MPI_Init_thread comes before, MPI_Finalize after",
                           is_finalised ? "has been finalised" : "has not been initialised");
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_SERIALIZED)
        return sv_mpi_fail(err, SVIT_E_STATE,
                           "MPI was initialised with thread level %d; MPI_Init_thread with "
                           "MPI_THREAD_SERIALIZED (%d) is needed",
                           level, MPI_THREAD_SERIALIZED);
    return SVIT_OK;
}

/* Returns `mine`, or a failure if another process has one: it would leave the others waiting. */
static svit_status agree(svit_mpi *self, svit_status mine, svit_error *err)
{
    struct {
        int status, rank;
    } own = {mine, (int)self->rank}, lowest;
    svit_error cause = {.struct_size = sizeof cause};
    if (self->has_failed)
        return mine;
    const int code = MPI_Allreduce(&own, &lowest, 1, MPI_2INT, MPI_MINLOC, self->communicator);
    const svit_status status = sv_mpi_check(self, code, &cause);
    if (mine != SVIT_OK)
        return mine;
    if (status != SVIT_OK)
        return svit_error_set(err, status, cause.message);
    if (lowest.status == SVIT_OK)
        return SVIT_OK;
    return sv_mpi_fail(err, lowest.status, "rank %d of %u could not take its place: %s",
                       lowest.rank, self->ranks, svit_status_name(lowest.status));
}

/* SVIT_E_ARGUMENT unless all ranks have the same number of leaves. */
static svit_status check_leaves(svit_mpi *self, svit_error *err)
{
    uint32_t *all = calloc(self->ranks, sizeof *all);
    const svit_status has_room =
        all ? SVIT_OK : sv_mpi_fail(err, SVIT_E_MEMORY, "no memory for %u ranks", self->ranks);
    const svit_status all_have = agree(self, has_room, err);
    if (all_have != SVIT_OK) {
        free(all);
        return all_have;
    }
    svit_status status = sv_mpi_exchange_bytes(self, &self->leaves, all, sizeof *all, err);
    for (uint32_t rank = 1; rank < self->ranks && status == SVIT_OK; rank++)
        if (all[rank] != all[0])
            status =
                sv_mpi_fail(err, SVIT_E_ARGUMENT,
                            "leaves is %u on rank 0 and %u on rank %u; all ranks need the same",
                            all[0], all[rank], rank);
    free(all);
    return status;
}

static svit_status take_place(svit_mpi *self, svit_error *err)
{
    svit_status status = check_leaves(self, err);
    if (status == SVIT_OK)
        status = sv_mpi_plan_exchange(self, err);
    return status == SVIT_OK ? sv_mpi_thread_start(self, err) : status;
}

/* Joins the other processes in a copy of the communicator, which needs no memory of this library:
 * who has none can tell the others. */
static svit_status join(svit_mpi *self, MPI_Comm communicator, svit_error *err)
{
    int rank = 0, ranks = 1;
    svit_status status = sv_mpi_check(self, MPI_Comm_dup(communicator, &self->communicator), err);
    if (status != SVIT_OK)
        return status;
    MPI_Comm_set_errhandler(self->communicator, MPI_ERRORS_RETURN);
    MPI_Comm_rank(self->communicator, &rank);
    MPI_Comm_size(self->communicator, &ranks);
    self->rank = (uint32_t)rank;
    self->ranks = (uint32_t)ranks;
    return SVIT_OK;
}

/* Frees the copy of the communicator, for which all processes meet. */
static void leave(svit_mpi *self)
{
    if (self->communicator != MPI_COMM_NULL && !self->has_failed)
        MPI_Comm_free(&self->communicator);
}

static void close_place(svit_mpi *self)
{
    sv_mpi_thread_end(self);
    leave(self);
    for (size_t i = 0; i < self->queue.capacity; i++)
        free(self->queue.jobs[i].partials);
    free(self->queue.jobs);
    free(self->places);
    free(self->counts);
    free(self->received);
    free(self->sent);
    free(self->first_row);
    free(self->additions);
    free(self);
}

/* Moves the place of a process that has joined to memory of its own, and opens it. */
static svit_status open_place(svit_mpi **out, svit_mpi *joined, svit_error *err)
{
    svit_mpi *self = calloc(1, sizeof *self);
    const svit_status has_room =
        self ? SVIT_OK : sv_mpi_fail(err, SVIT_E_MEMORY, "no memory for a place in MPI");
    svit_status status = agree(joined, has_room, err);
    if (status != SVIT_OK) {
        free(self);
        leave(joined);
        return status;
    }
    *self = *joined;
    status = agree(self, take_place(self, err), err);
    joined->has_failed = self->has_failed;
    if (status == SVIT_OK)
        *out = self;
    else
        close_place(self);
    return status;
}

/* Writes to *has_failed whether MPI has, as svit_mpi.has_failed says. */
static svit_status create(svit_mpi **out, MPI_Comm communicator, uint32_t leaves, bool *has_failed,
                          svit_error *err)
{
    svit_mpi local = {.communicator = MPI_COMM_NULL, .leaves = leaves};
    svit_status status = join(&local, communicator, err);
    if (status == SVIT_OK)
        status = open_place(out, &local, err);
    *has_failed = local.has_failed;
    return status;
}

SVIT_API svit_status svit_mpi_create(svit_mpi **out, MPI_Comm communicator, uint32_t leaves,
                                     svit_error *err)
{
    if (!out)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT, "out is NULL; a pointer is needed");
    const svit_status status = check_initialised(err);
    if (status != SVIT_OK)
        return status;
    if (communicator == MPI_COMM_NULL)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT,
                           "communicator is MPI_COMM_NULL; one that has this process is needed");
    bool has_failed;
    return create(out, communicator, leaves, &has_failed, err);
}

SVIT_API svit_status svit_mpi_start(svit_mpi **out, uint32_t leaves, svit_error *err)
{
    int is_initialised, level;
    bool has_failed = false;
    if (!out)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT, "out is NULL; a pointer is needed");
    MPI_Initialized(&is_initialised);
    if (!is_initialised)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    svit_status status = check_initialised(err);
    if (status == SVIT_OK)
        status = create(out, MPI_COMM_WORLD, leaves, &has_failed, err);
    if (status == SVIT_OK)
        (*out)->finalizes = !is_initialised;
    else if (!is_initialised && !has_failed)
        MPI_Finalize();
    return status;
}

SVIT_API void svit_mpi_free(svit_mpi *mpi)
{
    if (!mpi)
        return;
    const bool finalizes = mpi->finalizes && !mpi->has_failed;
    close_place(mpi);
    if (finalizes)
        MPI_Finalize();
}

/* Copies local[local_size] to the caller's struct of `size` bytes, which may be of an older or a
 * newer header. `name` is its type. */
static svit_status give(void *out, size_t size, const void *local, size_t local_size,
                        const char *name, svit_error *err)
{
    const uint32_t written = (uint32_t)size;
    if (size < sizeof written || size > UINT16_MAX)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT, "size is %zu; give sizeof(%s), %zu here", size,
                           name, local_size);
    memset(out, 0, size);
    memcpy(out, local, size < local_size ? size : local_size);
    memcpy(out, &written, sizeof written);
    return SVIT_OK;
}

SVIT_API svit_status svit_mpi_get_reducer(svit_mpi *mpi, svit_reducer *reducer, size_t size,
                                          svit_error *err)
{
    if (!mpi || !reducer)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer is needed",
                           mpi ? "reducer" : "mpi");
    const svit_reducer local = {.leaves = mpi->leaves,
                                .rank = mpi->rank,
                                .ranks = mpi->ranks,
                                .user = mpi,
                                .begin = sv_mpi_begin_bucket,
                                .finish = sv_mpi_finish_buckets,
                                .gather = sv_mpi_gather};
    return give(reducer, size, &local, sizeof local, "svit_reducer", err);
}

SVIT_API svit_status svit_mpi_get_times(const svit_mpi *mpi, svit_mpi_times *times, size_t size,
                                        svit_error *err)
{
    if (!mpi || !times)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT, "%s is NULL; a pointer is needed",
                           mpi ? "times" : "mpi");
    svit_mpi *self = (svit_mpi *)mpi; /* its lock changes */
    pthread_mutex_lock(&self->queue.lock);
    const svit_mpi_times local = self->times;
    pthread_mutex_unlock(&self->queue.lock);
    return give(times, size, &local, sizeof local, "svit_mpi_times", err);
}
