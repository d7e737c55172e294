/* Dividing tasks among workers, and claiming them. */
#include "base/threads/ranges.h"

static size_t range_begin(const sv_ranges *ranges, uint32_t worker)
{
    size_t each = ranges->count / ranges->workers, more = ranges->count % ranges->workers;
    return each * worker + (worker < more ? worker : more);
}

void sv_ranges_set(sv_ranges *ranges, uint32_t workers, size_t count)
{
    ranges->workers = workers;
    ranges->count = count;
    for (uint32_t i = 0; i < ranges->workers; i++)
        atomic_store_explicit(&ranges->next[i * ranges->stride], range_begin(ranges, i),
                              memory_order_relaxed);
}

/* An exhausted range is only read: if every worker incremented every counter, the cache line
 * transfers would take longer than small tasks. */
static void claim_range(const sv_ranges *ranges, uint32_t range, uint32_t worker,
                        sv_ranges_task task, void *argument)
{
    atomic_size_t *next = &ranges->next[range * ranges->stride];
    const size_t end = range_begin(ranges, range + 1);
    while (atomic_load_explicit(next, memory_order_relaxed) < end) {
        size_t claimed = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
        if (claimed < end)
            task(argument, claimed, worker);
    }
}

void sv_ranges_claim(const sv_ranges *ranges, uint32_t worker, sv_ranges_task task, void *argument)
{
    for (uint32_t i = 0; i < ranges->workers; i++)
        claim_range(ranges, (worker + i) % ranges->workers, worker, task, argument);
}
