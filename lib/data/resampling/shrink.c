/* Antialiased reduction of images of floats, first along the rows, then along the columns. */
#include "data/resampling/shrink.h"

#include "base/arrays.h"
#include "data/resampling/axis.h"

#include <string.h>

/* One axis. Output line o is a weighted sum of count[o] input lines from first[o] on. */
typedef struct axis {
    size_t in, out;
    size_t taps; /* upper bound of count[o] */
    uint32_t *first, *count;
    float *weight; /* [out, taps] */
} axis;

struct sv_shrink {
    axis across, down;
    size_t channels;
    float *rows; /* [down.in, across.out, channels]: the input with short rows */
    sv_arrays arrays;
};

static void line_weights(axis *self, size_t o)
{
    const sv_filter *filter = &sv_filter_triangle;
    const double scale = (double)self->in / (double)self->out;
    const sv_window window = sv_axis_window(filter, o, scale, self->in);
    for (size_t i = 0; i < window.count; i++)
        self->weight[o * self->taps + i] = (float)sv_window_weight(&window, filter, i);
    self->first[o] = (uint32_t)window.first;
    self->count[o] = (uint32_t)window.count;
}

static svit_status axis_create(axis *self, sv_arrays *arrays, size_t in, size_t out,
                               svit_error *err)
{
    static const char NOUN[] = "a table of weights";
    self->in = in;
    self->out = out;
    self->taps = 2 * ((in + out - 1) / out) + 1;
    SVIT_TRY(sv_arrays_add(arrays, &self->first, out, sizeof *self->first, NOUN, err));
    SVIT_TRY(sv_arrays_add(arrays, &self->count, out, sizeof *self->count, NOUN, err));
    SVIT_TRY(
        sv_arrays_add(arrays, &self->weight, out, self->taps * sizeof *self->weight, NOUN, err));
    for (size_t o = 0; o < out; o++)
        line_weights(self, o);
    return SVIT_OK;
}

svit_status sv_shrink_create(sv_shrink **out, const sv_allocator *allocator, size_t height,
                             size_t width, size_t channels, size_t out_height, size_t out_width,
                             svit_error *err)
{
    sv_shrink *plan;
    SVIT_TRY(sv_allocate_array(allocator, (void **)&plan, 1, sizeof *plan, "a plan", err));
    plan->channels = channels;
    plan->arrays.allocator = allocator;
    svit_status status = axis_create(&plan->across, &plan->arrays, width, out_width, err);
    if (status == SVIT_OK)
        status = axis_create(&plan->down, &plan->arrays, height, out_height, err);
    if (status == SVIT_OK)
        status = sv_arrays_add(&plan->arrays, &plan->rows, height * out_width,
                               channels * sizeof *plan->rows, "an image", err);
    if (status == SVIT_OK)
        *out = plan;
    else
        sv_shrink_free(plan);
    return status;
}

void sv_shrink_free(sv_shrink *plan)
{
    if (!plan)
        return;
    sv_arrays_free(&plan->arrays);
    sv_release(plan->arrays.allocator, plan, sizeof *plan);
}

/* out[across.out, channels] of the row in[across.in, channels] */
static void shrink_row(const sv_shrink *plan, float *out, const float *in)
{
    const axis *across = &plan->across;
    const size_t channels = plan->channels;
    for (size_t o = 0; o < across->out; o++, out += channels) {
        const float *weight = across->weight + o * across->taps;
        const float *from = in + across->first[o] * channels;
        for (size_t c = 0; c < channels; c++) {
            float sum = 0;
            for (size_t i = 0; i < across->count[o]; i++)
                sum += weight[i] * from[i * channels + c];
            out[c] = sum;
        }
    }
}

void sv_shrink_run(const sv_shrink *plan, float *out, const float *in)
{
    const axis *down = &plan->down;
    const size_t row = plan->across.out * plan->channels;
    for (size_t y = 0; y < down->in; y++)
        shrink_row(plan, plan->rows + y * row, in + y * plan->across.in * plan->channels);
    for (size_t o = 0; o < down->out; o++, out += row) {
        memset(out, 0, row * sizeof *out);
        for (size_t i = 0; i < down->count[o]; i++) {
            const float weight = down->weight[o * down->taps + i];
            const float *from = plan->rows + (down->first[o] + i) * row;
            for (size_t k = 0; k < row; k++)
                out[k] += weight * from[k];
        }
    }
}
