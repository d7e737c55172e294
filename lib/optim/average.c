/* Averages of the weights: the exponential moving average (Polyak, Juditsky 1992), stochastic
 * weight averaging (Izmailov et al. 2018), and the slow weights of Lookahead (Zhang et al. 2019).
 */
#include "optim/update.h"

#include <string.h>

/* From the difference, so that the average of constant weights is those weights, whatever the
 * rounding of take; and from the nearer end, so that with take 1 it is the weights. */
void sv_average_update(real *restrict average, const real *restrict weights, size_t elements,
                       real take)
{
    const real keep = 1 - take;
    if (keep == 0)
        memcpy(average, weights, elements * sizeof *average);
    else if (take < (real)0.5)
        for (size_t i = 0; i < elements; i++)
            average[i] += take * (weights[i] - average[i]);
    else
        for (size_t i = 0; i < elements; i++)
            average[i] = weights[i] - keep * (weights[i] - average[i]);
}

uint64_t sv_optim_due_snapshots(const svit_optimizer_config *config, uint64_t done)
{
    if (config->ema != SVIT_EMA_SWA)
        return 0;
    /* A product that is a whole number but for its rounding, by a part in 2^52, counts as that
     * number. */
    const double start = config->swa_start * (double)config->total_steps * (1 + 1e-12);
    const uint64_t every = config->swa_every ? config->swa_every : 1;
    if (start >= (double)done)
        return 0;
    return (done - (uint64_t)start) / every;
}

uint64_t sv_optim_next_snapshots(const sv_optim *optim)
{
    const uint64_t before = sv_optim_due_snapshots(&optim->config, optim->steps);
    const uint64_t after = sv_optim_due_snapshots(&optim->config, optim->steps + 1);
    return after > 0 ? optim->snapshots + (after - before) : 0;
}

/* e = the mean of the snapshots, or the present weights before the first snapshot. */
static void update_swa(const sv_optim *optim, real *e, const real *w, size_t count)
{
    const uint64_t after = sv_optim_next_snapshots(optim);
    if (after == 0 || optim->snapshots == 0) {
        memcpy(e, w, count * sizeof *e);
        return;
    }
    if (after > optim->snapshots)
        sv_average_update(e, w, count, (real)(1.0 / (double)after));
}

void sv_optim_average_elements(const sv_optim *optim, const real *weights, size_t begin,
                               size_t count)
{
    const svit_optimizer_config *config = &optim->config;
    real *average = sv_optim_average(optim);
    if (!average)
        return;
    real *e = average + sv_subset_place(&optim->subset, begin);
    const real *w = weights + begin;
    if (config->ema == SVIT_EMA_SWA)
        update_swa(optim, e, w, count);
    else if (config->ema == SVIT_EMA_KERAS && optim->steps == 0)
        memcpy(e, w, count * sizeof *e);
    else
        sv_average_update(e, w, count, (real)(1 - config->ema_momentum));
}

void sv_optim_look_ahead(const sv_optim *optim, real *weights, size_t begin, size_t count)
{
    if (!optim->slow || (optim->steps + 1) % optim->config.lookahead != 0)
        return;
    real alpha = (real)optim->config.lookahead_alpha;
    real *slow = optim->slow + sv_subset_place(&optim->subset, begin);
    real *w = weights + begin;
    for (size_t i = 0; i < count; i++) {
        slow[i] += alpha * (w[i] - slow[i]);
        w[i] = slow[i];
    }
}
