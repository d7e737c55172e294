/* Plans of pipelines, and how they run on one image. The source step by nearest neighbour is part
 * of the tables; an antialiased one writes an intermediate image to the scratch. Resizing is
 * separable, and it commutes with the normalisation, which is linear. So bytes are normalised by a
 * table as they are read, then interpolated along the line, then lines are interpolated. Lines are
 * computed on demand and the last two are kept, so that only the lines of a crop are computed. */
#include "data/augmentation/pipeline.h"

#include "base/arrays.h"
#include "base/numbers/random.h"
#include "data/augmentation/pipeline_config.h"
#include "data/augmentation/pipeline_rows.h"
#include "data/augmentation/source.h"
#include "data/resampling/affine.h"
#include "data/resampling/antialias.h"

struct sv_pipeline {
    svit_pipeline_config config;
    sv_image_shape in;    /* of the images that the plan gets */
    sv_antialias *source; /* the antialiased source step; NULL: nearest neighbour, in the tables */
    size_t width;         /* of the images that the tables below read */
    uint32_t *row;        /* [source_height] the image's row for each row of the source size */
    sv_tap *down;   /* the first resize, vertically: [resize_height], in rows of the source size */
    sv_tap *across; /* horizontally: [resize_width], in elements of an image's row */
    sv_tap *down_again;   /* the second resize or the crop of evaluation: [output_height], in rows
                             of the resized image */
    sv_tap *across_again; /* likewise, [output_width], in elements of a resized row */
    sv_arrays arrays;     /* these tables */
    sv_normalization normalization;
};

/* A cache of two lines of an image, line y in row[y & 1]. Bilinear interpolation needs y and y
 * + 1. */
typedef struct line_pair {
    float *row[2];
    size_t held[2]; /* the y of each, SIZE_MAX: none */
} line_pair;

/* The state of one image while a plan runs on it. */
typedef struct image_job {
    const sv_pipeline *plan;
    const void *pixels; /* bytes or floats, as plan->in says */
    sv_columns columns; /* those of the resized image that are computed */
    line_pair source;   /* source lines, interpolated along the line */
    line_pair resized;  /* resized lines, interpolated along the line again */
    float *line;        /* a line of the resized image */
} image_job;

static svit_status taps_create(sv_tap **out, sv_arrays *arrays, size_t in, size_t size,
                               size_t stride, svit_error *err)
{
    sv_tap *taps;
    SVIT_TRY(sv_arrays_add(arrays, &taps, size, sizeof *taps, "a resize table", err));
    for (size_t o = 0; o < size; o++) {
        taps[o] = sv_axis_bilinear(o, in, size);
        taps[o].low *= (uint32_t)stride;
        taps[o].high *= (uint32_t)stride;
    }
    *out = taps;
    return SVIT_OK;
}

/* Makes taps of the central crop, which interpolates nothing. */
static void taps_crop(sv_tap *taps, size_t offset, size_t size, size_t stride)
{
    for (size_t o = 0; o < size; o++) {
        const uint32_t line = (uint32_t)((offset + o) * stride);
        taps[o] = (sv_tap){.low = line, .high = line};
    }
}

/* The tables of what evaluation does with the resized image. */
static svit_status again_create(sv_pipeline *plan, svit_error *err)
{
    const svit_pipeline_config *config = &plan->config;
    const size_t in[] = {config->resize_height, config->resize_width},
                 out[] = {config->output_height, config->output_width},
                 stride[] = {1, config->channels};
    sv_tap **const taps[] = {&plan->down_again, &plan->across_again};
    for (int axis = 0; axis < 2; axis++) {
        SVIT_TRY(taps_create(taps[axis], &plan->arrays, in[axis], out[axis], stride[axis], err));
        if (sv_evaluation_crops(config))
            taps_crop(*taps[axis],
                      sv_centre_offset(in[axis], out[axis], sv_evaluation_floors(config)),
                      out[axis], stride[axis]);
    }
    return SVIT_OK;
}

