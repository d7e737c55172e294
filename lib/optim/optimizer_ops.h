/* The interface of an optimiser: the names of its slots, and its update rule. */
#ifndef SV_OPTIMIZER_OPS_H
#define SV_OPTIMIZER_OPS_H

#include "base/real.h"
#include "context/context.h"
#include "optim/schedule.h"

#include <stddef.h>

/* Slots are the state arrays of an optimiser, one value for each parameter element. */
enum { SV_OPTIMIZER_SLOTS = 2 };

/* Bytes for the scalars of one update, whatever struct an optimiser keeps them in. Each optimiser
 * states that its own fits by SV_SCALARS_FIT. */
enum { SV_UPDATE_SCALARS_BYTES = 96 };
#define SV_SCALARS_FIT(type)                                                                       \
    _Static_assert(sizeof(type) <= SV_UPDATE_SCALARS_BYTES, "the scalars of an update are larger")

/* The part of the flat parameter arrays that one call of `update` works on. */
typedef struct sv_update_chunk {
    size_t elements;
    real *weights;                   /* [elements] */
    real *gradients;                 /* [elements], set to zero by the update */
    real *slots[SV_OPTIMIZER_SLOTS]; /* [elements] each */
    real scale;                      /* factor of the gradients, from clipping by the global norm */
    real decay;        /* the update begins with w -= decay * w; 0 where there is no weight decay */
    real weight_decay; /* the setting that `decay` comes from, for a rule that adds it to g */
    real lr_scale;     /* factor of the learning rate */
    uint64_t skipped;  /* earlier updates that have left these elements out */
} sv_update_chunk;

/* A parameter as a matrix [rows, columns], and memory for one worker. */
typedef struct sv_update_matrix {
    sv_update_chunk chunk; /* rows * columns elements */
    size_t rows, columns;
    svit_context *context;
    void *workspace; /* of matrix_bytes for the largest matrix */
} sv_update_matrix;

typedef struct sv_optimizer_ops {
    /* The names of the slots in checkpoints; NULL after the last. Slots start at zero. */
    const char *slots[SV_OPTIMIZER_SLOTS];

    /* Computes the scalars that all chunks of update number `step` (from 0) share. */
    void (*plan)(void *scalars, const svit_optimizer_config *config, uint64_t step);

    /* Updates the weights and slots of one chunk and zeroes its gradients. Workers call it for
     * different chunks at the same time. */
    void (*update)(const sv_update_chunk *chunk, const void *scalars);

    /* The learning rate of `update` without lr_scale, from which weight decay is computed; NULL:
     * that of the schedule. */
    double (*element_rate)(const svit_optimizer_config *config, uint64_t step);

    /* Updates a parameter as a whole matrix, in the place of `update`. NULL: the optimiser has no
     * rule for matrices. */
    void (*update_matrix)(const sv_update_matrix *matrix, const void *scalars);

    /* Bytes of workspace that update_matrix needs; 0 if they overflow. */
    size_t (*matrix_bytes)(const svit_context *context, size_t rows, size_t columns);
} sv_optimizer_ops;

/* The functions of the optimiser `kind`, one of SVIT_OPTIMIZER_*. */
const sv_optimizer_ops *sv_optimizer_ops_of(int32_t kind);

#endif
