/* Errors of the optimisers' elementwise updates, and of resampling. */
#include "rows.h"

#include "base/threads/fp_env.h"
#include "data/resampling/affine.h"
#include "optim/adamw.h"
#include "optim/update.h"

#include <shiftvit/image.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 1500, STEP = 6 };

/* The parameters of an update, before and after it. The second slot of AdamW is not negative. */
typedef struct parameters {
    float w[ELEMENTS], g[ELEMENTS], slots[2][ELEMENTS];
} parameters;

static parameters before, after;
static const float SCALE = 0.7f, DECAY = 0.003f, WEIGHT_DECAY = 0.05f, RATE_SCALE = 0.5f;

static void update(numbers_errors *errors, const svit_optimizer_config *config)
{
    const sv_optimizer_ops *ops = sv_optimizer_ops_of(config->kind);
    double scalars[SV_UPDATE_SCALARS_BYTES / sizeof(double)];
    numbers_fill(errors, before.w, ELEMENTS);
    numbers_fill(errors, before.g, ELEMENTS);
    numbers_fill(errors, before.slots[0], ELEMENTS);
    numbers_fill(errors, before.slots[1], ELEMENTS);
    for (size_t i = 0; i < ELEMENTS; i++)
        before.slots[1][i] = fabsf(before.slots[1][i]);
    after = before;
    const sv_update_chunk chunk = {.elements = ELEMENTS,
                                   .weights = after.w,
                                   .gradients = after.g,
                                   .slots = {after.slots[0], after.slots[1]},
                                   .scale = SCALE,
                                   .decay = DECAY,
                                   .weight_decay = WEIGHT_DECAY,
                                   .lr_scale = RATE_SCALE};
    ops->plan(scalars, config, STEP);
    NUMBERS_CALL(ops->update(&chunk, scalars));
}

static svit_optimizer_config config_of(int32_t kind)
{
    svit_optimizer_config config;
    if (svit_optimizer_config_init(&config, sizeof config) != SVIT_OK)
        abort();
    config.kind = kind;
    config.learning_rate = 0.01;
    return config;
}

static void run_adamw(numbers_errors *errors, const sv_kernels *k)
{
    (void)k;
    for (int32_t form = 0; form < 4; form++) {
        svit_optimizer_config config = config_of(SVIT_OPTIMIZER_ADAMW);
        config.epsilon_form = form % 2 ? SVIT_EPSILON_TORCH : SVIT_EPSILON_KERAS;
        config.beta1 = form / 2 ? 0.2 : config.beta1;
        config.beta2 = form / 2 ? 0 : config.beta2;
        const sv_adamw_scalars s = sv_adamw_plan(&config, STEP, config.learning_rate);
        update(errors, &config);
        for (size_t i = 0; i < ELEMENTS; i++) {
            long double g = SCALE * numbers_in(before.g[i]), w = numbers_in(before.w[i]);
            long double m = numbers_in(before.slots[0][i]), v = numbers_in(before.slots[1][i]);
            long double mean = (1.0L - s.rate1) * m + s.rate1 * g;
            long double square = (1.0L - s.rate2) * v + s.rate2 * g * g;
            long double mean_terms = fabsl(m) + s.rate1 * (fabsl(g) + fabsl(m));
            long double square_terms = form / 2 ? g * g : v + s.rate2 * (g * g + v);
            long double step = s.step * RATE_SCALE / (sqrtl(square) + s.epsilon);
            errors->floor = 2 * (double)FLT_MIN;
            numbers_see(errors, after.slots[0][i], mean, mean_terms, "m", i);
            numbers_see(errors, after.slots[1][i], square, square_terms, "v", i);
            /* The product of the step and m is flushed before it is divided by the root of v. */
            errors->floor = 4 * (double)(FLT_MIN / (sqrtl(square) + s.epsilon));
            numbers_see(errors, after.w[i], w - DECAY * w - step * mean,
                        fabsl(w) + DECAY * fabsl(w) + step * mean_terms, "w", i);
        }
    }
}

