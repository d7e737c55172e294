/* The patches of an image, plain or with shifted copies, as the tokenizers of ViT and SL-ViT read
 * them, for callers who want to inspect them. Models use the faster kernels of kernels/im2col.c. */
#include <shiftvit/image.h>

#include "data/checks.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <string.h>

enum { PATCH_LIMIT = 256 };

typedef struct float_image {
    const float *in;
    size_t height;
    size_t width;
    size_t channels;
} float_image;

/* out[c] = in[y, x, c], or 0 outside the image. */
static void read_pixel(float *out, const float_image *from, ptrdiff_t y, ptrdiff_t x)
{
    size_t c = from->channels;
    bool inside = y >= 0 && y < (ptrdiff_t)from->height && x >= 0 && x < (ptrdiff_t)from->width;
    if (inside)
        memcpy(out, from->in + ((size_t)y * from->width + (size_t)x) * c, c * sizeof *out);
    else
        memset(out, 0, c * sizeof *out);
}

/* Writes out[row, column, copy, c] of the patch whose first pixel is (top, left). Returns its
 * end. */
static float *read_patch(float *out, const float_image *from, size_t top, size_t left, size_t patch,
                         const int shifts[][2], size_t copies)
{
    ptrdiff_t half = (ptrdiff_t)(patch / 2);
    for (size_t y = top; y < top + patch; y++)
        for (size_t x = left; x < left + patch; x++)
            for (size_t k = 0; k < copies; k++, out += from->channels)
                read_pixel(out, from, (ptrdiff_t)y + shifts[k][0] * half,
                           (ptrdiff_t)x + shifts[k][1] * half);
    return out;
}

static svit_status check_patch(const char *where, const float_image *from, size_t patch,
                               int32_t spt, int32_t spt_order, svit_error *err)
{
    SVIT_TRY(sv_check_range(where, "patch", patch, 1, PATCH_LIMIT, err));
    if (from->height % patch != 0 || from->width % patch != 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s: patch is %zu, the image %zu x %zu; a patch that divides both sides "
                       "is accepted",
                       where, patch, from->height, from->width);
    SVIT_TRY(sv_check_flag(where, "spt", spt, err));
    if (spt_order != SVIT_SPT_KERAS && spt_order != SVIT_SPT_PAPER)
        return sv_fail(
            err, SVIT_E_ARGUMENT,
            "%s: spt_order is %d; SVIT_SPT_KERAS (0) and SVIT_SPT_PAPER (1) are accepted", where,
            (int)spt_order);
    return SVIT_OK;
}

SVIT_API svit_status svit_patches_f32(const float *in, size_t height, size_t width, size_t channels,
                                      size_t patch, int32_t spt, int32_t spt_order, float *out,
                                      svit_error *err)
{
    SV_REQUIRE(in);
    SV_REQUIRE(out);
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_range(__func__, "channels", channels, 1, SV_CHANNEL_LIMIT, err));
    float_image from = {in, height, width, channels};
    SVIT_TRY(check_patch(__func__, &from, patch, spt, spt_order, err));
    SVIT_TRY(sv_check_distinct(__func__, in, out, err));
    for (size_t top = 0; top < height; top += patch)
        for (size_t left = 0; left < width; left += patch)
            out = read_patch(out, &from, top, left, patch, SV_COPY_SHIFTS[spt_order],
                             spt ? SV_COPIES : 1);
    return SVIT_OK;
}
