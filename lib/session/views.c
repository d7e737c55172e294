/* Test-time augmentation: versions of a batch of images, and the mean of their logits. */
#include "session/views.h"

#include "session/session.h"

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

svit_status sv_views_check(int32_t tta, const svit_model *model, svit_error *err)
{
    const int32_t most = model->config.mask_ratio > 0 ? SVIT_TTA_NONE : SVIT_TTA_FLIP_SHIFT;
    if (tta >= SVIT_TTA_NONE && tta <= most)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT, "tta is %d; it is 0%s", tta,
                   most == SVIT_TTA_NONE ? ", 'none', for a model with mask_ratio above 0" : "..2");
}

svit_status sv_views_allocate(sv_views *self, sv_arrays *arrays, size_t batch, svit_error *err)
{
    const size_t image = self->height * self->width * self->channels * sizeof(float);
    if (self->tta == SVIT_TTA_NONE)
        return SVIT_OK;
    SVIT_TRY(
        sv_arrays_add(arrays, &self->part, batch, self->classes * sizeof(float), "logits", err));
    return self->tta == SVIT_TTA_FLIP
               ? SVIT_OK
               : sv_arrays_add(arrays, &self->moved, batch, image, "shifted images", err);
}

/* sum[n, classes] += factor * the logits of `images` and of their mirrors. */
static svit_status add_flipped(const sv_views *self, svit_session *session, float *images, size_t n,
                               size_t first, float factor, float *sum, svit_error *err)
{
    const size_t elements = n * self->classes;
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        if (mirrored)
            mirror(images, n, self->height, self->width, self->channels);
        SVIT_TRY(sv_session_forward_from(session, images, n, first, self->part, err));
        for (size_t i = 0; i < elements; i++)
            sum[i] += factor * self->part[i];
    }
    return SVIT_OK;
}

svit_status sv_views_forward(const sv_views *self, svit_session *session, float *images, size_t n,
                             size_t first, float *logits, svit_error *err)
{
    const bool shifts = self->tta == SVIT_TTA_FLIP_SHIFT;
    if (self->tta == SVIT_TTA_NONE)
        return sv_session_forward_from(session, images, n, first, logits, err);
    memset(logits, 0, n * self->classes * sizeof *logits);
    for (int by = -1; shifts && by <= 1; by += 2) {
        move(self->moved, images, n, self->height, self->width, self->channels, by);
        SVIT_TRY(add_flipped(self, session, self->moved, n, first, 0.125f, logits, err));
    }
    return add_flipped(self, session, images, n, first, shifts ? 0.25f : 0.5f, logits, err);
}