static void run_sgd(numbers_errors *errors, const sv_kernels *k)
{
    (void)k;
    for (int32_t form = 0; form < 4; form++) {
        svit_optimizer_config config = config_of(SVIT_OPTIMIZER_SGD);
        config.nesterov = form % 2;
        config.sgd_form = form / 2 ? SVIT_SGD_TORCH : SVIT_SGD_KERAS;
        update(errors, &config);
        const long double momentum = (float)config.momentum;
        const long double rate = (long double)(float)config.learning_rate * RATE_SCALE;
        for (size_t i = 0; i < ELEMENTS; i++) {
            long double g = SCALE * numbers_in(before.g[i]), w = numbers_in(before.w[i]);
            long double v = numbers_in(before.slots[0][i]), velocity, move, terms;
            if (form / 2) {
                long double d = g + WEIGHT_DECAY * w, d_terms = fabsl(g) + WEIGHT_DECAY * fabsl(w);
                velocity = momentum * v + d;
                terms = momentum * fabsl(v) + d_terms;
                move = -rate * (config.nesterov ? d + momentum * velocity : velocity);
                numbers_see(errors, after.slots[0][i], velocity, terms, "momentum", i);
                terms = rate * (config.nesterov ? d_terms + momentum * terms : terms) + fabsl(w);
            } else {
                velocity = momentum * v - rate * g;
                terms = momentum * fabsl(v) + rate * fabsl(g);
                move = -DECAY * w + (config.nesterov ? momentum * velocity - rate * g : velocity);
                numbers_see(errors, after.slots[0][i], velocity, terms, "momentum", i);
                terms = (config.nesterov ? momentum * terms + rate * fabsl(g) : terms) +
                        (1 + DECAY) * fabsl(w);
            }
            numbers_see(errors, after.w[i], w + move, terms, "w", i);
        }
    }
}

static void run_lion(numbers_errors *errors, const sv_kernels *k)
{
    const svit_optimizer_config config = config_of(SVIT_OPTIMIZER_LION);
    const float beta1 = (float)config.beta1, beta2 = (float)config.beta2;
    (void)k;
    update(errors, &config);
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double g = SCALE * numbers_in(before.g[i]), w = numbers_in(before.w[i]);
        long double m = numbers_in(before.slots[0][i]), rate = (float)config.learning_rate;
        long double direction = beta1 * m + (1 - beta1) * g;
        long double terms = beta1 * fabsl(m) + (1 - beta1) * fabsl(g);
        numbers_see(errors, after.slots[0][i], beta2 * m + (1 - beta2) * g,
                    beta2 * fabsl(m) + (1 - beta2) * fabsl(g), "m", i);
        /* The sign of a direction that is a rounding error is any. */
        if (fabsl(direction) <= 4 * (long double)FLT_EPSILON * terms + 2 * FLT_MIN)
            continue;
        rate *= direction > 0 ? RATE_SCALE : -RATE_SCALE;
        numbers_see(errors, after.w[i], w - DECAY * w - rate, fabsl(w) * (1 + DECAY) + fabsl(rate),
                    "w", i);
    }
}

static void run_average(numbers_errors *errors, const sv_kernels *k)
{
    const float take = 0.01f;
    (void)k;
    numbers_fill(errors, before.w, ELEMENTS);
    numbers_fill(errors, before.g, ELEMENTS);
    after = before;
    NUMBERS_CALL(sv_average_update(after.w, after.g, ELEMENTS, take));
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double a = numbers_in(before.w[i]), w = numbers_in(before.g[i]);
        numbers_see(errors, after.w[i], a + take * (w - a), fabsl(a) + take * (fabsl(w) + fabsl(a)),
                    "average", i);
    }
}

enum { HEIGHT = 9, WIDTH = 11, CHANNELS = 3, OUT_HEIGHT = 14, OUT_WIDTH = 7 };
enum { IN = HEIGHT * WIDTH * CHANNELS, OUT = OUT_HEIGHT * OUT_WIDTH * CHANNELS };

/* Compares a bilinear sample at the coordinates (x, y) inside the image. */
static void see_sample(numbers_errors *errors, float got, const float *in, size_t channel,
                       long double x, long double y, size_t index)
{
    /* Where long double is double, a coordinate that is all but whole may be rounded past the whole
     * number here and not in the library, or the other way round. */
    const long double margin = LDBL_MANT_DIG > DBL_MANT_DIG ? 0 : 1e-9L;
    size_t left = (size_t)fmaxl(x - margin, 0), top = (size_t)fmaxl(y - margin, 0);
    size_t right = left + 1 < WIDTH ? left + 1 : left, bottom = top + 1 < HEIGHT ? top + 1 : top;
    const size_t from[] = {top * WIDTH + left, top * WIDTH + right, bottom * WIDTH + left,
                           bottom * WIDTH + right};
    const long double across = x - left, down = y - top;
    const long double factors[] = {(1 - across) * (1 - down), across * (1 - down),
                                   (1 - across) * down, across * down};
    long double wanted = 0, terms = 0;
    for (size_t i = 0; i < 4; i++) {
        wanted += factors[i] * in[from[i] * CHANNELS + channel];
        terms += fabsl((long double)in[from[i] * CHANNELS + channel]);
    }
    numbers_see(errors, got, wanted, terms, "out", index);
}

