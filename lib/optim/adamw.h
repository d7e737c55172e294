/* AdamW, for the optimisers that are it or use it for some of the parameters. */
#ifndef SV_ADAMW_H
#define SV_ADAMW_H

#include "optim/optimizer_ops.h"

typedef struct sv_adamw_scalars {
    real rate1, rate2; /* 1 - beta1, 1 - beta2 */
    real step;         /* lr * sqrt(1 - beta2^t) / (1 - beta1^t) in update t, counted from 1 */
    real epsilon;
    const svit_optimizer_config *config;
    uint64_t update; /* t - 1 */
    double rate;     /* lr */
} sv_adamw_scalars;
SV_SCALARS_FIT(sv_adamw_scalars);

/* Computes the scalars of update number `step`, from 0, at the learning rate `rate`, of elements
 * that no earlier update left out. They borrow `config`. */
sv_adamw_scalars sv_adamw_plan(const svit_optimizer_config *config, uint64_t step, double rate);

/* Updates one chunk, whose slots are m and v. */
void sv_adamw_update(const sv_update_chunk *chunk, const sv_adamw_scalars *scalars);

#endif
