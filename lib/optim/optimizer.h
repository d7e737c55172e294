/* Optimisers over flat arrays of a parameter table: slots, schedule, update. They know parameters,
 * not models or layers. */
#ifndef SV_OPTIM_H
#define SV_OPTIM_H

#include "autograd/parameter.h"
#include "base/fields.h"

#include <shiftvit/optimizer.h>

enum { SV_MAX_SLOTS = 3 };

typedef struct sv_slot {
    const char *name; /* "m" and "v", or "momentum"; "ema" for the average */
    real *values;     /* [table->elements] */
} sv_slot;

/* A part of the flat arrays that one worker updates at a time. */
typedef struct sv_chunk {
    size_t begin;
    size_t elements;
    int32_t decays; /* 0: weight decay leaves it out */
    double squares; /* of its gradients, the last sum */
} sv_chunk;

typedef struct sv_optim {
    svit_context *context;
    const sv_parameter_table *table; /* borrowed */
    svit_optimizer_config config;
    uint64_t steps;
    double gradient_norm; /* seen by the last update */
    sv_slot slots[SV_MAX_SLOTS];
    size_t slot_count;
    int32_t swapped; /* the weights hold the average at present, the "ema" slot the weights */
    sv_chunk *chunks;
    size_t chunk_count;
} sv_optim;

/* The settable field of that name; SVIT_E_ARGUMENT, with a list of the known, where there is none.
 */
svit_status sv_optim_field_find(const sv_field **out, const char *name, svit_error *err);

/* The range that the field has in `config`: a schedule's start bounds the learning rate. */
void sv_optim_field_range(const sv_field *field, const svit_optimizer_config *config, double *least,
                          double *greatest);

/* Fails, naming the field, where `config` is not legal. */
svit_status sv_optim_config_check(const svit_optimizer_config *config, svit_error *err);

/* Reads a caller's struct, NULL for the defaults, and checks it. */
svit_status sv_optim_config_import(svit_optimizer_config *own, const svit_optimizer_config *config,
                                   svit_error *err);

/* `weights`: the present ones, from which SVIT_EMA_PLAIN starts. */
svit_status sv_optim_create(sv_optim **out, svit_context *context, const sv_parameter_table *table,
                            const real *weights, const svit_optimizer_config *config,
                            svit_error *err);
void sv_optim_free(sv_optim *optim);

/* The slot of the average; NULL where there is none. */
real *sv_optim_average(const sv_optim *optim);

/* The learning rate of update number `step`; config must be legal. */
double sv_learning_rate(const svit_optimizer_config *config, uint64_t step);

/* One update of `weights` from `gradients`, which are zero afterwards. SVIT_E_NUMERIC, with nothing
 * changed, where a gradient is not finite. The result does not depend on the thread count. */
svit_status sv_optim_update(sv_optim *optim, real *weights, real *gradients, svit_error *err);

/* Exchanges `weights` with the average. */
svit_status sv_optim_swap_ema(sv_optim *optim, real *weights, svit_error *err);

#endif
