/* Runs tasks on the thread pool of the program that uses the library. */
#ifndef SV_HOST_POOL_H
#define SV_HOST_POOL_H

#include "base/threads/ranges.h"

#include <shiftvit/parallel.h>

enum { SV_MAX_THREADS = 1024 }; /* workers of a pool */

typedef struct sv_host_pool {
    svit_parallel_for_function parallel_for; /* NULL: the program has none */
    void *user;
} sv_host_pool;

/* Runs tasks 0..count-1 for workers 0..workers-1, at most SV_MAX_THREADS, and returns when all are
 * done. Each worker is one index of a parallel_for call, so that no two tasks of a worker overlap.
 * Holds no lock and keeps its state on the stack: the program may meanwhile run other work on this
 * thread, and that work may call the library again. */
void sv_host_pool_run(const sv_host_pool *host, uint32_t workers, sv_ranges_task task,
                      void *argument, size_t count);

#endif
