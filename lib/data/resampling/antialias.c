/* Antialiased resizing. The two directions are separable. Horizontally first, an input row is
 * resized once, when the first output row needs it, into a ring of as many rows as one output row
 * combines. Vertically first, each output row is combined from the input rows and then resized. */
#include "data/resampling/antialias.h"

#include "base/arrays.h"
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "context/context.h"
#include "data/checks.h"
#include "data/resampling/axis.h"
#include "data/resampling/by_channels.h"

#include <shiftvit/image.h>
#include <shiftvit/pipeline.h>

#include <assert.h>
#include <math.h>
#include <string.h>

/* Of 32 bits, Pillow reserves 8 for the pixel and 2 for overshoot; 22 remain for the weight. */
enum { PRECISION = 22, HALF = 1 << (PRECISION - 1), BYTE_MAX = 255 };

/* One axis. Output line o is a weighted sum of count[o] input lines from first[o] on. */
typedef struct axis {
    size_t in;
    size_t out;
    size_t taps; /* upper bound of count[o] */
    uint32_t *first;
    uint32_t *count;
    int32_t *weight; /* [out, taps], in units of 2^-PRECISION */
} axis;

struct sv_antialias {
    axis across;
    axis down;
    size_t channels;
    size_t stride;   /* pixels from one input row to the next */
    bool down_first; /* vertically first */
    sv_arrays arrays;
};

/* The crop along one axis: the output is lines offset..offset + out - 1 of `resized` lines. */
typedef struct window {
    size_t in;
    size_t resized;
    size_t offset;
    size_t out;
} window;

/* Keys 1981 with a = -1/2. */
static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static const sv_filter CUBIC = {cubic, 2};
static const sv_filter *const FILTERS[] = {
    [SV_ANTIALIAS_BILINEAR] = &sv_filter_triangle, [SV_ANTIALIAS_BICUBIC] = &CUBIC};

/* In units of 2^-PRECISION, rounded half away from 0. */
static int32_t fixed_point(double weight)
{
    return (int32_t)((weight < 0 ? -0.5 : 0.5) + weight * (1 << PRECISION));
}

/* Computes the weights of output line `o`, which is line `position` of all that are resized. */
static void line_weights(axis *self, size_t o, size_t position, double scale,
                         const sv_filter *filter)
{
    const sv_window lines = sv_axis_window(filter, position, scale, self->in);
    int32_t *weight = self->weight + o * self->taps;
    for (size_t i = 0; i < lines.count; i++)
        weight[i] = fixed_point(sv_window_weight(&lines, filter, i));
    self->first[o] = (uint32_t)lines.first;
    self->count[o] = (uint32_t)lines.count;
}

static svit_status axis_create(axis *self, sv_arrays *arrays, const window *at,
                               sv_antialias_filter filter, svit_error *err)
{
    double scale = (double)at->in / (double)at->resized;
    self->in = at->in;
    self->out = at->out;
    self->taps = 2 * (size_t)ceil(FILTERS[filter]->support * (scale < 1 ? 1 : scale)) + 1;
    static const char NOUN[] = "a resize table";
    SVIT_TRY(sv_arrays_add(arrays, &self->first, at->out, sizeof *self->first, NOUN, err));
    SVIT_TRY(sv_arrays_add(arrays, &self->count, at->out, sizeof *self->count, NOUN, err));
    SVIT_TRY(sv_arrays_add(arrays, &self->weight, at->out, self->taps * sizeof *self->weight, NOUN,
                           err));
    for (size_t o = 0; o < at->out; o++)
        line_weights(self, o, at->offset + o, scale, FILTERS[filter]);
    return SVIT_OK;
}

size_t sv_centre_offset(size_t lines, size_t size, bool floors)
{
    const size_t surplus = lines - size, half = surplus / 2;
    return floors ? half : half + (surplus & half & 1);
}

/* The crop of `resized` lines to `out`, of which a second crop keeps `seen`. */
static window crop_window(size_t in, size_t resized, size_t out, size_t seen, bool floors)
{
    const size_t whole = sv_centre_offset(resized, seen, floors);
    return (window){in, resized, whole - sv_centre_offset(out, seen, floors), out};
}

/* Pillow's choice: the height loses more than twice as many lines as the width. An axis that grows
 * loses less than none. */
static bool goes_down_first(const window *across, const window *down)
{
    return down->in > down->resized &&
           down->in - down->resized + 2 * across->resized > 2 * across->in;
}

