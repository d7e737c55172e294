/* Stochastic gradient descent with momentum, and Nesterov's form of it. */
#include "optim/update.h"

sv_sgd sv_sgd_plan(const svit_optimizer_config *config, uint64_t steps, double scale)
{
    return (sv_sgd){.scale = (real)scale,
                    .decay = (real)sv_decay(config, steps),
                    .momentum = (real)config->momentum,
                    .rate = (real)sv_learning_rate(config, steps)};
}

/* w -= decay w;  v = momentum v - lr g;  w += v;  g = 0 */
void sv_sgd_update(real *restrict w, real *restrict g, real *restrict v, size_t elements,
                   sv_sgd plan)
{
    for (size_t i = 0; i < elements; i++) {
        real velocity = plan.momentum * v[i] - plan.rate * (plan.scale * g[i]);
        w[i] = w[i] - plan.decay * w[i] + velocity;
        v[i] = velocity;
        g[i] = 0;
    }
}

/* as sv_sgd_update, but w += momentum v - lr g with the new v */
void sv_sgd_update_nesterov(real *restrict w, real *restrict g, real *restrict v, size_t elements,
                            sv_sgd plan)
{
    for (size_t i = 0; i < elements; i++) {
        real move = plan.rate * (plan.scale * g[i]);
        real velocity = plan.momentum * v[i] - move;
        w[i] = w[i] - plan.decay * w[i] + (plan.momentum * velocity - move);
        v[i] = velocity;
        g[i] = 0;
    }
}
