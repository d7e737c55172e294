/* The worker pool. Between calls workers spin for about 0.1 ms (SPIN_ROUNDS) before they sleep,
 * because the next layer usually follows at once.
 *
 * A call is a round, which as many workers may join as there are tasks; only their groups are
 * woken, so that few tasks cost the same on any number of threads. The caller runs tasks, too, and
 * when none is left it closes the round and waits for those who have joined it. It does not wait
 * for a worker that the system has not let run in the meantime: where other programs use the CPUs,
 * that would take longer than the tasks.
 *
 * A task may call functions of the program, which may call the library with the same pool. Such a
 * nested round cannot wait for the end of the one that it is in, so its thread runs it alone. */
#include "base/threads/pool.h"

#include "base/numbers/digits.h"
#include "base/threads/affinity.h"
#include "base/threads/fp_env.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Polls of an atomic variable before a thread goes to sleep: about 0.1 ms on x86, most of it in
     * the `pause` that follows each poll. */
    SPIN_ROUNDS = 5000,
    CLEARED = 256 << 10,                             /* bytes of a task that clears memory */
    LINE = SV_ALIGNMENT / (int)sizeof(atomic_size_t) /* counters in a cache line */
};

/* The state of the round is one number, so that a worker that joins changes what it has read, or
 * nothing. From the lowest bit on: how many workers are in the round, whether it is open, how many
 * may join, from worker 1 on, and the number of the round. The last wraps around, where size_t has
 * 32 bits after 2048 rounds: a worker that takes one for that which it has seen leaves it to the
 * others. */
enum {
    COUNT_BITS = 10,
    COUNT = (1 << COUNT_BITS) - 1,
    OPEN = 1 << COUNT_BITS,
    PART_SHIFT = COUNT_BITS + 1,
    NUMBER_SHIFT = PART_SHIFT + COUNT_BITS,
    GROUPS = COUNT_BITS
};
_Static_assert(SV_MAX_THREADS - 1 <= COUNT, "the workers of a round do not fit their bits");

typedef struct pool_worker {
    sv_pool *pool;
    sv_thread *thread;
    atomic_uintptr_t id; /* sv_thread_self of the thread; 0 before it runs */
    uint32_t index;
} pool_worker;

struct sv_pool {
    int64_t process;         /* id of the one that created the pool and has its workers */
    sv_host_pool host;       /* runs the tasks if its function is set; then there are no workers */
    sv_mutex *run_mutex;     /* held by the caller of sv_pool_run */
    atomic_uintptr_t caller; /* sv_thread_self of that thread; 0 without a round */
    sv_mutex *mutex;         /* guards sleeping and waking */
    sv_condition *wake[GROUPS]; /* of the workers of each group */
    sv_condition *idle;
    pool_worker *workers;
    sv_ranges ranges; /* of the tasks, a cache line for each worker */
    uint32_t threads;
    uint32_t started;
    uint32_t pinned;
    int spin_rounds;
    sv_task task;
    void *argument;
    atomic_size_t round;
    atomic_bool ending;
};

/* Tests lower the polls with SHIFTVIT_TEST_SPIN, because several of them that run at once have more
 * threads than there are cores; they cannot be raised. */
static int find_spin_rounds(void)
{
    const char *text = getenv("SHIFTVIT_TEST_SPIN");
    uint64_t wanted = SPIN_ROUNDS;
    const char *end = text ? sv_digits_read(&wanted, text, 10) : NULL;
    return end && end != text && wanted < SPIN_ROUNDS ? (int)wanted : SPIN_ROUNDS;
}

static inline void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Workers 2^g to 2^(g+1) - 1 are group g: they sleep together. */
static uint32_t group_of(uint32_t worker)
{
    uint32_t group = 0;
    while (worker >>= 1)
        group++;
    return group;
}

/* Whether a worker that has seen the round of number `seen` has something to do. *round becomes its
 * state. */
static bool is_called(sv_pool *pool, size_t seen, size_t *round)
{
    *round = atomic_load_explicit(&pool->round, memory_order_acquire);
    return *round >> NUMBER_SHIFT != seen ||
           atomic_load_explicit(&pool->ending, memory_order_acquire);
}

