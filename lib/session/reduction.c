/* The tree in which the gradients of leaves are added, as far as it goes over several ranks. */
#include "base/size.h"
#include "base/status.h"

#include <shiftvit/reducer.h>

#include <stdbool.h>

enum { LEAVES_MAX = 65536 };

SVIT_API uint64_t svit_partition_begin(uint64_t items, uint64_t parts, uint64_t part)
{
    return parts > 0 ? sv_partition_begin(items, parts, part) : 0;
}

/* The rank that has a leaf. */
static uint32_t rank_of(uint32_t leaves, uint32_t ranks, uint32_t leaf)
{
    uint32_t rank = (uint32_t)((uint64_t)leaf * ranks / leaves);
    while (svit_partition_begin(leaves, ranks, rank + 1) <= leaf)
        rank++;
    return rank;
}

/* Whether one rank has all leaves from `first` to `end` - 1, so that its session adds them. */
static bool is_local(uint32_t leaves, uint32_t ranks, uint32_t first, uint32_t end)
{
    return rank_of(leaves, ranks, first) == rank_of(leaves, ranks, end - 1);
}

/* Writes the first `capacity` additions to `plan` and returns how many there are. */
static size_t list_additions(uint32_t leaves, uint32_t ranks, svit_reduction *plan, size_t capacity)
{
    size_t found = 0;
    for (uint32_t half = 1; half < leaves; half *= 2)
        for (uint32_t to = 0; to + half < leaves; to += 2 * half) {
            const uint32_t from = to + half, end = leaves - from < half ? leaves : from + half;
            if (is_local(leaves, ranks, to, end))
                continue;
            if (found < capacity)
                plan[found] = (svit_reduction){.to = to,
                                               .from = from,
                                               .to_rank = rank_of(leaves, ranks, to),
                                               .from_rank = rank_of(leaves, ranks, from)};
            found++;
        }
    return found;
}

SVIT_API svit_status svit_reduction_plan(uint32_t leaves, uint32_t ranks, svit_reduction *plan,
                                         size_t capacity, size_t *needed, svit_error *err)
{
    if (capacity > 0)
        SV_REQUIRE(plan);
    if (leaves < 1 || leaves > LEAVES_MAX)
        return sv_fail(err, SVIT_E_ARGUMENT, "leaves is %u; 1 to %d are accepted", leaves,
                       LEAVES_MAX);
    if (ranks < 1 || ranks > leaves)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "ranks is %u; 1 to %u, the number of leaves, are accepted", ranks, leaves);
    const size_t found = list_additions(leaves, ranks, NULL, 0);
    if (needed)
        *needed = found;
    if (capacity > 0 && found > capacity)
        return sv_fail(err, SVIT_E_ARGUMENT, "capacity is %zu; there are %zu additions", capacity,
                       found);
    list_additions(leaves, ranks, plan, capacity);
    return SVIT_OK;
}
