/* AdamW (Loshchilov, Hutter 2019). */
#include "optim/adamw.h"

#include <float.h>
#include <stdbool.h>
#include <tgmath.h>

/* The largest power of two whose square is a finite real. */
#ifdef SV_DOUBLE
#define GRADIENT_MAX 0x1p511
#else
#define GRADIENT_MAX 0x1p63f
#endif

/* With SVIT_EPSILON_TORCH, m / c1 / (sqrt(v) / c2 + epsilon) = c2 / c1 m / (sqrt(v) + c2 epsilon),
 * where c1 and c2 are the bias corrections; so only epsilon differs. It is at least the gradient
 * below which v is flushed to 0: a smaller epsilon would then divide m alone. */
sv_adamw_scalars sv_adamw_plan(const svit_optimizer_config *config, uint64_t step, double rate)
{
    double t = (double)step + 1;
    double c2 = sqrt(1 - pow(config->beta2, t));
    double correction = c2 / (1 - pow(config->beta1, t));
    const bool is_torch = config->epsilon_form == SVIT_EPSILON_TORCH;
    const double least = sqrt(FLT_MIN / (1 - config->beta2));
    return (sv_adamw_scalars){.rate1 = (real)(1 - config->beta1),
                              .rate2 = (real)(1 - config->beta2),
                              .step = (real)(rate * correction),
                              .epsilon = (real)fmax((is_torch ? c2 : 1) * config->epsilon, least),
                              .config = config,
                              .update = step,
                              .rate = rate};
}

/* w -= decay w;  m += (1 - beta1) (g - m);  v += (1 - beta2) (g^2 - v);
 * w -= step m / (sqrt(v) + epsilon);  g = 0.
 * The square of a finite g may overflow: a norm multiplies the gradient of a token without contrast
 * (a black corner of an image) by 1 / sqrt(eps) in every block. Such a g is clamped to
 * GRADIENT_MAX, so that m / sqrt(v) and the step keep their size, as in exact arithmetic.
 * Where a beta is below 0.5 and the old average large, m + (1 - beta1) (g - m) is its rounding
 * error; `recent` of m or v computes g + beta1 (m - g) instead. The two are constants for the
 * compiler. */
static inline __attribute__((always_inline)) void
update_elements(real *restrict w, real *restrict g, real *restrict m, real *restrict v,
                size_t elements, real scale, real decay, sv_adamw_scalars s, const bool recent_mean,
                const bool recent_square)
{
    for (size_t i = 0; i < elements; i++) {
        real gradient = scale * g[i];
        gradient = gradient < GRADIENT_MAX ? gradient : GRADIENT_MAX;
        gradient = gradient > -GRADIENT_MAX ? gradient : -GRADIENT_MAX;
        real decayed = w[i] - decay * w[i];
        real mean = recent_mean ? gradient + (1 - s.rate1) * (m[i] - gradient)
                                : m[i] + s.rate1 * (gradient - m[i]);
        real square = recent_square
                          ? gradient * gradient + (1 - s.rate2) * (v[i] - gradient * gradient)
                          : v[i] + s.rate2 * (gradient * gradient - v[i]);
        w[i] = decayed - s.step * mean / (sqrt(square) + s.epsilon);
        m[i] = mean;
        v[i] = square;
        g[i] = 0;
    }
}

void sv_adamw_update(const sv_update_chunk *chunk, const sv_adamw_scalars *scalars)
{
    /* The averages of elements have only the updates in them that these took part in. */
    sv_adamw_scalars local =
        chunk->skipped > 0
            ? sv_adamw_plan(scalars->config, scalars->update - chunk->skipped, scalars->rate)
            : *scalars;
    const bool recent_mean = local.rate1 > (real)0.5, recent_square = local.rate2 > (real)0.5;
    local.step *= chunk->lr_scale;
    if (recent_mean || recent_square)
        update_elements(chunk->weights, chunk->gradients, chunk->slots[0], chunk->slots[1],
                        chunk->elements, chunk->scale, chunk->decay, local, recent_mean,
                        recent_square);
    else
        update_elements(chunk->weights, chunk->gradients, chunk->slots[0], chunk->slots[1],
                        chunk->elements, chunk->scale, chunk->decay, local, false, false);
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
