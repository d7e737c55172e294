/* The order of the samples in an epoch. */
#ifndef SV_ORDER_H
#define SV_ORDER_H

#include "data/datasets/dataset_ops.h"

/* What an order depends on besides the seed and the epoch. */
typedef struct sv_order {
    uint32_t count;       /* samples */
    uint32_t window;      /* 0: the order is a permutation of all samples */
    uint32_t leaves;      /* of a batch, at least 1 */
    uint32_t batch;       /* readings of samples in a batch */
    uint32_t repeats;     /* readings of a sample, one behind another */
    uint32_t shard_count; /* 0 without a window */
    uint32_t *shards;     /* [shard_count] the first sample of each shard */
} sv_order;

/* Finds the shards of the dataset if order->window is not 0. So many of them that they would take
 * more than 1 byte a sample become one. Released by sv_order_free. SVIT_E_MEMORY. */
svit_status sv_order_find_shards(sv_order *order, const svit_dataset *dataset, svit_error *err);
void sv_order_free(const sv_allocator *allocator, sv_order *order);

/* Fills out[count] with the indices 0..count-1, as a permutation that depends on (seed, epoch) and
 * the order alone. */
void sv_order_fill(const sv_order *order, uint32_t *out, uint64_t seed, uint64_t epoch);

/* Where the sample of a reading is: reading `position` of the epoch is that of element place /
 * repeats of the order, and its repetition place % repeats. Without a window it is at `position`.
 */
uint64_t sv_order_place(const sv_order *order, uint64_t position);

#endif
