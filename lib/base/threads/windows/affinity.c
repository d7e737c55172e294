/* Reads the affinity mask of Windows, and which CPUs are hyperthreads of one core. CPU number n is
 * number n % 64 of the processor group n / 64. */
#include "base/threads/affinity.h"

#include <stdbool.h>
#include <windows.h>

enum { GROUP = 64 };

/* CPUs of the groups. A process whose threads are in several groups has no mask of one. */
uint32_t sv_affinity_cores(void)
{
    DWORD_PTR mask = 0, system = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &mask, &system))
        return 1;
    const uint32_t count =
        mask ? (uint32_t)__builtin_popcountll(mask) : GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return count > 0 ? count : 1;
}

/* The CPUs of one core by the first one of them; 0 where the system does not tell. */
static void read_cores(uint64_t cores[GROUP])
{
    enum { MOST = 1024 }; /* cores, caches and nodes of a group */
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION list[MOST];
    DWORD bytes = sizeof list;
    for (int i = 0; i < GROUP; i++)
        cores[i] = 0;
    if (!GetLogicalProcessorInformation(list, &bytes))
        return;
    for (size_t i = 0; i < bytes / sizeof *list; i++)
        if (list[i].Relationship == RelationProcessorCore && list[i].ProcessorMask)
            cores[__builtin_ctzll(list[i].ProcessorMask)] = list[i].ProcessorMask;
}

/* Whether a CPU below `cpu` that is still in the mask is on the same core. */
static bool follows_a_sibling(const uint64_t cores[GROUP], uint64_t left, uint32_t cpu)
{
    for (uint32_t first = 0; first <= cpu; first++)
        if (cores[first] >> cpu & 1)
            return (cores[first] & left & (((uint64_t)1 << cpu) - 1)) != 0;
    return false;
}

/* Each pass takes the first CPU that each core has left. */
uint32_t sv_affinity_order(const char *root, uint32_t *cpus, uint32_t capacity)
{
    (void)root;
    GROUP_AFFINITY mask;
    uint64_t cores[GROUP];
    uint32_t count = 0;
    if (!GetThreadGroupAffinity(GetCurrentThread(), &mask))
        return 0;
    read_cores(cores);
    for (uint64_t left = mask.Mask; left && count < capacity;) {
        uint64_t behind = left;
        for (uint32_t cpu = 0; cpu < GROUP && count < capacity; cpu++) {
            if (!(left >> cpu & 1) || follows_a_sibling(cores, left, cpu))
                continue;
            cpus[count++] = (uint32_t)mask.Group * GROUP + cpu;
            behind &= ~((uint64_t)1 << cpu);
        }
        left = behind;
    }
    return count;
}
