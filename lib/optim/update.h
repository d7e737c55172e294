/* The loops of an update: pure, over a part of the flat arrays each. */
#ifndef SV_OPTIM_UPDATE_H
#define SV_OPTIM_UPDATE_H

#include "optim/optimizer.h"

/* Sets the `squares` of every chunk from `gradients` and returns the global norm, not finite where
 * a gradient is not. */
double sv_gradient_norm(sv_optim *optim, const real *gradients);

/* What all elements of one AdamW update share, worked out in double. */
typedef struct sv_adamw {
    real scale;        /* of gradients, by clipping */
    real decay;        /* w -= decay * w */
    real rate1, rate2; /* 1 - beta1, 1 - beta2 */
    real step;         /* lr * sqrt(1 - beta2^t) / (1 - beta1^t) */
    real epsilon;
} sv_adamw;
sv_adamw sv_adamw_plan(const svit_optimizer_config *config, uint64_t steps, double scale);
void sv_adamw_update(real *w, real *g, real *m, real *v, size_t elements, sv_adamw plan);

typedef struct sv_sgd {
    real scale;
    real decay;
    real momentum;
    real rate;
} sv_sgd;
sv_sgd sv_sgd_plan(const svit_optimizer_config *config, uint64_t steps, double scale);
void sv_sgd_update(real *w, real *g, real *v, size_t elements, sv_sgd plan);
void sv_sgd_update_nesterov(real *w, real *g, real *v, size_t elements, sv_sgd plan);

/* e = keep * e + (1 - keep) * w */
void sv_average_update(real *e, const real *w, size_t elements, real keep, real take);

/* What `w -= decay * w` takes away in update number `step`. */
double sv_decay(const svit_optimizer_config *config, uint64_t step);

#endif