/* Waits until the round has another number than `seen`, or the pool ends, and returns its state. */
static size_t wait_for_round(sv_pool *pool, uint32_t group, size_t seen)
{
    size_t round;
    for (int i = 0; i < pool->spin_rounds; i++) {
        if (is_called(pool, seen, &round))
            return round;
        spin_pause();
    }
    sv_mutex_lock(pool->mutex);
    while (!is_called(pool, seen, &round))
        sv_condition_wait(pool->wake[group], pool->mutex);
    sv_mutex_unlock(pool->mutex);
    return round;
}

/* Joins the round, whose state was *round, if the worker may. *round becomes what decided it. */
static bool join_round(sv_pool *pool, uint32_t worker, size_t *round)
{
    while ((*round & OPEN) != 0 && worker <= (*round >> PART_SHIFT & COUNT))
        if (atomic_compare_exchange_weak_explicit(&pool->round, round, *round + 1,
                                                  memory_order_acquire, memory_order_acquire))
            return true;
    return false;
}

static void leave_round(sv_pool *pool)
{
    const size_t before = atomic_fetch_sub_explicit(&pool->round, 1, memory_order_acq_rel);
    if ((before & (OPEN | COUNT)) != 1)
        return;
    sv_mutex_lock(pool->mutex);
    sv_condition_broadcast(pool->idle);
    sv_mutex_unlock(pool->mutex);
}

static void worker_main(void *argument)
{
    pool_worker *worker = argument;
    sv_pool *pool = worker->pool;
    const uint32_t group = group_of(worker->index);
    size_t round = 0;
    atomic_store_explicit(&worker->id, sv_thread_self(), memory_order_relaxed);
    sv_fp_env_begin();
    for (;;) {
        round = wait_for_round(pool, group, round >> NUMBER_SHIFT);
        const bool joined = join_round(pool, worker->index, &round);
        /* Not before: join_round may have read a newer round, which is that of the end. */
        if (atomic_load_explicit(&pool->ending, memory_order_acquire))
            return;
        if (!joined)
            continue;
        sv_ranges_claim(&pool->ranges, worker->index, pool->task, pool->argument);
        leave_round(pool);
    }
}

/* Begins a round that the first `part` workers may join. */
static void start_round(sv_pool *pool, uint32_t part)
{
    const uint32_t last = group_of(part);
    sv_mutex_lock(pool->mutex);
    const size_t before = atomic_load_explicit(&pool->round, memory_order_relaxed);
    const size_t number = (before >> NUMBER_SHIFT) + 1;
    atomic_store_explicit(&pool->round, number << NUMBER_SHIFT | (size_t)part << PART_SHIFT | OPEN,
                          memory_order_release);
    for (uint32_t group = 0; group <= last; group++)
        sv_condition_broadcast(pool->wake[group]);
    sv_mutex_unlock(pool->mutex);
}

static bool is_in_round(sv_pool *pool)
{
    return (atomic_load_explicit(&pool->round, memory_order_acquire) & COUNT) != 0;
}

/* Closes the round, and waits until those who have joined it have left. */
static void end_round(sv_pool *pool)
{
    atomic_fetch_and_explicit(&pool->round, ~(size_t)OPEN, memory_order_acq_rel);
    for (int i = 0; i < pool->spin_rounds; i++) {
        if (!is_in_round(pool))
            return;
        spin_pause();
    }
    sv_mutex_lock(pool->mutex);
    while (is_in_round(pool))
        sv_condition_wait(pool->idle, pool->mutex);
    sv_mutex_unlock(pool->mutex);
}

/* Whether the calling thread runs a task of the pool: an id that is its own only it has stored. */
static bool is_in_task(sv_pool *pool)
{
    const uintptr_t self = sv_thread_self();
    bool found = atomic_load_explicit(&pool->caller, memory_order_relaxed) == self;
    for (uint32_t i = 1; i < pool->threads && !found; i++)
        found = atomic_load_explicit(&pool->workers[i].id, memory_order_relaxed) == self;
    return found;
}

static void run_alone(sv_task task, void *argument, size_t count)
{
    sv_fp_env before = sv_fp_env_begin();
    for (size_t i = 0; i < count; i++)
        task(argument, i, 0);
    sv_fp_env_end(before);
}

