/* Muon (Jordan et al. 2024): momentum whose matrices are orthogonalised, and AdamW for the
 * parameters that are no matrices. */
#include "optim/adamw.h"
#include "optim/newton_schulz.h"

#include <tgmath.h>

enum { NEWTON_SCHULZ_STEPS = 5 };

typedef struct muon_scalars {
    sv_adamw_scalars adamw;
    real momentum;
    real rate; /* learning rate of the matrices */
    int32_t nesterov;
} muon_scalars;
SV_SCALARS_FIT(muon_scalars);

/* The rate of AdamW follows the same schedule. */
static double element_rate(const svit_optimizer_config *config, uint64_t step)
{
    if (config->learning_rate == 0)
        return 0;
    return sv_learning_rate(config, step) / config->learning_rate * config->adamw_learning_rate;
}

static void plan(void *scalars, const svit_optimizer_config *config, uint64_t step)
{
    *(muon_scalars *)scalars =
        (muon_scalars){.adamw = sv_adamw_plan(config, step, element_rate(config, step)),
                       .momentum = (real)config->momentum,
                       .rate = (real)sv_learning_rate(config, step),
                       .nesterov = config->nesterov};
}

static void update(const sv_update_chunk *chunk, const void *scalars)
{
    sv_adamw_update(chunk, &((const muon_scalars *)scalars)->adamw);
}

/* m = momentum m + (1 - momentum) g;  u = m, or momentum m + (1 - momentum) g;  g = 0 */
static void update_momentum(real *restrict u, real *restrict m, real *restrict g, size_t elements,
                            real scale, const muon_scalars *s)
{
    for (size_t i = 0; i < elements; i++) {
        real gradient = (1 - s->momentum) * (scale * g[i]);
        m[i] = s->momentum * m[i] + gradient;
        u[i] = s->nesterov ? s->momentum * m[i] + gradient : m[i];
        g[i] = 0;
    }
}

/* w -= decay w;  w -= lr sqrt(max(1, rows / columns)) NS(u) */
static void update_matrix(const sv_update_matrix *matrix, const void *scalars)
{
    const muon_scalars *s = scalars;
    const sv_update_chunk *chunk = &matrix->chunk;
    real *u = sv_newton_schulz_input(matrix->workspace);
    update_momentum(u, chunk->slots[0], chunk->gradients, chunk->elements, chunk->scale, s);
    const real *direction = sv_newton_schulz(matrix->context, matrix->workspace, matrix->rows,
                                             matrix->columns, NEWTON_SCHULZ_STEPS);
    double shape = (double)matrix->rows / (double)matrix->columns;
    real rate = s->rate * chunk->lr_scale * (real)sqrt(shape > 1 ? shape : 1);
    for (size_t i = 0; i < chunk->elements; i++)
        chunk->weights[i] =
            chunk->weights[i] - chunk->decay * chunk->weights[i] - rate * direction[i];
}

const sv_optimizer_ops sv_optimizer_muon = {.slots = {"m", "v"},
                                            .plan = plan,
                                            .update = update,
                                            .element_rate = element_rate,
                                            .update_matrix = update_matrix,
                                            .matrix_bytes = sv_newton_schulz_bytes};
