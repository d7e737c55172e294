/* Balanced sampling: an order of an epoch in which every class is read equally often. */
#ifndef SV_BALANCE_H
#define SV_BALANCE_H

#include "base/arrays.h"
#include "context/context.h"
#include "data/datasets/dataset_ops.h"

/* The samples of a dataset by class, and the state of drawing an order. */
typedef struct sv_balance {
    uint32_t count, classes; /* samples, and classes that have any */
    uint32_t *samples;       /* [count] grouped by class */
    uint32_t *shuffled;      /* [count] the same, each class in the order in which it is read */
    uint32_t *first;         /* [classes + 1] where each class begins */
    uint32_t *used;          /* [classes] samples of the class that were read in this epoch */
    uint32_t *round;         /* [classes] the order in which the classes take turns */
    uint32_t *readings;      /* [count] of each place of the order: how often its sample was read
                                before in this epoch */
    sv_arrays arrays;        /* these */
} sv_balance;

/* Reads the labels of the dataset. It takes at most 16 bytes for each sample and 12 for each class
 * that has samples, whatever number of classes the dataset states. SVIT_E_UNSUPPORTED: the dataset
 * has targets instead of labels, or comes from a callback. */
svit_status sv_balance_create(sv_balance **out, const svit_dataset *dataset, svit_error *err);
void sv_balance_free(sv_balance *balance);

/* Fills order[count] and balance->readings, a function of (seed, epoch) alone. The classes take
 * turns, in a new random order in each round. Each class goes through its samples in random order,
 * and starts again in a new one after the last. */
void sv_balance_fill(sv_balance *balance, uint32_t *order, uint64_t seed, uint64_t epoch);

#endif
