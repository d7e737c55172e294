/* Stochastic gradient descent with momentum, in its classical form and in Nesterov's, as Keras and
 * as PyTorch define them. */
#include "optim/optimizer_ops.h"

typedef struct sgd_scalars {
    real momentum;
    real rate; /* learning rate */
    int32_t nesterov, form;
} sgd_scalars;
SV_SCALARS_FIT(sgd_scalars);

static void plan(void *scalars, const svit_optimizer_config *config, uint64_t step)
{
    *(sgd_scalars *)scalars = (sgd_scalars){.momentum = (real)config->momentum,
                                            .rate = (real)sv_learning_rate(config, step),
                                            .nesterov = config->nesterov,
                                            .form = config->sgd_form};
}

/* w -= decay w;  v = momentum v - lr g;  w += v;  g = 0 */
static void update_classical(real *restrict w, real *restrict g, real *restrict v, size_t elements,
                             real scale, real decay, sgd_scalars s)
{
    for (size_t i = 0; i < elements; i++) {
        real velocity = s.momentum * v[i] - s.rate * (scale * g[i]);
        w[i] = w[i] - decay * w[i] + velocity;
        v[i] = velocity;
        g[i] = 0;
    }
}

/* As update_classical, but with w += momentum v - lr g, where v is the new velocity. */
static void update_nesterov(real *restrict w, real *restrict g, real *restrict v, size_t elements,
                            real scale, real decay, sgd_scalars s)
{
    for (size_t i = 0; i < elements; i++) {
        real move = s.rate * (scale * g[i]);
        real velocity = s.momentum * v[i] - move;
        w[i] = w[i] - decay * w[i] + (s.momentum * velocity - move);
        v[i] = velocity;
        g[i] = 0;
    }
}

/* d = g + weight_decay w;  v = momentum v + d;  w -= lr v, or with Nesterov's momentum
 * w -= lr (d + momentum v);  g = 0 */
static void update_torch(real *restrict w, real *restrict g, real *restrict v, size_t elements,
                         real scale, real weight_decay, sgd_scalars s)
{
    for (size_t i = 0; i < elements; i++) {
        real d = scale * g[i] + weight_decay * w[i];
        v[i] = s.momentum * v[i] + d;
        w[i] -= s.rate * (s.nesterov ? d + s.momentum * v[i] : v[i]);
        g[i] = 0;
    }
}

static void update(const sv_update_chunk *chunk, const void *scalars)
{
    sgd_scalars s = *(const sgd_scalars *)scalars;
    s.rate *= chunk->lr_scale;
    if (s.form == SVIT_SGD_TORCH)
        update_torch(chunk->weights, chunk->gradients, chunk->slots[0], chunk->elements,
                     chunk->scale, chunk->weight_decay, s);
    else
        (s.nesterov ? update_nesterov : update_classical)(chunk->weights, chunk->gradients,
                                                          chunk->slots[0], chunk->elements,
                                                          chunk->scale, chunk->decay, s);
}

const sv_optimizer_ops sv_optimizer_sgd = {.slots = {"momentum"}, .plan = plan, .update = update};
