/* The worker pool: runs numbered tasks. Which worker runs a task is chance; what a task does must
 * depend on its number alone. */
#ifndef SV_POOL_H
#define SV_POOL_H

#include "base/thread.h"

typedef struct sv_pool sv_pool;

/* Does task number `task`, as worker 0..threads-1 (to find scratch of its own). */
typedef void (*sv_task)(void *argument, size_t task, uint32_t worker);

/* A pool of `threads` workers, the caller among them: starts threads - 1. */
svit_status sv_pool_create(sv_pool **out, const sv_allocator *allocator, uint32_t threads,
                           svit_error *err);

/* NULL allowed. In a child by fork it releases the pool's memory alone. */
void sv_pool_free(const sv_allocator *allocator, sv_pool *pool);

/* Does tasks 0..count-1 and returns when all are done. Callers on several threads take turns, all
 * of the process that made the pool. Allocates nothing. */
void sv_pool_run(sv_pool *pool, sv_task task, void *argument, size_t count);

uint32_t sv_pool_threads(const sv_pool *pool);

/* The process that made it. */
int64_t sv_pool_process(const sv_pool *pool);

#endif
