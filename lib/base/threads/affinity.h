/* The CPUs that the process may use, and the order in which workers are pinned to them. */
#ifndef SV_AFFINITY_H
#define SV_AFFINITY_H

#include <stdint.h>

/* CPUs that a mask has room for. Linux refuses a mask with fewer bits than the machine can have
 * CPUs, and it can be built for 8192; a cpu_set_t has 1024. */
enum { SV_CPUS = 16384 };

/* The number of CPUs, each hyperthread counted, that affinity and the quota of its control group
 * leave to the process, at least 1. */
uint32_t sv_affinity_cores(void);

/* Writes the numbers of the first `capacity` CPUs of the calling thread's affinity mask to `cpus`:
 * first one CPU of each core, then the second one of each core, and so on, each time in rising
 * order. Returns how many were written; 0 means that the mask cannot be read. CPUs whose siblings
 * cannot be read count as cores. `root` stands before the paths of the siblings: "", or a folder of
 * tests. */
uint32_t sv_affinity_order(const char *root, uint32_t *cpus, uint32_t capacity);

#endif
