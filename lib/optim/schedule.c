/* Learning-rate schedules. */
#include "optim/schedule.h"

#include "base/threads/fp_env.h"
#include "optim/optimizer.h"

#include <math.h>

#define PI 3.14159265358979323846

/* Half a cosine from `from` at fraction 0 to `to` at fraction 1. */
static double half_cosine(double from, double to, double fraction)
{
    return to + 0.5 * (from - to) * (1 + cos(PI * fraction));
}

static double warmup(const svit_optimizer_config *config, uint64_t step)
{
    return config->lr_start +
           (double)step * (config->learning_rate - config->lr_start) / (double)config->warmup_steps;
}

/* A linear warm-up, then half a cosine down to 0 (Loshchilov, Hutter 2017). */
static double warmup_cosine(const svit_optimizer_config *config, uint64_t step)
{
    double at = (double)step;
    double warm = (double)config->warmup_steps;
    double total = (double)config->total_steps;
    if (step < config->warmup_steps)
        return warmup(config, step);
    if (step >= config->total_steps)
        return 0;
    return 0.5 * config->learning_rate * (1 + cos(PI * (at - warm) / (total - warm)));
}

static double linear(const svit_optimizer_config *config, uint64_t step)
{
    if (step < config->warmup_steps)
        return warmup(config, step);
    if (step >= config->total_steps)
        return 0;
    return config->learning_rate * (double)(config->total_steps - step) /
           (double)(config->total_steps - config->warmup_steps);
}

/* Half a cosine up to the learning rate during the warm-up, then one down (Smith, Topin 2018), with
 * the factors of PyTorch's OneCycleLR. */
static double one_cycle(const svit_optimizer_config *config, uint64_t step)
{
    double max = config->learning_rate;
    double start = config->lr_start > 0 ? config->lr_start : max / 25;
    double end = start * 1e-4;
    double top = (double)config->warmup_steps - 1;
    double last = (double)config->total_steps - 1;
    double at = (double)step;
    if (at <= top)
        return top > 0 ? half_cosine(start, max, at / top) : max;
    return at < last ? half_cosine(max, end, (at - fmax(top, 0)) / (last - fmax(top, 0))) : end;
}

static double step_decay(const svit_optimizer_config *config, uint64_t step)
{
    const double factor = pow(config->step_factor, (double)(step / config->step_size));
    return config->learning_rate > 0 ? config->learning_rate * factor : 0;
}

/* Half a cosine down to lr_start in each period; a period is restart_factor times as long as the
 * one before (Loshchilov, Hutter 2017). */
static double cosine_restarts(const svit_optimizer_config *config, uint64_t step)
{
    double period = (double)config->restart_steps;
    double at = (double)step;
    if (config->restart_factor == 1)
        at = fmod(at, period);
    else
        for (; at >= period; period *= config->restart_factor)
            at -= period;
    return half_cosine(config->learning_rate, config->lr_start, at / period);
}

static double piecewise(const svit_optimizer_config *config, uint64_t step)
{
    const svit_schedule_point *points = config->points;
    double fraction = (double)step / (double)config->total_steps;
    if (fraction <= points[0].fraction)
        return config->learning_rate * points[0].factor;
    for (uint32_t i = 1; i < config->point_count; i++) {
        const svit_schedule_point *a = &points[i - 1], *b = &points[i];
        if (fraction < b->fraction)
            return config->learning_rate *
                   (a->factor + (b->factor - a->factor) * (fraction - a->fraction) /
                                    (b->fraction - a->fraction));
    }
    return config->learning_rate * points[config->point_count - 1].factor;
}

static svit_status check_points(const svit_optimizer_config *config, svit_error *err)
{
    const svit_schedule_point *points = config->points;
    if (config->point_count < 2)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "points has %u elements; a piecewise schedule has at least 2",
                       config->point_count);
    for (uint32_t i = 1; i < config->point_count; i++)
        if (!(points[i].fraction > points[i - 1].fraction))
            return sv_fail(err, SVIT_E_ARGUMENT,
                           "points[%u] has fraction %g; it is above that of the point before, %g",
                           i, points[i].fraction, points[i - 1].fraction);
    return SVIT_OK;
}

static svit_status check_step(const svit_optimizer_config *config, svit_error *err)
{
    if (config->step_size < 1)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "step_size is 0; schedule 'step' needs the steps between two falls of the "
                       "rate, at least 1");
    return SVIT_OK;
}