/* Runs a round. The calling thread has locked the pool, which is unlocked afterwards. */
static void run_on_workers(sv_pool *pool, sv_task task, void *argument, size_t count)
{
    atomic_store_explicit(&pool->caller, sv_thread_self(), memory_order_relaxed);
    pool->task = task;
    pool->argument = argument;
    const uint32_t workers = sv_ranges_workers(pool->threads, count);
    sv_ranges_set(&pool->ranges, workers, count);
    sv_fp_env before = sv_fp_env_begin();
    if (workers > 1)
        start_round(pool, workers - 1);
    sv_ranges_claim(&pool->ranges, 0, task, argument);
    if (workers > 1)
        end_round(pool);
    sv_fp_env_end(before);
    atomic_store_explicit(&pool->caller, 0, memory_order_relaxed);
    sv_mutex_unlock(pool->run_mutex);
}

/* Locks the pool for a round. False: the calling thread is in a round of it already. */
static bool lock_pool(sv_pool *pool)
{
    if (sv_mutex_try_lock(pool->run_mutex))
        return true;
    if (is_in_task(pool))
        return false;
    sv_mutex_lock(pool->run_mutex);
    return true;
}

void sv_pool_run(sv_pool *pool, sv_task task, void *argument, size_t count)
{
    if (count == 0)
        return;
    assert(pool->process == sv_process_id());
    if (pool->host.parallel_for)
        sv_host_pool_run(&pool->host, pool->threads, task, argument, count);
    else if (lock_pool(pool))
        run_on_workers(pool, task, argument, count);
    else
        run_alone(task, argument, count);
}

void sv_pool_run_locked(sv_pool *pool, sv_task task, void *argument, size_t count)
{
    assert(pool->process == sv_process_id());
    if (count > 0 && !pool->host.parallel_for && sv_mutex_try_lock(pool->run_mutex))
        run_on_workers(pool, task, argument, count);
    else
        run_alone(task, argument, count);
}

static bool create_locks(sv_pool *pool, const sv_allocator *allocator)
{
    pool->run_mutex = sv_mutex_create(allocator);
    pool->mutex = sv_mutex_create(allocator);
    pool->idle = sv_condition_create(allocator);
    bool created = pool->run_mutex && pool->mutex && pool->idle;
    for (uint32_t group = 0; created && group <= group_of(pool->threads - 1); group++) {
        pool->wake[group] = sv_condition_create(allocator);
        created = pool->wake[group] != NULL;
    }
    return created;
}

static svit_status start_workers(sv_pool *pool, const sv_allocator *allocator, svit_error *err)
{
    char reason[80];
    for (uint32_t i = 1; i < pool->threads; i++) {
        pool_worker *worker = &pool->workers[i];
        worker->pool = pool;
        worker->index = i;
        const int code = sv_thread_start(&worker->thread, allocator, worker_main, worker);
        if (code)
            return sv_fail(err, SVIT_E_MEMORY,
                           "worker %u of %u could not be started: %s; use fewer `threads`", i,
                           pool->threads, sv_errno_text(code, reason, sizeof reason));
        pool->started++;
    }
    return SVIT_OK;
}

static svit_status pool_open(sv_pool *pool, const sv_allocator *allocator, svit_error *err)
{
    void *memory;
    SVIT_TRY(
        sv_allocate_array(allocator, &memory, pool->threads, sizeof(pool_worker), "workers", err));
    pool->workers = memory;
    SVIT_TRY(sv_allocate_array(allocator, &memory, pool->threads, SV_ALIGNMENT,
                               "the ranges of workers", err));
    pool->ranges = (sv_ranges){.stride = LINE, .next = memory};
    if (!create_locks(pool, allocator))
        return sv_fail(err, SVIT_E_MEMORY, "the worker pool's locks could not be created");
    return start_workers(pool, allocator, err);
}

