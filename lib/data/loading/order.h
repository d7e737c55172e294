/* The order of the samples in an epoch. */
#ifndef SV_ORDER_H
#define SV_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Fills order[count] with the indices 0..count-1, ascending, or as a permutation that depends on
 * (seed, epoch) alone if `shuffle` is not 0. */
void sv_order_fill(uint32_t *order, uint32_t count, int32_t shuffle, uint64_t seed, uint64_t epoch);

#endif
