/* Averages of the weights: the exponential moving average (Polyak, Juditsky 1992), stochastic
 * weight averaging (Izmailov et al. 2018), and the slow weights of Lookahead (Zhang et al. 2019).
 */
#include "optim/update.h"

#include <string.h>

void sv_average_update(real *restrict average, const real *restrict weights, size_t elements,
                       real keep, real take)
{
    for (size_t i = 0; i < elements; i++)
        average[i] = keep * average[i] + take * weights[i];
}

/* The number of weight snapshots in the mean of SVIT_EMA_SWA after `done` updates: one every
 * swa_every updates beyond swa_start * total_steps. */
static uint64_t swa_count(const svit_optimizer_config *config, uint64_t done)
{
    uint64_t start = (uint64_t)(config->swa_start * (double)config->total_steps);
    uint64_t every = config->swa_every ? config->swa_every : 1;
    return done > start ? (done - start) / every : 0;
}

/* e = the mean of the snapshots, or the present weights before the first snapshot. */
static void update_swa(const sv_optim *optim, real *e, const real *w, size_t count)
{
    uint64_t before = swa_count(&optim->config, optim->steps);
    uint64_t after = swa_count(&optim->config, optim->steps + 1);
    if (after == 0 || (before == 0 && after == 1)) {
        memcpy(e, w, count * sizeof *e);
        return;
    }
    real take = (real)(1.0 / (double)after);
    for (size_t i = 0; after > before && i < count; i++)
        e[i] += take * (w[i] - e[i]);
}

void sv_optim_average_elements(const sv_optim *optim, const real *weights, size_t begin,
                               size_t count)
{
    const svit_optimizer_config *config = &optim->config;
    real *average = sv_optim_average(optim);
    if (!average)
        return;
    real *e = average + (begin - optim->span.first);
    const real *w = weights + begin;
    if (config->ema == SVIT_EMA_SWA)
        update_swa(optim, e, w, count);
    else if (config->ema == SVIT_EMA_KERAS && optim->steps == 0)
        memcpy(e, w, count * sizeof *e);
    else
        sv_average_update(e, w, count, (real)config->ema_momentum,
                          (real)(1 - config->ema_momentum));
}

void sv_optim_look_ahead(const sv_optim *optim, real *weights, size_t begin, size_t count)
{
    if (!optim->slow || (optim->steps + 1) % optim->config.lookahead != 0)
        return;
    real alpha = (real)optim->config.lookahead_alpha;
    real *slow = optim->slow + (begin - optim->span.first);
    real *w = weights + begin;
    for (size_t i = 0; i < count; i++) {
        slow[i] += alpha * (w[i] - slow[i]);
        w[i] = slow[i];
    }
}
