/* Mixup (Zhang et al. 2018) and CutMix (Yun et al. 2019). */
#include "data/augmentation/mix.h"

#include "base/numbers/random.h"

#include <math.h>

static bool is_mix(const svit_augment_step *step)
{
    return step->kind == SVIT_AUGMENT_MIXUP || step->kind == SVIT_AUGMENT_CUTMIX;
}

bool sv_mix_in(const svit_pipeline_config *config)
{
    for (uint32_t i = 0; i < config->augment_count; i++)
        if (is_mix(&config->augment[i]))
            return true;
    return false;
}

/* Uniform in (0, 1]. */
static double draw_positive(sv_random *random)
{
    return 1 - sv_random_unit(random);
}

/* The logarithm of a gamma variate of shape alpha + 1, by rejection (Marsaglia, Tsang 2000), plus
 * log(u) / alpha, which makes it one of shape alpha. In logarithms it does not underflow for a
 * small alpha. */
static double draw_log_gamma(sv_random *random, double alpha)
{
    double d = alpha + 1 - 1.0 / 3, c = 1 / sqrt(9 * d), x, v;
    do {
        do {
            x = sv_random_normal(random);
            v = 1 + c * x;
        } while (!(v > 0));
        v = v * v * v;
    } while (!(log(draw_positive(random)) < 0.5 * x * x + d - d * v + d * log(v)));
    return log(d) + log(v) + log(draw_positive(random)) / alpha;
}

/* The logarithm of a gamma variate is finite from here on. With a smaller alpha every lambda is 0
 * or 1, as it is here. */
#define ALPHA_MIN 1e-300

/* Beta(alpha, alpha) distributed, from two gamma variates a and b: a / (a + b). */
static double draw_beta(sv_random *random, double alpha)
{
    alpha = fmax(alpha, ALPHA_MIN);
    double a = draw_log_gamma(random, alpha);
    double b = draw_log_gamma(random, alpha);
    return 1 / (1 + exp(b - a));
}

void sv_mix_box(sv_mix *mix, size_t height, size_t width, size_t row, size_t column)
{
    const double part = sqrt(1 - mix->lambda);
    const size_t cut[2] = {(size_t)((double)height * part), (size_t)((double)width * part)};
    const size_t side[2] = {height, width}, centre[2] = {row, column};
    size_t *ranges[2] = {mix->rows, mix->columns};
    for (size_t axis = 0; axis < 2; axis++) {
        size_t before = cut[axis] / 2, end = centre[axis] + (cut[axis] + 1) / 2;
        ranges[axis][0] = centre[axis] > before ? centre[axis] - before : 0;
        ranges[axis][1] = end < side[axis] ? end : side[axis];
    }
    size_t area = (mix->rows[1] - mix->rows[0]) * (mix->columns[1] - mix->columns[0]);
    mix->lambda = 1 - (double)area / (double)(height * width);
}

/* The step that acts on a batch; NULL if the configuration has none. */
static const svit_augment_step *choose_step(const svit_pipeline_config *config, sv_random *random)
{
    const svit_augment_step *found[SVIT_MAX_AUGMENT_STEPS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < config->augment_count; i++)
        if (is_mix(&config->augment[i]))
            found[count++] = &config->augment[i];
    return count ? found[sv_random_below(random, count)] : NULL;
}

sv_mix sv_mix_draw(const svit_pipeline_config *config, uint64_t seed, uint64_t epoch,
                   uint32_t batch, size_t height, size_t width)
{
    sv_mix out = {.kind = -1, .lambda = 1};
    sv_random random;
    sv_random_start(&random, seed, SV_STREAM_MIX, epoch, batch);
    const svit_augment_step *step = choose_step(config, &random);
    if (!step || (step->off_epoch && epoch >= step->off_epoch) ||
        !(sv_random_unit(&random) < step->probability))
        return out;
    out.kind = step->kind;
    out.lambda = draw_beta(&random, step->alpha);
    if (step->kind == SVIT_AUGMENT_CUTMIX) {
        size_t row = sv_random_below(&random, (uint32_t)height);
        size_t column = sv_random_below(&random, (uint32_t)width);
        sv_mix_box(&out, height, width, row, column);
    }
    return out;
}

/* a, b = lambda a + (1 - lambda) b, lambda b + (1 - lambda) a */
static void blend(float *a, float *b, size_t count, float lambda)
{
    for (size_t i = 0; i < count; i++) {
        float x = a[i], y = b[i];
        a[i] = lambda * x + (1 - lambda) * y;
        b[i] = lambda * y + (1 - lambda) * x;
    }
}

/* Exchanges the box of two images of `width` pixels in a row. */
static void swap_box(const sv_mix *mix, float *a, float *b, size_t width, size_t channels)
{
    for (size_t row = mix->rows[0]; row < mix->rows[1]; row++)
        for (size_t i = (row * width + mix->columns[0]) * channels;
             i < (row * width + mix->columns[1]) * channels; i++) {
            float kept = a[i];
            a[i] = b[i];
            b[i] = kept;
        }
}

void sv_mix_pair(const sv_mix *mix, float *a, float *b, size_t height, size_t width,
                 size_t channels, float *a_targets, float *b_targets, size_t classes)
{
    if (mix->kind < 0)
        return;
    if (mix->kind == SVIT_AUGMENT_MIXUP)
        blend(a, b, height * width * channels, (float)mix->lambda);
    else
        swap_box(mix, a, b, width, channels);
    blend(a_targets, b_targets, classes, (float)mix->lambda);
}
