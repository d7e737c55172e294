/* The synthetic dataset: generated images of ten shapes and textures, to learn from without any
 * files. Each image has two colours, a brightness gradient, noise, and in half of the cases a
 * square that covers a part of it. Position, angle and size vary. A horizontal flip does not change
 * the class. */
#include "base/numbers/random.h"
#include "base/threads/fp_env.h"
#include "data/checks.h"
#include "data/datasets/dataset_ops.h"

#include <math.h>

enum { SIDE = 32, CLASSES = 10 };

/* The random parameters of one image. Shapes use the centre, the radius and the angle; textures use
 * the period, the phase and the angle. */
typedef struct drawing {
    float centre_x;
    float centre_y;
    float radius;
    float cosine;
    float sine;
    float period;
    float phase_x;
    float phase_y;
    float diagonal; /* 1 or -1: the direction of the diagonal gradient */
    float back[SV_RGB];
    float front[SV_RGB];
    float slope_x; /* brightness per pixel */
    float slope_y;
    float noise;   /* its amplitude */
    bool intruder; /* a square in the foreground */
    float intruder_left;
    float intruder_top;
    float intruder_size;
    float intruder_colour[SV_RGB];
} drawing;

/* The fraction, 0..1, of the pixel at (x, y) that has the front colour. The coordinates are
 * relative to the centre and rotated by the angle. */
typedef float (*coverage_function)(const drawing *d, float x, float y);

static float unit_clamp(float v)
{
    return v < 0 ? 0 : v > 1 ? 1 : v;
}

/* The coverage of a pixel at a signed distance from an edge, negative inside. */
static float edge(float distance)
{
    return unit_clamp(0.5f - distance);
}

static float disc(const drawing *d, float x, float y)
{
    return edge(sqrtf(x * x + y * y) - d->radius);
}

static float square(const drawing *d, float x, float y)
{
    return edge(fmaxf(fabsf(x), fabsf(y)) - 0.88f * d->radius);
}

static float triangle(const drawing *d, float x, float y)
{
    float slant = fabsf(x) * 0.8660254f - y * 0.5f;
    return edge(fmaxf(slant, y) - 0.55f * d->radius);
}

static float cross(const drawing *d, float x, float y)
{
    float across = fabsf(x);
    float down = fabsf(y);
    float width = 0.32f * d->radius;
    float upright = fmaxf(across - width, down - d->radius);
    float lying = fmaxf(across - d->radius, down - width);
    return edge(fminf(upright, lying));
}

static float ring(const drawing *d, float x, float y)
{
    return edge(fabsf(sqrtf(x * x + y * y) - 0.78f * d->radius) - 0.22f * d->radius);
}

/* A square wave of v with antialiased edges: 1 on half of each period. */
static float wave(float v, float period)
{
    float turn = v / period;
    float within = fabsf(turn - floorf(turn) - 0.5f);
    return edge((within - 0.25f) * period);
}

static float horizontal_stripes(const drawing *d, float x, float y)
{
    (void)x;
    return wave(y + d->phase_y, d->period);
}

static float vertical_stripes(const drawing *d, float x, float y)
{
    (void)y;
    return wave(x + d->phase_x, d->period);
}

static float checkerboard(const drawing *d, float x, float y)
{
    float columns = wave(x + d->phase_x, 1.5f * d->period);
    float rows = wave(y + d->phase_y, 1.5f * d->period);
    return columns + rows - 2 * columns * rows;
}

static float diagonal_gradient(const drawing *d, float x, float y)
{
    return unit_clamp(0.5f + (x * d->diagonal + y) / (float)(2 * SIDE));
}

static float dots(const drawing *d, float x, float y)
{
    float period = 1.3f * d->period;
    float across = (x + d->phase_x) / period;
    float down = (y + d->phase_y) / period;
    across = (across - floorf(across) - 0.5f) * period;
    down = (down - floorf(down) - 0.5f) * period;
    return edge(sqrtf(across * across + down * down) - 0.3f * period);
}

static const char *const NAMES[CLASSES] = {
    "disc",
    "square",
    "triangle",
    "cross",
    "ring",
    "horizontal stripes",
    "vertical stripes",
    "checkerboard",
    "diagonal gradient",
    "dots",
};

static const coverage_function COVERAGES[CLASSES] = {
    disc,
    square,
    triangle,
    cross,
    ring,
    horizontal_stripes,
    vertical_stripes,
    checkerboard,
    diagonal_gradient,
    dots,
};

static float between(sv_random *random, float low, float high)
{
    return low + (high - low) * (float)sv_random_unit(random);
}

static float colour_distance(const float *a, const float *b)
{
    return fabsf(a[0] - b[0]) + fabsf(a[1] - b[1]) + fabsf(a[2] - b[2]);
}

/* Draws two colours that differ visibly. After TRIES attempts the last two are taken as they
 * are. */
static void draw_colours(drawing *d, sv_random *random)
{
    enum { TRIES = 16 };
    const float min_distance = 130;
    for (int i = 0; i < TRIES; i++) {
        for (size_t c = 0; c < SV_RGB; c++) {
            d->back[c] = between(random, 10, 245);
            d->front[c] = between(random, 10, 245);
        }
        if (colour_distance(d->back, d->front) >= min_distance)
            return;
    }
}

