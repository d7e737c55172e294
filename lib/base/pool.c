/* The worker pool. The tasks are divided into one contiguous range for each worker, so that
 * successive tasks of a worker share cached data. A worker that has finished its range claims tasks
 * of the other ranges. Between calls workers spin for some tens of microseconds before they sleep,
 * because the next layer usually follows at once. */
#include "base/pool.h"

#include "base/fp_env.h"

#include <assert.h>
#include <stdatomic.h>

enum { SPIN_ROUNDS = 5000 }; /* some tens of microseconds */

typedef struct pool_worker {
    sv_pool *pool;
    sv_thread *thread;
    uint32_t index;
    size_t end;                                /* one past the last task of its range */
    _Alignas(SV_ALIGNMENT) atomic_size_t next; /* the first unclaimed task */
} pool_worker;

struct sv_pool {
    int64_t process;     /* the one that created the pool and has its workers */
    sv_mutex *run_mutex; /* held by the caller of sv_pool_run */
    sv_mutex *mutex;     /* guards sleeping and waking */
    sv_condition *wake;
    sv_condition *idle;
    pool_worker *workers;
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

/* Divides tasks 0..count-1 into ranges whose lengths differ by at most 1. */
static void set_ranges(sv_pool *pool, size_t count)
{
    size_t next = 0, each = count / pool->threads, more = count % pool->threads;
    for (uint32_t i = 0; i < pool->threads; i++) {
        pool_worker *worker = &pool->workers[i];
        atomic_store_explicit(&worker->next, next, memory_order_relaxed);
        next += each + (i < more);
        worker->end = next;
    }
}

/* Runs tasks of the worker's range, then of the others. An exhausted range is only read: if every
 * worker incremented every counter, the cache line transfers would take longer than small tasks. */
static void claim_tasks(sv_pool *pool, uint32_t worker)
{
    for (uint32_t i = 0; i < pool->threads; i++) {
        pool_worker *from = &pool->workers[(worker + i) % pool->threads];
        while (atomic_load_explicit(&from->next, memory_order_relaxed) < from->end) {
            size_t task = atomic_fetch_add_explicit(&from->next, 1, memory_order_relaxed);
            if (task < from->end)
                pool->task(pool->argument, task, worker);
        }
    }
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
        claim_tasks(pool, worker->index);
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

void sv_pool_run(sv_pool *pool, sv_task task, void *argument, size_t count)
{
    if (count == 0)
        return;
    assert(pool->process == sv_process_id());
    sv_mutex_lock(pool->run_mutex);
    pool->task = task;
    pool->argument = argument;
    set_ranges(pool, count);
    sv_fp_env before = sv_fp_env_begin();
    if (pool->started == 0 || count == 1) {
        claim_tasks(pool, 0);
    } else {
        atomic_store_explicit(&pool->active, pool->started, memory_order_relaxed);
        start_generation(pool);
        claim_tasks(pool, 0);
        wait_until_idle(pool);
    }
    sv_fp_env_end(before);
    sv_mutex_unlock(pool->run_mutex);
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

svit_status sv_pool_create(sv_pool **out, const sv_allocator *allocator, uint32_t threads,
                           svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_allocate_array(allocator, &memory, 1, sizeof(sv_pool), "the worker pool", err));
    sv_pool *pool = memory;
    pool->process = sv_process_id();
    pool->threads = threads;
    svit_status status =
        sv_allocate_array(allocator, &memory, threads, sizeof(pool_worker), "workers", err);
    if (status == SVIT_OK) {
        pool->workers = memory;
        if (!create_locks(pool, allocator))
            status = sv_fail(err, SVIT_E_MEMORY, "the worker pool's locks could not be created");
        else
            status = start_workers(pool, allocator, err);
    }
    if (status != SVIT_OK) {
        sv_pool_free(allocator, pool);
        return status;
    }
    *out = pool;
    return SVIT_OK;
}

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
