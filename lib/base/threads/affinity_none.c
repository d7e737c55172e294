/* In the place of affinity.c on systems whose processes have no affinity mask. */
#include "base/threads/affinity.h"

#include <errno.h>

uint32_t sv_affinity_cores(void)
{
    return 1;
}

uint32_t sv_affinity_order(const char *root, uint32_t *cpus, uint32_t capacity)
{
    (void)root;
    (void)cpus;
    (void)capacity;
    errno = ENOSYS;
    return 0;
}
