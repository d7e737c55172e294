/* Measures the throughput of a small piece of work on several threads at once. */
#include "throughput.h"

#include "training/progress.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { ROUNDS = 5 };
static const double round_seconds = 0.12;

/* Starts each round on all threads together: every thread reports that it is ready, and thread 0
 * then starts the round. */
typedef struct round_barrier {
    atomic_uint ready;  /* reports of all rounds so far, without those of thread 0 */
    atomic_uint rounds; /* rounds that were started */
} round_barrier;

typedef struct member {
    throughput_worker worker;
    double rate; /* work per second in the last round */
    round_barrier *barrier;
} member;

/* Allocates and fills the array on the thread that will use it, so that its pages are in the memory
 * of that thread's NUMA node. */
static void make_array(throughput_worker *self)
{
    size_t floats = self->kind->floats;
    self->array = aligned_alloc(64, (floats * sizeof *self->array + 63) / 64 * 64);
    for (size_t i = 0; self->array && i < floats; i++)
        self->array[i] = (float)(i % 17) * 0.1f - 0.8f;
}

/* Allocates the array and runs the work once as a warm-up. Returns 0 if there is not enough
 * memory. */
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

/* Repeats the work for round_seconds and notes its rate. */
static void run_round(member *self)
{
    double done = 0;
    double passed = 0;
    double begin = progress_clock();
    while (passed < round_seconds) {
        done += self->worker.kind->work(&self->worker);
        passed = progress_clock() - begin;
    }
    self->rate = done / passed;
}

/* The rounds of every thread but the first. */
static void *follow(void *argument)
{
    member *self = argument;
    int ready = prepare(&self->worker);
    for (unsigned round = 0; round <= ROUNDS; round++) {
        atomic_fetch_add(&self->barrier->ready, 1);
        while (atomic_load(&self->barrier->rounds) <= round)
            sched_yield();
        if (ready && round < ROUNDS)
            run_round(self);
    }
    free(self->worker.array);
    return NULL;
}

/* Waits until the other threads have finished a round, and returns the sum of all rates. */
static double gather(const member *members, unsigned count, unsigned round)
{
    double rate = 0;
    while (atomic_load(&members->barrier->ready) < (count - 1) * (round + 1))
        sched_yield();
    for (unsigned i = 0; i < count; i++)
        rate += members[i].rate;
    return rate;
}

/* The rounds of thread 0. Returns the best sum of rates. */
static double lead(member *members, unsigned count)
{
    double best = 0;
    int ready = prepare(&members->worker);
    for (unsigned round = 0; round <= ROUNDS; round++) {
        double rate = gather(members, count, round);
        best = rate > best ? rate : best;
        atomic_store(&members->barrier->rounds, round + 1);
        if (ready && round < ROUNDS)
            run_round(members);
    }
    free(members->worker.array);
    return best;
}

double throughput_best(const throughput_kernel *kind, uint32_t threads)
{
    member members[THROUGHPUT_THREADS];
    pthread_t handles[THROUGHPUT_THREADS];
    round_barrier barrier = {0};
    unsigned count = 0;
    threads = threads < 1 ? 1 : threads > THROUGHPUT_THREADS ? THROUGHPUT_THREADS : threads;
    for (uint32_t i = 0; i < threads; i++)
        members[i] = (member){.worker = {.kind = kind}, .barrier = &barrier};
    do
        count++;
    while (count < threads && pthread_create(&handles[count], NULL, follow, &members[count]) == 0);
    double best = lead(members, count);
    for (unsigned i = 1; i < count; i++)
        pthread_join(handles[i], NULL);
    return best;
}
