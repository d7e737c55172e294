/* Calls the program's parallel_for. What it has left undone, this thread does afterwards, and a
 * worker that it calls twice does nothing the second time. */
#include "base/threads/host_pool.h"

#include "base/threads/fp_env.h"

typedef struct host_run {
    sv_ranges_task task;
    void *argument;
    sv_ranges ranges;
    atomic_size_t next[SV_MAX_THREADS];
    atomic_flag begun[SV_MAX_THREADS]; /* whether the worker was called */
} host_run;

static void run_worker(void *user, size_t worker)
{
    host_run *run = user;
    if (worker >= run->ranges.workers || atomic_flag_test_and_set(&run->begun[worker]))
        return;
    sv_fp_env before = sv_fp_env_begin();
    sv_ranges_claim(&run->ranges, (uint32_t)worker, run->task, run->argument);
    sv_fp_env_end(before);
}

void sv_host_pool_run(const sv_host_pool *host, uint32_t workers, sv_ranges_task task,
                      void *argument, size_t count)
{
    host_run run;
    run.task = task;
    run.argument = argument;
    run.ranges = (sv_ranges){.stride = 1, .next = run.next};
    workers = sv_ranges_workers(workers, count);
    for (uint32_t i = 0; i < workers; i++)
        atomic_flag_clear(&run.begun[i]);
    sv_ranges_set(&run.ranges, workers, count);
    if (workers > 1)
        host->parallel_for(host->user, workers, run_worker, &run);
    for (uint32_t i = 0; i < workers; i++)
        run_worker(&run, i);
}
