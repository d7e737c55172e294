/* What all threads together reach in a moment of one kind of work. */
#include "throughput.h"

#include "common/progress.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LOOKS = 5 };
static const double look_seconds = 0.12;

/* The threads go from round to round together: all say when they are ready, thread 0 says go. */
typedef struct look_crew {
    atomic_uint ready;  /* counted over all rounds; thread 0 does not count itself */
    atomic_uint rounds; /* that may begin */
} look_crew;

typedef struct member {
    throughput_worker worker;
    double rate; /* of the round just done, a second */
    look_crew *crew;
} member;

/* By the thread that will use it, so that it lies in the memory near to that thread. */
static void make_array(throughput_worker *self)
{
    size_t floats = self->kind->floats;
    self->array = aligned_alloc(64, (floats * sizeof *self->array + 63) / 64 * 64);
    for (size_t i = 0; self->array && i < floats; i++)
        self->array[i] = (float)(i % 17) * 0.1f - 0.8f;
}

/* Makes what the work needs and warms up; 0 where there is no memory. */
static int prepare(throughput_worker *self)
{
    if (self->kind->floats > 0) {
        make_array(self);
        if (!self->array)
            return 0;
    }
    self->kind->work(self);
    return 1;
}

static void work_a_round(member *self)
{
    double done = 0;
    double passed = 0;
    double begin = progress_clock();
    while (passed < look_seconds) {
        done += self->worker.kind->work(&self->worker);
        passed = progress_clock() - begin;
    }
    self->rate = done / passed;
}

static void *follow(void *argument)
{
    member *self = argument;
    int ready = prepare(&self->worker);
    for (unsigned round = 0; round <= LOOKS; round++) {
        atomic_fetch_add(&self->crew->ready, 1);
        while (atomic_load(&self->crew->rounds) <= round)
            sched_yield();
        if (ready && round < LOOKS)
            work_a_round(self);
    }
    free(self->worker.array);
    return NULL;
}

/* Waits until all others have done a round, and returns what all did in it. */
static double gather(const member *members, unsigned count, unsigned round)
{
    double rate = 0;
    while (atomic_load(&members->crew->ready) < (count - 1) * (round + 1))
        sched_yield();
    for (unsigned i = 0; i < count; i++)
        rate += members[i].rate;
    return rate;
}

static double lead(member *members, unsigned count)
{
    double best = 0;
    int ready = prepare(&members->worker);
    for (unsigned round = 0; round <= LOOKS; round++) {
        double rate = gather(members, count, round);
        best = rate > best ? rate : best;
        atomic_store(&members->crew->rounds, round + 1);
        if (ready && round < LOOKS)
            work_a_round(members);
    }
    free(members->worker.array);
    return best;
}

double throughput_best(const throughput_kernel *kind, uint32_t threads)
{
    member members[THROUGHPUT_THREADS];
    pthread_t handles[THROUGHPUT_THREADS];
    look_crew crew = {0};
    unsigned count = 0;
    threads = threads < 1 ? 1 : threads > THROUGHPUT_THREADS ? THROUGHPUT_THREADS : threads;
    for (uint32_t i = 0; i < threads; i++)
        members[i] = (member){.worker = {.kind = kind}, .crew = &crew};
    do
        count++;
    while (count < threads && pthread_create(&handles[count], NULL, follow, &members[count]) == 0);
    double best = lead(members, count);
    for (unsigned i = 1; i < count; i++)
        pthread_join(handles[i], NULL);
    return best;
}
