/* Optimisers over the flat arrays of a parameter table: state, schedule and update. This layer
 * knows parameters, not models or layers. */
#ifndef SV_OPTIM_H
#define SV_OPTIM_H

#include "autograd/parameter_subset.h"
#include "config/config.h"
#include "optim/groups.h"
#include "optim/optimizer_ops.h"

/* The slots of the optimiser, one for the slow weights of Lookahead, and one for the average of the
 * weights. */
enum { SV_MAX_SLOTS = SV_OPTIMIZER_SLOTS + 2 };

/* One state array of an optimiser. */
typedef struct sv_slot {
    const char *name; /* as in checkpoints: that of the ops, "slow", or "ema" for the average */
    real *values;     /* [subset.elements] */
} sv_slot;

/* A range of the flat arrays that one worker updates at a time. All of its elements have the same
 * settings. */
typedef struct sv_chunk {
    size_t begin; /* index of its first element */
    size_t elements;
    const sv_parameter_settings *settings;
    double squares; /* sum of its squared gradients, written by sv_gradient_norm */
} sv_chunk;

typedef struct sv_optim {
    svit_context *context;
    const sv_parameter_table *table; /* borrowed */
    sv_parameter_subset subset;      /* of the parameters that have slots */
    svit_optimizer_config config;
    const sv_optimizer_ops *ops; /* of config.kind */
    uint64_t steps;              /* updates so far */
    double gradient_norm;        /* global norm before clipping, of the last update */
    uint64_t snapshots;          /* of the weights, in the mean of SVIT_EMA_SWA */
    double rate;                 /* learning rate of the last update; -1: not known here */
    sv_slot slots[SV_MAX_SLOTS]; /* those of the ops, "slow" for Lookahead, "ema" for an average */
    size_t slot_count;
    real *slow;      /* the slot "slow"; NULL without Lookahead */
    int32_t swapped; /* 1: the model holds the average and the "ema" slot holds the weights */
    sv_parameter_settings *settings; /* [table->count] */
    sv_chunk *chunks;                /* of all parameters */
    size_t chunk_count;
    uint32_t *matrices; /* [matrix_count] indices of the parameters that are updated as matrices,
                           those of most work first */
    size_t matrix_count;
    char *workspace; /* [threads of the pool, workspace_bytes]: for matrices */
    size_t workspace_bytes;
} sv_optim;

/* Finds a field that may change during training. SVIT_E_ARGUMENT lists the known names, and then
 * `also`, which is "" or begins with a comma. */
svit_status sv_optim_field_find(const sv_field **out, const char *name, const char *also,
                                svit_error *err);

/* Returns the range of a field. With a schedule that begins at lr_start the learning rate is
 * at least that of `config`. */
void sv_optim_field_range(const sv_field *field, const svit_optimizer_config *config, double *min,
                          double *max);

/* Whether total_steps, which an optimiser of this configuration needs, is missing. */
bool sv_optim_lacks_length(const svit_optimizer_config *config);

/* Copies a caller's struct of any known size into `local` and checks it. NULL means the
 * defaults. */
svit_status sv_optim_config_import(svit_optimizer_config *local,
                                   const svit_optimizer_config *config, svit_error *err);

/* The type of svit_optimizer_config. It accepts a schedule without total_steps, because a trainer
 * computes them. */
extern const sv_config_type sv_optimizer_config_type;

/* Creates an optimiser for the parameters of `table`, which it borrows. `config` must be legal.
 * Slots, average and slow weights are those of the parameters that are not frozen and, unless
 * `gradients` is NULL, are in that subset, as in every later update; no update may follow a change
 * of what is frozen. The average and the slow weights start as copies of `weights`, and once more
 * of those before the first update. Free it with sv_optim_free. */
svit_status sv_optim_create(sv_optim **out, svit_context *context, const sv_parameter_table *table,
                            const sv_parameter_subset *gradients, const real *weights,
                            const svit_optimizer_config *config, svit_error *err);

/* Frees an optimiser, complete or partly created. NULL is allowed. */
void sv_optim_free(sv_optim *optim);

/* Returns the moving average [subset.elements], or NULL if the optimiser keeps none. */
real *sv_optim_average(const sv_optim *optim);

/* The snapshots of the weights that are taken for the mean of SVIT_EMA_SWA in `done` updates: one
 * every swa_every updates beyond swa_start * total_steps. 0 with another average. */
uint64_t sv_optim_due_snapshots(const svit_optimizer_config *config, uint64_t done);

/* SVIT_E_STATE where the model holds the average of its weights. */
svit_status sv_optim_check_weights(const sv_optim *optim, svit_error *err);

/* Updates the trainable parameters that have gradients, and sets all gradients to zero. The others
 * keep their weights and slots. SVIT_E_NUMERIC names a parameter whose gradient is not finite;
 * SVIT_E_STATE as sv_optim_check_weights. Nothing is changed then. The result does not depend on
 * the thread count. */
svit_status sv_optim_update(sv_optim *optim, real *weights, const sv_gradients *gradients,
                            svit_error *err);

/* Changes the setting `key`, which is lr_scale, weight_decay or trainable (0 or 1), of the
 * parameters whose names match `pattern`, or with NULL the weight_decay, which must be legal, of
 * those that have the optimiser's. SVIT_E_ARGUMENT; SVIT_E_STATE: a parameter that is to
 * become trainable is frozen in the model; SVIT_E_MEMORY. */
svit_status sv_optim_set_parameter(sv_optim *optim, const char *pattern, const char *key,
                                   double value, svit_error *err);

/* Sets how many updates so far have left each parameter out, skipped[table->count], at most
 * optim->steps each. */
void sv_optim_set_skipped(sv_optim *optim, const uint64_t *skipped);

/* Exchanges `weights` and the moving average. SVIT_E_STATE: there is no average, or no update
 * yet. */
svit_status sv_optim_swap_ema(sv_optim *optim, real *weights, svit_error *err);

#endif