static svit_status check_restarts(const svit_optimizer_config *config, svit_error *err)
{
    if (config->restart_steps < 2)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "restart_steps is %llu; schedule 'cosine-restarts' needs the steps of its "
                       "first period, at least 2, since it begins each period at the full rate",
                       (unsigned long long)config->restart_steps);
    return SVIT_OK;
}

/* The settings that a schedule uses, a sum of sv_schedule_setting. */
static const unsigned char SETTINGS[] = {
    [SVIT_SCHEDULE_CONSTANT] = 0,
    [SVIT_SCHEDULE_WARMUP_COSINE] = SV_SCHEDULE_LENGTH | SV_SCHEDULE_WARMUP | SV_SCHEDULE_START,
    [SVIT_SCHEDULE_LINEAR] = SV_SCHEDULE_LENGTH | SV_SCHEDULE_WARMUP | SV_SCHEDULE_START,
    [SVIT_SCHEDULE_ONE_CYCLE] = SV_SCHEDULE_LENGTH | SV_SCHEDULE_WARMUP | SV_SCHEDULE_START,
    [SVIT_SCHEDULE_STEP] = SV_SCHEDULE_STEP_SIZE,
    [SVIT_SCHEDULE_COSINE_RESTARTS] = SV_SCHEDULE_RESTARTS | SV_SCHEDULE_START,
    [SVIT_SCHEDULE_PIECEWISE] = SV_SCHEDULE_LENGTH | SV_SCHEDULE_POINTS,
};

double sv_learning_rate(const svit_optimizer_config *config, uint64_t step)
{
    switch (config->schedule) {
    case SVIT_SCHEDULE_WARMUP_COSINE:
        return warmup_cosine(config, step);
    case SVIT_SCHEDULE_LINEAR:
        return linear(config, step);
    case SVIT_SCHEDULE_ONE_CYCLE:
        return one_cycle(config, step);
    case SVIT_SCHEDULE_STEP:
        return step_decay(config, step);
    case SVIT_SCHEDULE_COSINE_RESTARTS:
        return cosine_restarts(config, step);
    case SVIT_SCHEDULE_PIECEWISE:
        return piecewise(config, step);
    default:
        return config->learning_rate;
    }
}

SVIT_API svit_status svit_learning_rate(const svit_optimizer_config *config, uint64_t step,
                                        double *learning_rate, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(config);
    SV_REQUIRE(learning_rate);
    svit_optimizer_config local;
    SVIT_TRY(sv_optim_config_import(&local, config, err));
    *learning_rate = sv_learning_rate(&local, step);
    return SVIT_OK;
}

bool sv_schedule_uses(int32_t schedule, sv_schedule_setting setting)
{
    return SETTINGS[schedule] & setting;
}

static svit_status check_start(const svit_optimizer_config *config, svit_error *err)
{
    if (config->lr_start <= config->learning_rate)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "lr_start is %g; it is at most learning_rate, which is %g",
                   config->lr_start, config->learning_rate);
}

static svit_status check_length(const svit_optimizer_config *config, svit_error *err)
{
    if (config->warmup_steps > config->total_steps)
        return sv_fail(
            err, SVIT_E_ARGUMENT, "warmup_steps is %llu; it is at most total_steps, which is %llu",
            (unsigned long long)config->warmup_steps, (unsigned long long)config->total_steps);
    return SVIT_OK;
}

svit_status sv_schedule_check(const svit_optimizer_config *config, svit_error *err)
{
    const unsigned settings = SETTINGS[config->schedule];
    /* A trainer computes the steps of a schedule that has none yet, and checks it again. */
    const bool waits = settings & SV_SCHEDULE_LENGTH && config->total_steps == 0;
    if (settings & SV_SCHEDULE_LENGTH && !waits)
        SVIT_TRY(check_length(config, err));
    if (settings & SV_SCHEDULE_POINTS)
        return check_points(config, err);
    if (settings & SV_SCHEDULE_STEP_SIZE)
        return check_step(config, err);
    if (settings & SV_SCHEDULE_RESTARTS)
        SVIT_TRY(check_restarts(config, err));
    return settings & SV_SCHEDULE_START && !waits ? check_start(config, err) : SVIT_OK;
}
