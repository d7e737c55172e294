/* AdamW (Loshchilov, Hutter 2019) in the form of Keras: epsilon outside the bias correction. */
#include "optim/update.h"

#include <tgmath.h>

/* The greatest power of two whose square is a finite real. */
#ifdef SV_DOUBLE
#define GRADIENT_MAX 0x1p511
#else
#define GRADIENT_MAX 0x1p63f
#endif

sv_adamw sv_adamw_plan(const svit_optimizer_config *config, uint64_t steps, double scale)
{
    double t = (double)steps + 1;
    double correction = sqrt(1 - pow(config->beta2, t)) / (1 - pow(config->beta1, t));
    return (sv_adamw){.scale = (real)scale,
                      .decay = (real)sv_decay(config, steps),
                      .rate1 = (real)(1 - config->beta1),
                      .rate2 = (real)(1 - config->beta2),
                      .step = (real)(sv_learning_rate(config, steps) * correction),
                      .epsilon = (real)config->epsilon};
}

/* w -= decay w;  m += (1 - beta1) (g - m);  v += (1 - beta2) (g^2 - v);
 * w -= step m / (sqrt(v) + epsilon);  g = 0.
 * A finite g may have a square that is not: a token without any contrast, a black corner say, makes
 * a norm multiply gradients by 1 / sqrt(eps), block after block. Such a g is cut where its square
 * ends, so that m and v keep their proportion and the step its size, as in exact arithmetic. */
void sv_adamw_update(real *restrict w, real *restrict g, real *restrict m, real *restrict v,
                     size_t elements, sv_adamw plan)
{
    for (size_t i = 0; i < elements; i++) {
        real gradient = plan.scale * g[i];
        gradient = gradient < GRADIENT_MAX ? gradient : GRADIENT_MAX;
        gradient = gradient > -GRADIENT_MAX ? gradient : -GRADIENT_MAX;
        real decayed = w[i] - plan.decay * w[i];
        real mean = m[i] + plan.rate1 * (gradient - m[i]);
        real square = v[i] + plan.rate2 * (gradient * gradient - v[i]);
        w[i] = decayed - plan.step * mean / (sqrt(square) + plan.epsilon);
        m[i] = mean;
        v[i] = square;
        g[i] = 0;
    }
}
