/* The worker pool, which runs tasks, each identified by an index. Any worker may run a task, so a
 * task's results must depend on its index alone. */
#ifndef SV_POOL_H
#define SV_POOL_H

#include "base/threads/host_pool.h"
#include "base/threads/thread.h"

typedef struct sv_pool sv_pool;

/* Runs the task with index `task` on worker 0..threads-1. The worker's index selects its
 * scratch. */
typedef sv_ranges_task sv_task;

/* Creates a pool of `threads` workers, 1..SV_MAX_THREADS: the thread that calls sv_pool_run, and
 * threads - 1 that it starts. If the host has a function, that runs the workers, and no thread is
 * started. */
svit_status sv_pool_create(sv_pool **out, const sv_allocator *allocator, uint32_t threads,
                           sv_host_pool host, svit_error *err);

/* Stops the workers and frees the pool. NULL is allowed. In a forked child, which has no workers,
 * it only releases the memory. */
void sv_pool_free(const sv_allocator *allocator, sv_pool *pool);

/* Runs tasks 0..count-1 and returns when all are done. Any thread of the process that created the
 * pool may call it; concurrent calls run one after the other, on a host's threads side by side. In
 * a task of the pool the calling thread runs all; a host's function is called again. The caller
 * holds no lock. Allocates nothing. */
void sv_pool_run(sv_pool *pool, sv_task task, void *argument, size_t count);

/* The same for a caller that holds a lock: on the calling thread alone where the pool is a host's,
 * whose function may run other work that waits for the lock on this very thread, or is in a round,
 * whose tasks may wait for the lock. */
void sv_pool_run_locked(sv_pool *pool, sv_task task, void *argument, size_t count);

/* Sets `bytes` bytes to zero on all workers, each a part, in the order of the workers. Where each
 * worker gets the same part of later tasks, memory that nobody has written to yet comes to lie near
 * the worker that uses it. In a forked child, which has no workers, the calling thread does all. */
void sv_pool_clear(sv_pool *pool, void *memory, size_t bytes);

/* Allocates count * size bytes into *out and clears them by sv_pool_clear. SVIT_E_MEMORY, with a
 * message that names `what`, if the product overflows or there is no memory. */
svit_status sv_pool_allocate(sv_pool *pool, const sv_allocator *allocator, void **out, size_t count,
                             size_t size, const char *what, svit_error *err);

/* Pins worker i to CPU number i of sv_affinity_order; with more workers than CPUs the order is
 * repeated. The calling thread, which is worker 0, stays as it is, and so do a host's threads.
 * Returns 0, or the errno value of the first worker that could not be pinned; the others are pinned
 * all the same. */
int sv_pool_pin(sv_pool *pool);

/* How many workers sv_pool_pin has pinned. */
uint32_t sv_pool_pinned(const sv_pool *pool);

/* Workers, the calling thread included. */
uint32_t sv_pool_threads(const sv_pool *pool);

/* How many of them sv_pool_run of `count` tasks uses, from worker 0 on: as many need scratch. */
uint32_t sv_pool_workers(const sv_pool *pool, size_t count);

/* The id of the process that created the pool. */
int64_t sv_pool_process(const sv_pool *pool);

#endif