/* With `cover`: the size to which the image is resized; one side is that of the output. */
static void cover(const sv_antialias_options *o, size_t *height, size_t *width)
{
    if (o->rounds) {
        const double ratio = fmin((double)o->height / (double)o->out_height,
                                  (double)o->width / (double)o->out_width);
        *height = (size_t)rint((double)o->height / ratio);
        *width = (size_t)rint((double)o->width / ratio);
    } else if (o->width * o->out_height >= o->height * o->out_width) {
        *width = o->width * o->out_height / o->height;
    } else {
        *height = o->height * o->out_width / o->width;
    }
}

svit_status sv_antialias_create(sv_antialias **out, const sv_allocator *allocator,
                                const sv_antialias_options *options, svit_error *err)
{
    const sv_antialias_options *o = options;
    assert(o->channels <= SVIT_MAX_CHANNELS);
    size_t resized_height = o->out_height, resized_width = o->out_width;
    if (o->cover)
        cover(o, &resized_height, &resized_width);
    window across = crop_window(o->width, resized_width, o->out_width, o->seen_width, o->floors);
    window down = crop_window(o->height, resized_height, o->out_height, o->seen_height, o->floors);
    sv_antialias *plan = sv_allocate(allocator, sizeof *plan);
    if (!plan)
        return sv_fail_memory(err, sizeof *plan, "a resize plan");
    memset(plan, 0, sizeof *plan);
    plan->arrays.allocator = allocator;
    plan->channels = o->channels;
    plan->stride = o->width;
    plan->down_first = !o->across_first && goes_down_first(&across, &down);
    svit_status status = axis_create(&plan->across, &plan->arrays, &across, o->filter, err);
    if (status == SVIT_OK)
        status = axis_create(&plan->down, &plan->arrays, &down, o->filter, err);
    if (status != SVIT_OK) {
        sv_antialias_free(plan);
        return status;
    }
    *out = plan;
    return SVIT_OK;
}

void sv_antialias_free(sv_antialias *plan)
{
    if (!plan)
        return;
    sv_arrays_free(&plan->arrays);
    sv_release(plan->arrays.allocator, plan, sizeof *plan);
}

/* The number of rows in the ring. */
static size_t ring_rows(const sv_antialias *plan)
{
    return plan->down.taps < plan->down.in ? plan->down.taps : plan->down.in;
}

size_t sv_antialias_scratch(const sv_antialias *plan)
{
    if (plan->down_first)
        return plan->across.in * plan->channels * (sizeof(int32_t) + 1);
    return plan->across.out * plan->channels * (sizeof(int32_t) + ring_rows(plan));
}

static uint8_t to_byte(int32_t sum)
{
    int32_t value = sum >> PRECISION;
    return (uint8_t)(value < 0 ? 0 : value > BYTE_MAX ? BYTE_MAX : value);
}

/* out[o,c] = sum over i of weight[o,i] * in[first[o] + i, c] */
SV_OF_CHANNELS resize_row(const size_t channels, uint8_t *restrict out, const uint8_t *restrict in,
                          const axis *across)
{
    const int32_t *weight = across->weight;
    for (size_t o = 0; o < across->out; o++, out += channels, weight += across->taps) {
        const uint8_t *pixel = in + across->first[o] * channels;
        int32_t sum[SVIT_MAX_CHANNELS] = {HALF, HALF, HALF, HALF};
        for (size_t i = 0; i < across->count[o]; i++, pixel += channels)
            for (size_t c = 0; c < channels; c++)
                sum[c] += weight[i] * pixel[c];
        for (size_t c = 0; c < channels; c++)
            out[c] = to_byte(sum[c]);
    }
}

/* sum[i] += weight * row[i] */
static void add_row(int32_t *restrict sum, const uint8_t *restrict row, int32_t weight,
                    size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        sum[i] += weight * row[i];
}

/* row[i] = sum over j of weight[o,j] * pixels[first[o] + j, i], for i below `elements`, which is
 * the size of the scratch `sum` too */
static void combine_rows(uint8_t *restrict row, int32_t *restrict sum, const axis *down, size_t o,
                         const uint8_t *pixels, size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        sum[i] = HALF;
    for (size_t i = 0; i < down->count[o]; i++)
        add_row(sum, pixels + (down->first[o] + i) * elements, down->weight[o * down->taps + i],
                elements);
    for (size_t i = 0; i < elements; i++)
        row[i] = to_byte(sum[i]);
}

static void run_down_first(const sv_antialias *plan, uint8_t *out, const uint8_t *pixels,
                           int32_t *scratch)
{
    const size_t channels = plan->channels, elements = plan->stride * channels;
    uint8_t *row = (uint8_t *)(scratch + elements);
    for (size_t o = 0; o < plan->down.out; o++, out += plan->across.out * channels) {
        combine_rows(row, scratch, &plan->down, o, pixels, elements);
        SV_BY_CHANNELS(channels, resize_row, out, row, &plan->across);
    }
}