static drawing draw_parameters(sv_random *random)
{
    drawing d = {0};
    float angle = between(random, -0.25f, 0.25f);
    d.radius = between(random, 6, 12);
    float free = SIDE / 2.0f - 0.85f * d.radius;
    d.centre_x = SIDE / 2.0f + between(random, -free, free);
    d.centre_y = SIDE / 2.0f + between(random, -free, free);
    d.cosine = cosf(angle);
    d.sine = sinf(angle);
    d.period = between(random, 4, 9);
    d.phase_x = between(random, 0, 32);
    d.phase_y = between(random, 0, 32);
    d.diagonal = sv_random_below(random, 2) ? 1.0f : -1.0f;
    draw_colours(&d, random);
    d.slope_x = between(random, -1.2f, 1.2f);
    d.slope_y = between(random, -1.2f, 1.2f);
    d.noise = between(random, 5, 55);
    d.intruder = sv_random_below(random, 2) == 1;
    d.intruder_size = between(random, 4, 10);
    d.intruder_left = between(random, -2, SIDE - 4);
    d.intruder_top = between(random, -2, SIDE - 4);
    for (size_t c = 0; c < SV_RGB; c++)
        d.intruder_colour[c] = between(random, 0, 255);
    return d;
}

static bool intruder_covers(const drawing *d, float x, float y)
{
    float across = x - d->intruder_left;
    float down = y - d->intruder_top;
    return d->intruder && across >= 0 && across < d->intruder_size && down >= 0 &&
           down < d->intruder_size;
}

/* Renders the pixel at (x, y). The noise of each channel comes from one byte of `bits`. */
static void draw_pixel(uint8_t *rgb, const drawing *d, coverage_function coverage, float x, float y,
                       uint32_t bits)
{
    float from_x = x - d->centre_x;
    float from_y = y - d->centre_y;
    float front =
        coverage(d, d->cosine * from_x - d->sine * from_y, d->sine * from_x + d->cosine * from_y);
    bool covered = intruder_covers(d, x, y);
    float slope = d->slope_x * (x - SIDE / 2.0f) + d->slope_y * (y - SIDE / 2.0f);
    for (size_t c = 0; c < SV_RGB; c++, bits >>= 8) {
        float colour =
            covered ? d->intruder_colour[c] : d->back[c] + (d->front[c] - d->back[c]) * front;
        float noise = ((float)(bits & 255) - 127.5f) / 127.5f * d->noise;
        rgb[c] = (uint8_t)(255 * unit_clamp((colour + slope + noise) / 255) + 0.5f);
    }
}

typedef struct synthetic {
    svit_dataset base;
    uint64_t seed;
    uint32_t split;
} synthetic;

static svit_status synthetic_label(const svit_dataset *dataset, size_t index, int32_t *label,
                                   svit_error *err)
{
    (void)dataset;
    (void)err;
    *label = (int32_t)(index % CLASSES);
    return SVIT_OK;
}

static svit_status synthetic_sample(const svit_dataset *dataset, size_t index,
                                    const sv_first_crop *crop, void *pixels, int32_t *label,
                                    svit_error *err)
{
    (void)crop;
    (void)err;
    const synthetic *self = (const synthetic *)dataset;
    sv_random random;
    sv_random_start(&random, self->seed, SV_STREAM_SYNTHETIC, index, self->split);
    drawing d = draw_parameters(&random);
    size_t class = index % CLASSES;
    uint8_t *rgb = pixels;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++, rgb += SV_RGB)
            draw_pixel(rgb, &d, COVERAGES[class], (float)x + 0.5f, (float)y + 0.5f,
                       sv_random_u32(&random));
    *label = (int32_t) class;
    return SVIT_OK;
}

static const sv_dataset_ops SYNTHETIC = {
    .bytes = sizeof(synthetic), .sample = synthetic_sample, .label = synthetic_label};

SVIT_API svit_status svit_dataset_synthetic(svit_dataset **out, svit_context *context,
                                            uint64_t seed, int32_t split, size_t count,
                                            svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(out);
    SV_REQUIRE(context);
    if (split < SVIT_SPLIT_TRAIN || split > SVIT_SPLIT_VALIDATION)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: split is %d; SVIT_SPLIT_TRAIN (0), SVIT_SPLIT_TEST (1) and "
                       "SVIT_SPLIT_VALIDATION (2) are accepted",
                       __func__, (int)split);
    SVIT_TRY(sv_check_range(__func__, "count", count, 1, UINT32_MAX, err));
    svit_dataset *dataset = NULL;
    SVIT_TRY(sv_dataset_create(&dataset, context, &SYNTHETIC, err));
    dataset->count = count;
    dataset->height = SIDE;
    dataset->width = SIDE;
    dataset->classes = CLASSES;
    dataset->names = NAMES;
    synthetic *self = (synthetic *)dataset;
    self->seed = seed;
    self->split = (uint32_t)split;
    *out = dataset;
    return SVIT_OK;
}
