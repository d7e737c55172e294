/* Learning-rate schedules and weight decay. */
#include "optim/schedule.h"

#include <math.h>

/* Rises linearly from lr_start to learning_rate over the warm-up, then falls to 0 as half a cosine
 * (Loshchilov, Hutter 2017). */
static double warmup_cosine(const svit_optimizer_config *config, uint64_t step)
{
    const double pi = 3.14159265358979323846;
    double at = (double)step;
    double warmup = (double)config->warmup_steps;
    double total = (double)config->total_steps;
    if (step < config->warmup_steps)
        return config->lr_start + at * (config->learning_rate - config->lr_start) / warmup;
    if (step >= config->total_steps)
        return 0;
    return 0.5 * config->learning_rate * (1 + cos(pi * (at - warmup) / (total - warmup)));
}

double sv_learning_rate(const svit_optimizer_config *config, uint64_t step)
{
    if (config->schedule == SVIT_SCHEDULE_WARMUP_COSINE)
        return warmup_cosine(config, step);
    return config->learning_rate;
}

double sv_decay(const svit_optimizer_config *config, uint64_t step)
{
    if (config->decay_rule == SVIT_DECAY_UNSCALED)
        return config->weight_decay;
    return sv_learning_rate(config, step) * config->weight_decay;
}
