/* The worker pool. Between calls workers spin for some tens of microseconds before they sleep,
 * because the next layer usually follows at once. */
#include "base/threads/pool.h"

#include "base/threads/fp_env.h"

#include <assert.h>
#include <stdatomic.h>

enum {
    SPIN_ROUNDS = 5000,                              /* some tens of microseconds */
    LINE = SV_ALIGNMENT / (int)sizeof(atomic_size_t) /* counters in a cache line */
};

typedef struct pool_worker {
    sv_pool *pool;
    sv_thread *thread;
    uint32_t index;
} pool_worker;

struct sv_pool {
    int64_t process;     /* the one that created the pool and has its workers */
    sv_host_pool host;   /* runs the tasks if its function is set; then there are no workers */
    sv_mutex *run_mutex; /* held by the caller of sv_pool_run */
    sv_mutex *mutex;     /* guards sleeping and waking */
    sv_condition *wake;
    sv_condition *idle;
    pool_worker *workers;
    sv_ranges ranges; /* of the tasks, a cache line for each worker */
    uint32_t threads;
    uint32_t started;
    sv_task task;
    void *argument;
    atomic_uint generation; /* counts the calls of sv_pool_run, and sv_pool_free */
    atomic_uint active;     /* workers that have not finished this generation */
    atomic_bool ending;
};

static inline void spin_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void wait_for_generation(sv_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPIN_ROUNDS; i++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen)
            return;
        spin_pause();
    }
    sv_mutex_lock(pool->mutex);
    while (atomic_load_explicit(&pool->generation, memory_order_acquire) == seen)
        sv_condition_wait(pool->wake, pool->mutex);
    sv_mutex_unlock(pool->mutex);
}

static void finish_generation(sv_pool *pool)
{
    if (atomic_fetch_sub_explicit(&pool->active, 1, memory_order_acq_rel) != 1)
        return;
    sv_mutex_lock(pool->mutex);
    sv_condition_broadcast(pool->idle);
    sv_mutex_unlock(pool->mutex);
}

static void worker_main(void *argument)
{
    pool_worker *worker = argument;
    sv_pool *pool = worker->pool;
    unsigned seen = 0;
    sv_fp_env_begin();
    for (;;) {
        wait_for_generation(pool, seen);
        seen++;
        if (atomic_load_explicit(&pool->ending, memory_order_acquire))
            return;
        sv_ranges_claim(&pool->ranges, worker->index, pool->task, pool->argument);
        finish_generation(pool);
    }
}

static void start_generation(sv_pool *pool)
{
    sv_mutex_lock(pool->mutex);
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    sv_condition_broadcast(pool->wake);
    sv_mutex_unlock(pool->mutex);
}

static void wait_until_idle(sv_pool *pool)
{
    for (int i = 0; i < SPIN_ROUNDS; i++) {
        if (atomic_load_explicit(&pool->active, memory_order_acquire) == 0)
            return;
        spin_pause();
    }
    sv_mutex_lock(pool->mutex);
    while (atomic_load_explicit(&pool->active, memory_order_acquire) != 0)
        sv_condition_wait(pool->idle, pool->mutex);
    sv_mutex_unlock(pool->mutex);
}

static void run_on_workers(sv_pool *pool, sv_task task, void *argument, size_t count)
{
    sv_mutex_lock(pool->run_mutex);
    pool->task = task;
    pool->argument = argument;
    sv_ranges_set(&pool->ranges, count);
    sv_fp_env before = sv_fp_env_begin();
    if (pool->started == 0 || count == 1) {
        sv_ranges_claim(&pool->ranges, 0, task, argument);
    } else {
        atomic_store_explicit(&pool->active, pool->started, memory_order_relaxed);
        start_generation(pool);
        sv_ranges_claim(&pool->ranges, 0, task, argument);
        wait_until_idle(pool);
    }
    sv_fp_env_end(before);
    sv_mutex_unlock(pool->run_mutex);
}

void sv_pool_run(sv_pool *pool, sv_task task, void *argument, size_t count)
{
    if (count == 0)
        return;
    assert(pool->process == sv_process_id());
    if (pool->host.parallel_for)
        sv_host_pool_run(&pool->host, pool->threads, task, argument, count);
    else
        run_on_workers(pool, task, argument, count);
}

void sv_pool_run_locked(sv_pool *pool, sv_task task, void *argument, size_t count)
{
    if (!pool->host.parallel_for) {
        sv_pool_run(pool, task, argument, count);
        return;
    }
    sv_fp_env before = sv_fp_env_begin();
    for (size_t i = 0; i < count; i++)
        task(argument, i, 0);
    sv_fp_env_end(before);
}

static bool create_locks(sv_pool *pool, const sv_allocator *allocator)
{
    pool->run_mutex = sv_mutex_create(allocator);
    pool->mutex = sv_mutex_create(allocator);
    pool->wake = sv_condition_create(allocator);
    pool->idle = sv_condition_create(allocator);
    return pool->run_mutex && pool->mutex && pool->wake && pool->idle;
}

static svit_status start_workers(sv_pool *pool, const sv_allocator *allocator, svit_error *err)
{
    for (uint32_t i = 1; i < pool->threads; i++) {
        pool_worker *worker = &pool->workers[i];
        *worker = (pool_worker){.pool = pool, .index = i};
        worker->thread = sv_thread_start(allocator, worker_main, worker);
        if (!worker->thread)
            return sv_fail(err, SVIT_E_MEMORY, "worker %u of %u could not be started", i,
                           pool->threads);
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
    pool->ranges = (sv_ranges){.workers = pool->threads, .stride = LINE, .next = memory};
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
    svit_status status = host.parallel_for ? SVIT_OK : pool_open(pool, allocator, err);
    if (status != SVIT_OK) {
        sv_pool_free(allocator, pool);
        return status;
    }
    *out = pool;
    return SVIT_OK;
}

/* Wakes all workers by a generation of tasks in which they find `ending` set, joins them, and frees
 * the locks. */
static void end_workers(sv_pool *pool, const sv_allocator *allocator)
{
    if (pool->started) {
        atomic_store_explicit(&pool->ending, true, memory_order_release);
        start_generation(pool);
        for (uint32_t i = 1; i <= pool->started; i++)
            sv_thread_join(allocator, pool->workers[i].thread);
    }
    sv_condition_free(allocator, pool->idle);
    sv_condition_free(allocator, pool->wake);
    sv_mutex_free(allocator, pool->mutex);
    sv_mutex_free(allocator, pool->run_mutex);
}

/* A forked child has no workers to wait for, and the locks may be held for ever. */
static void abandon_workers(const sv_pool *pool, const sv_allocator *allocator)
{
    for (uint32_t i = 1; i <= pool->started; i++)
        sv_thread_abandon(allocator, pool->workers[i].thread);
    sv_condition_abandon(allocator, pool->idle);
    sv_condition_abandon(allocator, pool->wake);
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

uint32_t sv_pool_threads(const sv_pool *pool)
{
    return pool->threads;
}

int64_t sv_pool_process(const sv_pool *pool)
{
    return pool->process;
}
