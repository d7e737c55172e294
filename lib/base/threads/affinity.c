/* Reads the affinity mask, and which CPUs are hyperthreads of one core. */
#include "base/threads/affinity.h"

#include "base/files/descriptor.h"
#include "base/numbers/digits.h"
#include "base/threads/cgroup.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct cpu_mask {
    cpu_set_t sets[SV_CPUS / (8 * sizeof(cpu_set_t))]; /* musl has another CPU_SETSIZE */
} cpu_mask;

static bool read_mask(cpu_mask *mask)
{
    return sched_getaffinity(0, sizeof *mask, mask->sets) == 0;
}

static bool mask_has(const cpu_mask *mask, uint32_t cpu)
{
    return CPU_ISSET_S(cpu, sizeof *mask, mask->sets);
}

uint32_t sv_affinity_cores(void)
{
    cpu_mask mask;
    if (!read_mask(&mask))
        return 1;
    const uint32_t quota = sv_cgroup_cores("");
    const int cores = CPU_COUNT_S(sizeof mask, mask.sets);
    const uint32_t allowed = cores > 0 ? (uint32_t)cores : 1;
    return quota > 0 && quota < allowed ? quota : allowed;
}

/* Whether a CPU below `cpu` that is still in the mask is on the same core. The system lists the
 * CPUs of a core as numbers and ranges in rising order: "3,67" or "6-7". */
static bool follows_a_sibling(const char *root, const cpu_mask *left, uint32_t cpu)
{
    char path[512], text[256];
    int length =
        snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
                 root, cpu);
    if (length < 0 || length >= (int)sizeof path || !sv_file_read_short(path, text, sizeof text))
        return false;
    for (const char *at = text, *end; *at >= '0' && *at <= '9'; at = end + (*end == ',')) {
        uint64_t first, last;
        end = sv_digits_read(&first, at, 10);
        if (!end)
            return false;
        last = first;
        if (*end == '-')
            end = sv_digits_read(&last, end + 1, 10);
        if (!end)
            last = UINT64_MAX;
        for (; first <= last && first < cpu; first++)
            if (mask_has(left, (uint32_t)first))
                return true;
        if (!end)
            return false;
    }
    return false;
}

/* Each pass takes the first CPU that each core has left. */
uint32_t sv_affinity_order(const char *root, uint32_t *cpus, uint32_t capacity)
{
    cpu_mask left, behind;
    uint32_t count = 0;
    if (!read_mask(&left))
        return 0;
    for (uint32_t before = UINT32_MAX; count < capacity && count != before;) {
        before = count;
        behind = left;
        for (uint32_t cpu = 0; cpu < SV_CPUS && count < capacity; cpu++) {
            if (!mask_has(&left, cpu) || follows_a_sibling(root, &left, cpu))
                continue;
            cpus[count++] = cpu;
            CPU_CLR_S(cpu, sizeof behind, behind.sets);
        }
        left = behind;
    }
    return count;
}