svit_status sv_pool_create(sv_pool **out, const sv_allocator *allocator, uint32_t threads,
                           sv_host_pool host, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_allocate_array(allocator, &memory, 1, sizeof(sv_pool), "the worker pool", err));
    sv_pool *pool = memory;
    pool->process = sv_process_id();
    pool->threads = threads;
    pool->host = host;
    pool->spin_rounds = find_spin_rounds();
    svit_status status = host.parallel_for ? SVIT_OK : pool_open(pool, allocator, err);
    if (status != SVIT_OK) {
        sv_pool_free(allocator, pool);
        return status;
    }
    *out = pool;
    return SVIT_OK;
}

/* Wakes all workers by a round in which they find `ending` set, joins them, and frees the locks. */
static void end_workers(sv_pool *pool, const sv_allocator *allocator)
{
    if (pool->started) {
        atomic_store_explicit(&pool->ending, true, memory_order_release);
        start_round(pool, pool->started);
        for (uint32_t i = 1; i <= pool->started; i++)
            sv_thread_join(allocator, pool->workers[i].thread);
    }
    sv_condition_free(allocator, pool->idle);
    for (uint32_t group = 0; group < GROUPS; group++)
        sv_condition_free(allocator, pool->wake[group]);
    sv_mutex_free(allocator, pool->mutex);
    sv_mutex_free(allocator, pool->run_mutex);
}

/* A forked child has no workers to wait for, and the locks may be held for ever. */
static void abandon_workers(const sv_pool *pool, const sv_allocator *allocator)
{
    for (uint32_t i = 1; i <= pool->started; i++)
        sv_thread_abandon(allocator, pool->workers[i].thread);
    sv_condition_abandon(allocator, pool->idle);
    for (uint32_t group = 0; group < GROUPS; group++)
        sv_condition_abandon(allocator, pool->wake[group]);
    sv_mutex_abandon(allocator, pool->mutex);
    sv_mutex_abandon(allocator, pool->run_mutex);
}

void sv_pool_free(const sv_allocator *allocator, sv_pool *pool)
{
    if (!pool)
        return;
    if (pool->process == sv_process_id())
        end_workers(pool, allocator);
    else
        abandon_workers(pool, allocator);
    sv_release(allocator, pool->ranges.next, pool->threads * (size_t)SV_ALIGNMENT);
    sv_release(allocator, pool->workers, pool->threads * sizeof(pool_worker));
    sv_release(allocator, pool, sizeof *pool);
}

typedef struct clearing {
    char *memory;
    size_t bytes;
} clearing;

static void clear_task(void *argument, size_t task, uint32_t worker)
{
    const clearing *self = argument;
    const size_t first = task * CLEARED, left = self->bytes - first;
    (void)worker;
    memset(self->memory + first, 0, left < CLEARED ? left : CLEARED);
}

void sv_pool_clear(sv_pool *pool, void *memory, size_t bytes)
{
    clearing self = {memory, bytes};
    if (pool->process != sv_process_id())
        memset(memory, 0, bytes);
    else
        sv_pool_run(pool, clear_task, &self, bytes / CLEARED + (bytes % CLEARED != 0));
}

svit_status sv_pool_allocate(sv_pool *pool, const sv_allocator *allocator, void **out, size_t count,
                             size_t size, const char *what, svit_error *err)
{
    SVIT_TRY(sv_allocate_uncleared(allocator, out, count, size, what, err));
    sv_pool_clear(pool, *out, count * size);
    return SVIT_OK;
}

int sv_pool_pin(sv_pool *pool)
{
    uint32_t cpus[SV_MAX_THREADS];
    const uint32_t count = sv_affinity_order("", cpus, pool->threads);
    if (count == 0)
        return errno;
    int first_code = 0;
    for (uint32_t i = 1; i <= pool->started; i++) {
        const int code = sv_thread_pin(pool->workers[i].thread, cpus[i % count]);
        pool->pinned += code == 0;
        if (first_code == 0)
            first_code = code;
    }
    return first_code;
}

uint32_t sv_pool_pinned(const sv_pool *pool)
{
    return pool->pinned;
}

uint32_t sv_pool_threads(const sv_pool *pool)
{
    return pool->threads;
}

uint32_t sv_pool_workers(const sv_pool *pool, size_t count)
{
    return sv_ranges_workers(pool->threads, count);
}

int64_t sv_pool_process(const sv_pool *pool)
{
    return pool->process;
}
