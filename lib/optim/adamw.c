/* AdamW (Loshchilov, Hutter 2019). */
#include "optim/adamw.h"

#include <float.h>
#include <tgmath.h>

/* The largest power of two whose square is a finite real. */
#ifdef SV_DOUBLE
#define GRADIENT_MAX 0x1p511
#else
#define GRADIENT_MAX 0x1p63f
#endif

/* With SVIT_EPSILON_TORCH, m / c1 / (sqrt(v) / c2 + epsilon) = c2 / c1 m / (sqrt(v) + c2 epsilon),
 * where c1 and c2 are the bias corrections; so only epsilon differs. */
sv_adamw_scalars sv_adamw_plan(const svit_optimizer_config *config, uint64_t step, double rate)
{
    double t = (double)step + 1;
    double c2 = sqrt(1 - pow(config->beta2, t));
    double correction = c2 / (1 - pow(config->beta1, t));
    /* Not 0, as a subnormal number may count: an element without gradients would be 0 / 0. */
    double epsilon = config->epsilon_form == SVIT_EPSILON_TORCH
                         ? fmax(c2 * config->epsilon, FLT_MIN)
                         : config->epsilon;
    return (sv_adamw_scalars){.rate1 = (real)(1 - config->beta1),
                              .rate2 = (real)(1 - config->beta2),
                              .step = (real)(rate * correction),
                              .epsilon = (real)epsilon};
}

/* Returns (1 - rate) old + rate new, from the value that counts more: with a rate near 1 and a
 * large `old`, old + rate (new - old) would be its rounding error. 1 - rate is exact there. */
static inline real average(real old, real new, real rate)
{
    return rate > (real)0.5 ? new + (1 - rate) * (old - new) : old + rate *(new - old);
}

/* w -= decay w;  m += (1 - beta1) (g - m);  v += (1 - beta2) (g^2 - v);
 * w -= step m / (sqrt(v) + epsilon);  g = 0.
 * The square of a finite g may overflow: a norm multiplies the gradient of a token without contrast
 * (a black corner of an image) by 1 / sqrt(eps) in every block. Such a g is clamped to
 * GRADIENT_MAX, so that m / sqrt(v) and the step keep their size, as in exact arithmetic. */
static void update_elements(real *restrict w, real *restrict g, real *restrict m, real *restrict v,
                            size_t elements, real scale, real decay, sv_adamw_scalars s)
{
    for (size_t i = 0; i < elements; i++) {
        real gradient = scale * g[i];
        gradient = gradient < GRADIENT_MAX ? gradient : GRADIENT_MAX;
        gradient = gradient > -GRADIENT_MAX ? gradient : -GRADIENT_MAX;
        real decayed = w[i] - decay * w[i];
        real mean = average(m[i], gradient, s.rate1);
        real square = average(v[i], gradient * gradient, s.rate2);
        w[i] = decayed - s.step * mean / (sqrt(square) + s.epsilon);
        m[i] = mean;
        v[i] = square;
        g[i] = 0;
    }
}

void sv_adamw_update(const sv_update_chunk *chunk, const sv_adamw_scalars *scalars)
{
    sv_adamw_scalars local = *scalars;
    local.step *= chunk->lr_scale;
    update_elements(chunk->weights, chunk->gradients, chunk->slots[0], chunk->slots[1],
                    chunk->elements, chunk->scale, chunk->decay, local);
}

static void plan(void *scalars, const svit_optimizer_config *config, uint64_t step)
{
    *(sv_adamw_scalars *)scalars = sv_adamw_plan(config, step, sv_learning_rate(config, step));
}

static void update(const sv_update_chunk *chunk, const void *scalars)
{
    sv_adamw_update(chunk, scalars);
}

const sv_optimizer_ops sv_optimizer_adamw = {.slots = {"m", "v"}, .plan = plan, .update = update};