/* The source coordinate of output line o of a resized axis. */
static long double resized(size_t o, size_t in, size_t out)
{
    return fminl(fmaxl((o + 0.5L) * in / out - 0.5L, 0), in - 1.0L);
}

static void run_resize(numbers_errors *errors, const sv_kernels *k)
{
    static float in[IN], out[OUT];
    (void)k;
    numbers_fill(errors, in, IN);
    if (svit_resize_bilinear_f32(in, HEIGHT, WIDTH, CHANNELS, out, OUT_HEIGHT, OUT_WIDTH, NULL))
        abort();
    for (size_t i = 0; i < OUT; i++) {
        size_t x = i / CHANNELS % OUT_WIDTH, y = i / CHANNELS / OUT_WIDTH;
        see_sample(errors, out[i], in, i % CHANNELS, resized(x, WIDTH, OUT_WIDTH),
                   resized(y, HEIGHT, OUT_HEIGHT), i);
    }
}

/* Reflects a coordinate into 0..lines - 1: d c b a | a b c d | d c b a. */
static long double reflected(long double v, size_t lines)
{
    long double period = 2.0L * lines, at = fmodl(v + 0.5L, period);
    at = at < 0 ? at + period : at;
    at = (at > lines ? period - at : at) - 0.5L;
    return fminl(fmaxl(at, 0), lines - 1.0L);
}

static void see_affine(numbers_errors *errors, const float *out, const float *in, const double t[6])
{
    for (size_t i = 0; i < IN; i++) {
        long double x = i / CHANNELS % WIDTH, y = i / CHANNELS / WIDTH;
        see_sample(errors, out[i], in, i % CHANNELS, reflected(t[0] * x + t[1] * y + t[2], WIDTH),
                   reflected(t[3] * x + t[4] * y + t[5], HEIGHT), i);
    }
}

static void run_affine(numbers_errors *errors, const sv_kernels *k)
{
    static float in[IN], out[IN];
    (void)k;
    for (int i = 0; i < 8; i++) {
        double t[6];
        numbers_fill(errors, in, IN);
        if (svit_affine_rotation(0.04 * i, HEIGHT, WIDTH, t, NULL) ||
            svit_affine_f32(in, HEIGHT, WIDTH, CHANNELS, t, out, NULL))
            abort();
        see_affine(errors, out, in, t);
    }
}

static void run_affine_pixels(numbers_errors *errors, const sv_kernels *k)
{
    static float in[IN], out[IN];
    (void)k;
    for (int i = 0; i < 8; i++) {
        double t[6];
        numbers_fill(errors, in, IN);
        sv_affine_rotation(t, 0.04 * i, HEIGHT, WIDTH);
        sv_affine_pixels(out, in, HEIGHT, WIDTH, CHANNELS, t);
        see_affine(errors, out, in, t);
    }
}

static const numbers_row ROWS[] = {
    {"adamw", NUMBERS_ALL, NUMBERS_TERMS, 4, "8 roundings of half an ulp", run_adamw, 1, 0},
    {"sgd", NUMBERS_ALL, NUMBERS_TERMS, 4, "8 roundings of half an ulp", run_sgd, 1, 0},
    {"lion", NUMBERS_ALL, NUMBERS_TERMS, 3, "5 roundings of half an ulp", run_lion, 1, 0},
    {"average of weights", NUMBERS_ALL, NUMBERS_TERMS, 1.5, "3 roundings of half an ulp",
     run_average, 1, 0},
    {"svit_resize_bilinear_f32", NUMBERS_ALL, NUMBERS_TERMS, 4, "8 roundings of half an ulp",
     run_resize, 1, 0},
    {"svit_affine_f32", NUMBERS_ALL, NUMBERS_TERMS, 0.50001, "double, rounded once", run_affine, 1,
     0},
    {"affine resampling of pipelines", NUMBERS_ALL, NUMBERS_TERMS, 4, "8 roundings of half an ulp",
     run_affine_pixels, 1, 0},
};

NUMBERS_ROWS(numbers_updates, ROWS);
