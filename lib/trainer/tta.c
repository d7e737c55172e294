/* Test-time augmentation: versions of a batch of images, and the mean of their logits. */
#include "trainer/trainer.h"

#include <assert.h>
#include <string.h>

/* Mirrors images[n, height, width, channels] left-right in place. */
static void mirror(float *images, size_t n, size_t height, size_t width, size_t channels)
{
    for (size_t row = 0; row < n * height; row++, images += width * channels)
        for (size_t x = 0; x < width / 2; x++)
            for (size_t c = 0; c < channels; c++) {
                float *a = images + x * channels + c;
                float *b = images + (width - 1 - x) * channels + c;
                float value = *a;
                *a = *b;
                *b = value;
            }
}

/* The input line of output line `to` of an image that is moved by `by` lines. Lines beyond the
 * border are mirrored at it, without repeating the border line. */
static size_t source_line(size_t to, int by, size_t lines)
{
    ptrdiff_t from = (ptrdiff_t)to - by;
    if (lines == 1)
        return 0;
    if (from < 0)
        return (size_t)-from;
    return (size_t)from < lines ? (size_t)from : 2 * (lines - 1) - (size_t)from;
}

/* out = images moved by `by` pixels down and to the right, -1 or 1. */
static void move(float *out, const float *images, size_t n, size_t height, size_t width,
                 size_t channels, int by)
{
    for (size_t i = 0; i < n; i++, images += height * width * channels)
        for (size_t y = 0; y < height; y++) {
            const float *row = images + source_line(y, by, height) * width * channels;
            for (size_t x = 0; x < width; x++, out += channels)
                memcpy(out, row + source_line(x, by, width) * channels, channels * sizeof *out);
        }
}

/* sum[n, classes] += factor * the logits of `images` and of their mirrors. */
static svit_status add_flipped(sv_evaluator *evaluator, float *images, size_t n, float factor,
                               float *sum, svit_error *err)
{
    size_t elements = n * evaluator->objective.classes;
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        if (mirrored)
            mirror(images, n, evaluator->height, evaluator->width, evaluator->channels);
        SVIT_TRY(svit_forward(evaluator->session, images, n, evaluator->logits, err));
        for (size_t i = 0; i < elements; i++)
            sum[i] += factor * evaluator->logits[i];
    }
    return SVIT_OK;
}

svit_status sv_evaluator_forward(sv_evaluator *evaluator, const float **logits, svit_error *err)
{
    float *images = evaluator->data.images, *sum = evaluator->mean_logits;
    const size_t n = evaluator->data.n;
    *logits = sum ? sum : evaluator->logits;
    if (evaluator->tta == SVIT_TTA_NONE)
        return svit_forward(evaluator->session, images, n, evaluator->logits, err);
    int32_t shifts = evaluator->tta == SVIT_TTA_FLIP_SHIFT;
    assert(sum);
    memset(sum, 0, n * evaluator->objective.classes * sizeof *sum);
    for (int by = -1; shifts && by <= 1; by += 2) {
        move(evaluator->moved, images, n, evaluator->height, evaluator->width, evaluator->channels,
             by);
        SVIT_TRY(add_flipped(evaluator, evaluator->moved, n, 0.125f, sum, err));
    }
    return add_flipped(evaluator, images, n, shifts ? 0.25f : 0.5f, sum, err);
}
