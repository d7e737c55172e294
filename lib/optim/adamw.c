/* AdamW (Loshchilov, Hutter 2019) in the form of Keras: epsilon outside the bias correction. */
#include "optim/optimizer_ops.h"

#include <tgmath.h>

/* The largest power of two whose square is a finite real. */
#ifdef SV_DOUBLE
#define GRADIENT_MAX 0x1p511
#else
#define GRADIENT_MAX 0x1p63f
#endif

typedef struct adamw_scalars {
    real rate1, rate2; /* 1 - beta1, 1 - beta2 */
    real step;         /* lr * sqrt(1 - beta2^t) / (1 - beta1^t) */
    real epsilon;
} adamw_scalars;

static void plan(void *scalars, const svit_optimizer_config *config, uint64_t step)
{
    double t = (double)step + 1;
    double correction = sqrt(1 - pow(config->beta2, t)) / (1 - pow(config->beta1, t));
    *(adamw_scalars *)scalars =
        (adamw_scalars){.rate1 = (real)(1 - config->beta1),
                        .rate2 = (real)(1 - config->beta2),
                        .step = (real)(sv_learning_rate(config, step) * correction),
                        .epsilon = (real)config->epsilon};
}

/* w -= decay w;  m += (1 - beta1) (g - m);  v += (1 - beta2) (g^2 - v);
 * w -= step m / (sqrt(v) + epsilon);  g = 0.
 * The square of a finite g may overflow: a norm multiplies the gradient of a token without contrast
 * (a black corner of an image) by 1 / sqrt(eps) in every block. Such a g is clamped to
 * GRADIENT_MAX, so that m / sqrt(v) and the step keep their size, as in exact arithmetic. */
static void update_elements(real *restrict w, real *restrict g, real *restrict m, real *restrict v,
                            size_t elements, real scale, real decay, adamw_scalars s)
{
    for (size_t i = 0; i < elements; i++) {
        real gradient = scale * g[i];
        gradient = gradient < GRADIENT_MAX ? gradient : GRADIENT_MAX;
        gradient = gradient > -GRADIENT_MAX ? gradient : -GRADIENT_MAX;
        real decayed = w[i] - decay * w[i];
        real mean = m[i] + s.rate1 * (gradient - m[i]);
        real square = v[i] + s.rate2 * (gradient * gradient - v[i]);
        w[i] = decayed - s.step * mean / (sqrt(square) + s.epsilon);
        m[i] = mean;
        v[i] = square;
        g[i] = 0;
    }
}

static void update(const sv_update_chunk *chunk, const void *scalars)
{
    update_elements(chunk->weights, chunk->gradients, chunk->slots[0], chunk->slots[1],
                    chunk->elements, chunk->scale, chunk->decay, *(const adamw_scalars *)scalars);
}

const sv_optimizer_ops sv_optimizer_adamw = {
    .slots = {"m", "v"}, .scalars_bytes = sizeof(adamw_scalars), .plan = plan, .update = update};