static svit_status tables_create(sv_pipeline *plan, size_t height, svit_error *err)
{
    const svit_pipeline_config *config = &plan->config;
    sv_arrays *arrays = &plan->arrays;
    SVIT_TRY(sv_arrays_add(arrays, &plan->row, config->source_height, sizeof *plan->row,
                           "a resize table", err));
    for (size_t y = 0; y < config->source_height; y++)
        plan->row[y] = (uint32_t)sv_axis_nearest(y, height, config->source_height);
    SVIT_TRY(
        taps_create(&plan->down, arrays, config->source_height, config->resize_height, 1, err));
    SVIT_TRY(
        taps_create(&plan->across, arrays, config->source_width, config->resize_width, 1, err));
    for (size_t x = 0; x < config->resize_width; x++) {
        sv_tap *tap = &plan->across[x];
        tap->low = config->channels *
                   (uint32_t)sv_axis_nearest(tap->low, plan->width, config->source_width);
        tap->high = config->channels *
                    (uint32_t)sv_axis_nearest(tap->high, plan->width, config->source_width);
    }
    return again_create(plan, err);
}

/* Makes the antialiased source step of a plan, if it needs one. Float images cannot have one. */
static svit_status source_create(sv_pipeline *plan, svit_error *err)
{
    const svit_pipeline_config *config = &plan->config;
    const sv_source source = sv_source_of(config);
    if (!sv_source_is_antialias(&source, plan->in.height, plan->in.width))
        return SVIT_OK;
    if (plan->in.is_f32)
        return sv_fail(
            err, SVIT_E_UNSUPPORTED,
            "source_filter is antialiased, which float images cannot be; they are %zu x "
            "%zu pixels, the source size %u x %u: the same size, or SVIT_SOURCE_NEAREST, "
            "is accepted",
            plan->in.height, plan->in.width, config->source_height, config->source_width);
    const sv_antialias_options options =
        sv_source_options(&source, plan->in.height, plan->in.width);
    plan->width = config->source_width;
    return sv_antialias_create(&plan->source, plan->arrays.allocator, &options, err);
}

svit_status sv_pipeline_create(sv_pipeline **out, const sv_allocator *allocator,
                               const svit_pipeline_config *config, size_t height, size_t width,
                               bool is_f32, svit_error *err)
{
    sv_pipeline *plan = sv_allocate(allocator, sizeof *plan);
    if (!plan)
        return sv_fail_memory(err, sizeof *plan, "a pipeline");
    *plan = (sv_pipeline){.config = *config,
                          .in = {height, width, config->channels, is_f32},
                          .width = width,
                          .arrays.allocator = allocator};
    sv_normalization_set(&plan->normalization, config);
    svit_status status = source_create(plan, err);
    if (status == SVIT_OK)
        status = tables_create(plan, plan->source ? config->source_height : height, err);
    if (status != SVIT_OK) {
        sv_pipeline_free(plan);
        return status;
    }
    *out = plan;
    return SVIT_OK;
}

void sv_pipeline_free(sv_pipeline *plan)
{
    if (!plan)
        return;
    sv_arrays_free(&plan->arrays);
    sv_antialias_free(plan->source);
    sv_release(plan->arrays.allocator, plan, sizeof *plan);
}

size_t sv_pipeline_height(const sv_pipeline *plan, bool training)
{
    return training ? plan->config.output_height : sv_evaluation_height(&plan->config);
}

size_t sv_pipeline_width(const sv_pipeline *plan, bool training)
{
    return training ? plan->config.output_width : sv_evaluation_width(&plan->config);
}

static bool is_affine(const svit_pipeline_config *config)
{
    return config->rotation > 0 || config->zoom > 0;
}

/* Elements of five lines: two of the source, one resized, two resized again, which are not
 * longer. */
static size_t line_elements(const svit_pipeline_config *config)
{
    return 5 * config->channels * (size_t)config->resize_width;
}

/* Elements of the lines, followed by a whole image if images are rotated or zoomed. */
static size_t resize_elements(const svit_pipeline_config *config)
{
    size_t image = config->channels * (size_t)config->output_height * config->output_width;
    return line_elements(config) + (is_affine(config) ? image : 0);
}

