/* Lion (Chen et al. 2023). */
#include "optim/optimizer_ops.h"

typedef struct lion_scalars {
    real beta1, beta2;
    real rate; /* learning rate */
} lion_scalars;
SV_SCALARS_FIT(lion_scalars);

static void plan(void *scalars, const svit_optimizer_config *config, uint64_t step)
{
    *(lion_scalars *)scalars = (lion_scalars){.beta1 = (real)config->beta1,
                                              .beta2 = (real)config->beta2,
                                              .rate = (real)sv_learning_rate(config, step)};
}

/* w -= decay w;  w -= lr sign(beta1 m + (1 - beta1) g);  m = beta2 m + (1 - beta2) g;  g = 0.
 * The sign of 0 is 0. */
static void update_elements(real *restrict w, real *restrict g, real *restrict m, size_t elements,
                            real scale, real decay, lion_scalars s)
{
    for (size_t i = 0; i < elements; i++) {
        real gradient = scale * g[i];
        real direction = s.beta1 * m[i] + (1 - s.beta1) * gradient;
        real sign = (real)(direction > 0) - (real)(direction < 0);
        w[i] = w[i] - decay * w[i] - s.rate * sign;
        m[i] = s.beta2 * m[i] + (1 - s.beta2) * gradient;
        g[i] = 0;
    }
}

static void update(const sv_update_chunk *chunk, const void *scalars)
{
    lion_scalars s = *(const lion_scalars *)scalars;
    s.rate *= chunk->lr_scale;
    update_elements(chunk->weights, chunk->gradients, chunk->slots[0], chunk->elements,
                    chunk->scale, chunk->decay, s);
}

const sv_optimizer_ops sv_optimizer_lion = {.slots = {"m"}, .plan = plan, .update = update};
