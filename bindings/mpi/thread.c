/* The thread that exchanges buckets while the program goes on with its backward, and the functions
 * of the reducer, which the program calls. */
#include "place.h"

#include "base/threads/fp_env.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double sv_mpi_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Exchanges one bucket, unless one before it has failed. The lock is held before and after. */
static void work_off(svit_mpi *self)
{
    const job one = self->queue.jobs[self->queue.done];
    svit_error err = {.struct_size = sizeof err};
    svit_status status = self->status;
    pthread_mutex_unlock(&self->queue.lock);
    const double begin = sv_mpi_clock_seconds();
    if (status == SVIT_OK)
        status = sv_mpi_exchange(self, &one, &err);
    const double end = sv_mpi_clock_seconds();
    pthread_mutex_lock(&self->queue.lock);
    if (self->status == SVIT_OK && status != SVIT_OK)
        self->error = err;
    self->status = status;
    self->times.exchange_seconds += end - begin;
    self->times.sent_bytes = self->bytes;
    self->queue.done++;
    pthread_cond_broadcast(&self->queue.changed);
}

static void *run(void *argument)
{
    svit_mpi *self = argument;
    job_queue *queue = &self->queue;
    /* That of the library's own additions; the thread has that of the program's thread that starts
     * it. */
    sv_fp_env_begin();
    pthread_mutex_lock(&queue->lock);
    while (!queue->ends || queue->done < queue->begun)
        if (queue->done < queue->begun)
            work_off(self);
        else
            pthread_cond_wait(&queue->changed, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

svit_status sv_mpi_thread_start(svit_mpi *self, svit_error *err)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    sigset_t blocked, before;
    pthread_mutex_init(&self->queue.lock, NULL);
    pthread_cond_init(&self->queue.changed, NULL);
    /* The signals of the program are for its own threads, but for those of faults and profilers. */
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const int code = pthread_create(&self->thread, NULL, run, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return sv_mpi_fail(err, SVIT_E_MEMORY, "no thread to exchange gradients: %s",
                           strerror(code));
    self->has_thread = true;
    return SVIT_OK;
}

void sv_mpi_thread_end(svit_mpi *self)
{
    if (!self->has_thread)
        return;
    pthread_mutex_lock(&self->queue.lock);
    self->queue.ends = true;
    pthread_cond_broadcast(&self->queue.changed);
    pthread_mutex_unlock(&self->queue.lock);
    pthread_join(self->thread, NULL);
    pthread_cond_destroy(&self->queue.changed);
    pthread_mutex_destroy(&self->queue.lock);
}

/* The partial sums of this rank in each bucket. */
static size_t own_rows(const svit_mpi *self)
{
    return self->first_row[self->rank + 1] - self->first_row[self->rank];
}

bool sv_mpi_queue_allocate(svit_mpi *self)
{
    enum { JOBS = 16 };
    job_queue *queue = &self->queue;
    queue->jobs = calloc(JOBS, sizeof *queue->jobs);
    if (!queue->jobs)
        return false;
    queue->capacity = JOBS;
    bool has_memory = true;
    for (size_t i = 0; i < JOBS && has_memory; i++) {
        queue->jobs[i].partials = malloc(own_rows(self) * sizeof *queue->jobs[i].partials);
        has_memory = queue->jobs[i].partials != NULL;
    }
    return has_memory;
}

/* Makes room for another bucket with `rows` partial sums. The thread may be exchanging a bucket
 * without the lock: a job moves, but its array of partial sums, which the thread's copy of the job
 * refers to, stays where it is. */
static bool grow(job_queue *queue, size_t rows)
{
    if (queue->begun == queue->capacity) {
        const size_t capacity = 2 * queue->capacity;
        job *jobs = realloc(queue->jobs, capacity * sizeof *jobs);
        if (!jobs)
            return false;
        for (size_t i = queue->capacity; i < capacity; i++)
            jobs[i] = (job){0};
        queue->jobs = jobs;
        queue->capacity = capacity;
    }
    job *one = &queue->jobs[queue->begun];
    if (!one->partials)
        one->partials = malloc(rows * sizeof *one->partials);
    return one->partials != NULL;
}

/* Waits until all buckets that were begun are exchanged, and begins to count anew. */
static void drain(job_queue *queue)
{
    while (queue->done < queue->begun)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->begun = queue->done = 0;
}

static svit_status begin_locked(svit_mpi *self, const svit_bucket *bucket, svit_error *err)
{
    job_queue *queue = &self->queue;
    const size_t rows = own_rows(self);
    if (bucket->count != rows)
        return sv_mpi_fail(err, SVIT_E_ARGUMENT,
                           "the bucket has %llu partial sums; %zu are expected",
                           (unsigned long long)bucket->count, rows);
    /* A failure would leave the other ranks waiting for this bucket, so without memory the next
     * job takes the place of the first one. */
    if (!grow(queue, rows))
        drain(queue);
    job *one = &queue->jobs[queue->begun];
    one->elements = bucket->elements;
    one->sum = bucket->sum;
    for (size_t row = 0; row < rows; row++)
        one->partials[row] = bucket->partials[row].values;
    queue->begun++;
    pthread_cond_broadcast(&queue->changed);
    return SVIT_OK;
}

svit_status sv_mpi_begin_bucket(void *user, const svit_bucket *bucket, svit_error *err)
{
    svit_mpi *self = user;
    pthread_mutex_lock(&self->queue.lock);
    svit_status status = begin_locked(self, bucket, err);
    pthread_mutex_unlock(&self->queue.lock);
    return status;
}

svit_status sv_mpi_finish_buckets(void *user, svit_error *err)
{
    svit_mpi *self = user;
    job_queue *queue = &self->queue;
    const double begin = sv_mpi_clock_seconds();
    pthread_mutex_lock(&queue->lock);
    drain(queue);
    const svit_status status = self->status;
    if (status != SVIT_OK)
        svit_error_set(err, status, self->error.message);
    self->times.wait_seconds += sv_mpi_clock_seconds() - begin;
    pthread_mutex_unlock(&queue->lock);
    return status;
}

svit_status sv_mpi_gather(void *user, const void *mine, void *all, size_t bytes, svit_error *err)
{
    svit_mpi *self = user;
    svit_status status = sv_mpi_finish_buckets(self, err); /* one thread at a time calls MPI */
    if (status != SVIT_OK)
        return status;
    const double begin = sv_mpi_clock_seconds();
    status = sv_mpi_exchange_bytes(self, mine, all, bytes, err);
    pthread_mutex_lock(&self->queue.lock);
    self->times.gather_seconds += sv_mpi_clock_seconds() - begin;
    pthread_mutex_unlock(&self->queue.lock);
    return status;
}