/* Bytes of an image of the source size, rounded up to a multiple of a float. */
static size_t source_bytes(const svit_pipeline_config *config)
{
    size_t bytes = config->channels * (size_t)config->source_height * config->source_width;
    return (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}

/* Floats that hold that many bytes. */
static size_t floats_of(size_t bytes)
{
    return (bytes + sizeof(float) - 1) / sizeof(float);
}

/* Floats of scratch before the buffers of the augmentation steps: those of the resize
 * (resize_elements), then, if there is an antialiased source step, its output image and its own
 * scratch, both in bytes and rounded up to whole floats. */
static size_t scratch_before_steps(const sv_pipeline *plan)
{
    size_t bytes = 0;
    if (plan->source)
        bytes = source_bytes(&plan->config) + sv_antialias_scratch(plan->source);
    return resize_elements(&plan->config) + floats_of(bytes);
}

/* The scratch of the augmentation steps on bytes comes last. */
size_t sv_pipeline_scratch(const sv_pipeline *plan)
{
    size_t steps = sv_augment_has_bytes(&plan->config) ? sv_augment_scratch(&plan->in) : 0;
    return scratch_before_steps(plan) + floats_of(steps);
}

/* The image that the tables read: the given one, or the output of the antialiased source step. */
static const void *source_image(const sv_pipeline *plan, const void *pixels, float *scratch)
{
    if (!plan->source)
        return pixels;
    uint8_t *image = (uint8_t *)(scratch + resize_elements(&plan->config));
    sv_antialias_run(plan->source, image, pixels, image + source_bytes(&plan->config));
    return image;
}

static line_pair line_pair_start(float *first, float *second)
{
    return (line_pair){.row = {first, second}, .held = {SIZE_MAX, SIZE_MAX}};
}

/* Prepares the columns first..first + columns - 1 of the resized image, in reverse order if
 * mirrored. */
static image_job job_start(const sv_pipeline *plan, const void *pixels, size_t first,
                           size_t columns, bool mirror, float *scratch)
{
    size_t line = plan->in.channels * plan->config.resize_width;
    return (image_job){
        .plan = plan,
        .pixels = pixels,
        .columns = {plan->across + first + (mirror ? columns - 1 : 0), mirror ? -1 : 1, columns},
        .source = line_pair_start(scratch, scratch + line),
        .resized = line_pair_start(scratch + 2 * line, scratch + 3 * line),
        .line = scratch + 4 * line,
    };
}

/* out[i] = a[i] + (b[i] - a[i]) * fraction. */
static void interpolate_lines(float *restrict out, const float *a, const float *b, float fraction,
                              size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        out[i] = a[i] + (b[i] - a[i]) * fraction;
}

/* Whether the pair lacks line y. If so, line y is marked as held, and the caller must compute it.
 */
static bool line_missing(line_pair *pair, size_t y)
{
    if (pair->held[y & 1] == y)
        return false;
    pair->held[y & 1] = y;
    return true;
}

static const float *source_line(image_job *job, size_t y)
{
    float *line = job->source.row[y & 1];
    if (!line_missing(&job->source, y))
        return line;
    const sv_pipeline *plan = job->plan;
    size_t at = plan->row[y] * plan->width * plan->in.channels;
    if (plan->in.is_f32)
        sv_row_of_floats(line, (const float *)job->pixels + at, &plan->normalization,
                         &job->columns);
    else
        sv_row_of_bytes(line, (const uint8_t *)job->pixels + at, &plan->normalization,
                        &job->columns);
    return line;
}

static void resized_line(image_job *job, float *out, size_t y)
{
    const sv_tap *tap = &job->plan->down[y];
    const float *above = source_line(job, tap->low);
    const float *below = source_line(job, tap->high);
    interpolate_lines(out, above, below, tap->fraction,
                      job->columns.count * job->plan->in.channels);
}

static const float *resized_again_line(image_job *job, size_t y)
{
    float *line = job->resized.row[y & 1];
    if (line_missing(&job->resized, y)) {
        const sv_pipeline *plan = job->plan;
        resized_line(job, job->line, y);
        sv_row_resize(line, job->line, plan->in.channels, plan->across_again,
                      plan->config.output_width);
    }
    return line;
}

void sv_pipeline_evaluate(const sv_pipeline *plan, float *out, const void *pixels, float *scratch)
{
    const svit_pipeline_config *config = &plan->config;
    pixels = source_image(plan, pixels, scratch);
    image_job job = job_start(plan, pixels, 0, config->resize_width, false, scratch);
    size_t row = sv_pipeline_width(plan, false) * plan->in.channels;
    if (config->evaluation == SVIT_EVALUATE_KEEP) {
        for (size_t y = 0; y < config->resize_height; y++, out += row)
            resized_line(&job, out, y);
        return;
    }
    for (size_t y = 0; y < config->output_height; y++, out += row) {
        const sv_tap *tap = &plan->down_again[y];
        const float *above = resized_again_line(&job, tap->low);
        const float *below = resized_again_line(&job, tap->high);
        interpolate_lines(out, above, below, tap->fraction, row);
    }
}

/* Uniform in [-range, range). */
static double draw_within(sv_random *random, double range)
{
    return (2 * sv_random_unit(random) - 1) * range;
}

static void draw_affine(sv_augmentation *drawn, const svit_pipeline_config *config)
{
    const sv_augment_key *key = &drawn->key;
    sv_random random;
    sv_random_start(&random, key->seed, SV_STREAM_AFFINE, key->epoch, key->sample);
    drawn->turns = draw_within(&random, config->rotation);
    drawn->height_factor = draw_within(&random, config->zoom);
    drawn->width_factor = draw_within(&random, config->zoom);
}

/* The flip is drawn first, so that it does not depend on per_batch. */
sv_augmentation sv_pipeline_draw(const sv_pipeline *plan, const sv_augment_key *key,
                                 const sv_augment_key *batch)
{
    enum { OF_SAMPLE, OF_BATCH };
    const svit_pipeline_config *config = &plan->config;
    sv_random random;
    sv_random_start(&random, key->seed, SV_STREAM_AUGMENT, 2 * key->epoch + OF_SAMPLE, key->sample);
    sv_augmentation drawn = {.key = *key,
                             .mirror = sv_random_unit(&random) < config->flip_probability};
    if (config->per_batch)
        sv_random_start(&random, batch->seed, SV_STREAM_AUGMENT, 2 * batch->epoch + OF_BATCH,
                        batch->sample);
    drawn.top = sv_random_below(&random, config->resize_height - config->output_height + 1);
    drawn.left = sv_random_below(&random, config->resize_width - config->output_width + 1);
    if (is_affine(config))
        draw_affine(&drawn, config);
    return drawn;
}

static void crop_and_mirror(const sv_pipeline *plan, float *out, const void *pixels,
                            const sv_augmentation *drawn, float *scratch)
{
    const svit_pipeline_config *config = &plan->config;
    pixels = source_image(plan, pixels, scratch);
    image_job job =
        job_start(plan, pixels, drawn->left, config->output_width, drawn->mirror, scratch);
    size_t row = config->output_width * plan->in.channels;
    for (size_t y = 0; y < config->output_height; y++, out += row)
        resized_line(&job, out, drawn->top + y);
}

static void rotate(const svit_pipeline_config *config, float *out, const float *in,
                   const sv_augmentation *drawn)
{
    double transform[6];
    sv_affine_rotation(transform, drawn->turns, config->output_height, config->output_width);
    sv_affine_pixels(out, in, config->output_height, config->output_width, config->channels,
                     transform);
}

static void zoom(const svit_pipeline_config *config, float *out, const float *in,
                 const sv_augmentation *drawn)
{
    double transform[6];
    sv_affine_zoom(transform, drawn->height_factor, drawn->width_factor, config->output_height,
                   config->output_width);
    sv_affine_pixels(out, in, config->output_height, config->output_width, config->channels,
                     transform);
}

/* Rotation and zoom are two passes, as in Keras. One combined pass would give another image,
 * because each pass interpolates and reflects at the borders. The passes alternate between `out`
 * and the scratch so that the last one ends in `out`. */
void sv_pipeline_train(const sv_pipeline *plan, float *out, const void *pixels,
                       const sv_augmentation *drawn, float *scratch)
{
    const svit_pipeline_config *config = &plan->config;
    float *between = scratch + line_elements(config);
    bool rotates = config->rotation > 0;
    bool zooms = config->zoom > 0;
    if (sv_augment_has_bytes(config))
        pixels = sv_augment_bytes(config, &drawn->key, drawn->is_cut, pixels, &plan->in,
                                  scratch + scratch_before_steps(plan));
    crop_and_mirror(plan, rotates != zooms ? between : out, pixels, drawn, scratch);
    if (rotates && zooms) {
        rotate(config, between, out, drawn);
        zoom(config, out, between, drawn);
    } else if (rotates) {
        rotate(config, out, between, drawn);
    } else if (zooms) {
        zoom(config, out, between, drawn);
    }
    if (sv_augment_has_values(config))
        sv_augment_values(config, &drawn->key, out, config->output_height, config->output_width);
}
