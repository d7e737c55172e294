/* The order of the samples in an epoch. */
#ifndef SV_ORDER_H
#define SV_ORDER_H

#include "data/datasets/dataset_ops.h"

/* What an order depends on besides the seed and the epoch. */
typedef struct sv_order {
    uint32_t count;       /* samples */
    uint32_t window;      /* 0: the order is a permutation of all samples; else shards are read in
                             random order, and a sample moves by fewer places than this */
    uint32_t leaves;      /* parts of a batch of which ranks make some (svit_loader_config), at
                             least 1 */
    uint32_t batch;       /* readings of samples in a batch */
    uint32_t repeats;     /* readings of a sample, one behind another */
    uint32_t shard_count; /* 0 without a window */
    uint32_t *shards;     /* [shard_count] the first sample of each shard */
} sv_order;

/* Finds the shards of the dataset if order->window is not 0; their number in `order` is 0 before.
 * They take 4 bytes each, so at most as much as an order. Released by sv_order_free.
 * SVIT_E_MEMORY. */
svit_status sv_order_find_shards(sv_order *order, const svit_dataset *dataset, svit_error *err);
void sv_order_free(const sv_allocator *allocator, sv_order *order);

/* Fills out[count] with the indices 0..count-1, as a permutation that depends on (seed, epoch) and
 * the order alone. */
void sv_order_fill(const sv_order *order, uint32_t *out, uint64_t seed, uint64_t epoch);

/* Returns the place of a reading: reading `position` of the epoch reads sample out[place / repeats]
 * of sv_order_fill, as repetition place % repeats of it. Without a window the place is
 * `position`. */
uint64_t sv_order_place(const sv_order *order, uint64_t position);

#endif
