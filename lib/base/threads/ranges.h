/* Tasks 0..count-1, divided into one contiguous range for each worker, so that successive tasks of
 * a worker share cached data. A worker that has finished its range claims tasks of the others. */
#ifndef SV_RANGES_H
#define SV_RANGES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sv_ranges {
    size_t count;        /* of tasks */
    uint32_t workers;    /* at least 1 */
    uint32_t stride;     /* elements of `next` from one worker to the next */
    atomic_size_t *next; /* the first unclaimed task of each range: [workers, stride] */
} sv_ranges;

/* Runs the task with index `task` on worker `worker`. */
typedef void (*sv_ranges_task)(void *argument, size_t task, uint32_t worker);

/* How many of `workers` workers get a task if there are `count` tasks. Both are at least 1. */
static inline uint32_t sv_ranges_workers(uint32_t workers, size_t count)
{
    return count < workers ? (uint32_t)count : workers;
}

/* Divides `count` tasks among the first `workers` workers, at least 1, for which `next` has room.
 * The lengths of the ranges differ by at most 1. Nobody claims tasks meanwhile. */
void sv_ranges_set(sv_ranges *ranges, uint32_t workers, size_t count);

/* Runs unclaimed tasks, those of the worker's own range first, until there are none. */
void sv_ranges_claim(const sv_ranges *ranges, uint32_t worker, sv_ranges_task task, void *argument);

#endif