static void run_across_first(const sv_antialias *plan, uint8_t *out, const uint8_t *pixels,
                             int32_t *sum)
{
    const axis *down = &plan->down;
    const size_t channels = plan->channels, row = plan->across.out * channels;
    const size_t rows = ring_rows(plan);
    assert(rows > 0);
    uint8_t *ring = (uint8_t *)(sum + row);
    size_t next_in = 0; /* the next input row to resize; rows before it are in the ring or unused */
    for (size_t o = 0; o < down->out; o++, out += row) {
        const size_t first = down->first[o];
        next_in = next_in < first ? first : next_in;
        for (; next_in < first + down->count[o]; next_in++)
            SV_BY_CHANNELS(channels, resize_row, ring + next_in % rows * row,
                           pixels + next_in * plan->stride * channels, &plan->across);
        for (size_t i = 0; i < row; i++)
            sum[i] = HALF;
        for (size_t i = 0; i < down->count[o]; i++)
            add_row(sum, ring + (first + i) % rows * row, down->weight[o * down->taps + i], row);
        for (size_t i = 0; i < row; i++)
            out[i] = to_byte(sum[i]);
    }
}

void sv_antialias_run(const sv_antialias *plan, uint8_t *out, const uint8_t *pixels, void *scratch)
{
    if (plan->down_first)
        run_down_first(plan, out, pixels, scratch);
    else
        run_across_first(plan, out, pixels, scratch);
}

/* Taps of an axis that does not shrink. */
enum { ENLARGE_TAPS = 5 };

/* Bytes of the tables of an axis that does not shrink. */
static size_t enlarge_bytes(size_t lines)
{
    return lines * (sizeof(uint32_t) * 2 + sizeof(int32_t) * ENLARGE_TAPS);
}

size_t sv_antialias_enlarge_scratch(size_t out_height, size_t out_width, size_t channels)
{
    return enlarge_bytes(out_height) + enlarge_bytes(out_width) +
           out_width * channels * (sizeof(int32_t) + ENLARGE_TAPS);
}

/* Fills an axis whose tables are in `memory`. */
static axis enlarge_axis(size_t in, size_t out, sv_antialias_filter filter, void *memory)
{
    uint32_t *first = memory;
    axis self = {.in = in,
                 .out = out,
                 .taps = ENLARGE_TAPS,
                 .first = first,
                 .count = first + out,
                 .weight = (int32_t *)(first + 2 * out)};
    for (size_t o = 0; o < out; o++)
        line_weights(&self, o, o, (double)in / (double)out, FILTERS[filter]);
    return self;
}

void sv_antialias_enlarge(uint8_t *out, size_t out_height, size_t out_width, const uint8_t *pixels,
                          size_t height, size_t width, size_t channels, size_t stride,
                          sv_antialias_filter filter, void *scratch)
{
    char *memory = scratch;
    assert(channels <= SVIT_MAX_CHANNELS);
    const sv_antialias plan = {
        .down = enlarge_axis(height, out_height, filter, memory),
        .across = enlarge_axis(width, out_width, filter, memory + enlarge_bytes(out_height)),
        .channels = channels,
        .stride = stride};
    sv_antialias_run(&plan, out, pixels,
                     memory + enlarge_bytes(out_height) + enlarge_bytes(out_width));
}

svit_status sv_antialias_resize(const sv_allocator *allocator, const sv_antialias_options *options,
                                const uint8_t *pixels, uint8_t *out, svit_error *err)
{
    sv_antialias *plan = NULL;
    SVIT_TRY(sv_antialias_create(&plan, allocator, options, err));
    svit_status status = SVIT_OK;
    size_t bytes = sv_antialias_scratch(plan);
    void *scratch = sv_allocate(allocator, bytes);
    if (scratch)
        sv_antialias_run(plan, out, pixels, scratch);
    else
        status = sv_fail_memory(err, bytes, "a resized image");
    sv_release(allocator, scratch, bytes);
    sv_antialias_free(plan);
    return status;
}

SVIT_API svit_status svit_resize_antialias_u8(svit_context *context, const uint8_t *in,
                                              size_t height, size_t width, uint8_t *out,
                                              size_t out_height, size_t out_width, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(context);
    SV_REQUIRE(in);
    SV_REQUIRE(out);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_sides(__func__, "out_", out_height, out_width, err));
    SVIT_TRY(sv_check_distinct(__func__, in, out, err));
    const sv_antialias_options options = {.height = height,
                                          .width = width,
                                          .channels = SV_RGB,
                                          .out_height = out_height,
                                          .out_width = out_width,
                                          .seen_height = out_height,
                                          .seen_width = out_width,
                                          .filter = SV_ANTIALIAS_BILINEAR};
    return sv_antialias_resize(&context->allocator, &options, in, out, err);
}
