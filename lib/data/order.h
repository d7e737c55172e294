/* The order in which an epoch takes its samples. */
#ifndef SV_ORDER_H
#define SV_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* order[0..count-1] = every number below `count` once: as numbered, or shuffled from
 * (seed, epoch). */
void sv_order_fill(uint32_t *order, uint32_t count, int32_t shuffle, uint64_t seed, uint64_t epoch);

#endif
