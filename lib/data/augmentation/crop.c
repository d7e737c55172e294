/* Padded crops, resized crops, mirrors, erased boxes and the range of Cutout. */
#include "data/augmentation/steps.h"
#include "data/resampling/by_channels.h"

#include <math.h>
#include <string.h>

/* The line of an image that a padded line shows, -1 for none. */
static ptrdiff_t padded_line(ptrdiff_t line, ptrdiff_t lines, bool reflect)
{
    if (line >= 0 && line < lines)
        return line;
    if (!reflect)
        return -1;
    return line < 0 ? -line : 2 * (lines - 1) - line;
}

SV_OF_CHANNELS crop_of(const size_t bytes, uint8_t *out, const uint8_t *in, size_t height,
                       size_t width, size_t padding, size_t top, size_t left, bool reflect)
{
    const ptrdiff_t first_y = (ptrdiff_t)top - (ptrdiff_t)padding;
    const ptrdiff_t first_x = (ptrdiff_t)left - (ptrdiff_t)padding;
    for (ptrdiff_t y = 0; y < (ptrdiff_t)height; y++) {
        ptrdiff_t row = padded_line(first_y + y, (ptrdiff_t)height, reflect);
        for (ptrdiff_t x = 0; x < (ptrdiff_t)width; x++, out += bytes) {
            ptrdiff_t column = padded_line(first_x + x, (ptrdiff_t)width, reflect);
            const bool inside = row >= 0 && column >= 0;
            const uint8_t *from =
                inside ? in + (row * (ptrdiff_t)width + column) * (ptrdiff_t)bytes : in;
            for (size_t i = 0; i < bytes; i++)
                out[i] = inside ? from[i] : 0;
        }
    }
}

void sv_augment_crop(void *out, const void *in, size_t height, size_t width, size_t pixel_bytes,
                     size_t padding, size_t top, size_t left, bool reflect)
{
    SV_BY_PIXEL_BYTES(pixel_bytes, crop_of, out, in, height, width, padding, top, left, reflect);
}

bool sv_resized_crop_sides(sv_crop_box *box, size_t height, size_t width, double area, double ratio)
{
    double target = area * (double)(height * width);
    double box_width = rint(sqrt(target * ratio)), box_height = rint(sqrt(target / ratio));
    if (!(box_width >= 1 && box_width <= (double)width && box_height >= 1 &&
          box_height <= (double)height))
        return false;
    box->height = (size_t)box_height;
    box->width = (size_t)box_width;
    return true;
}

sv_antialias_filter sv_augment_crop_filter(const svit_augment_step *step)
{
    return step->mode == SVIT_RESIZE_BICUBIC ? SV_ANTIALIAS_BICUBIC : SV_ANTIALIAS_BILINEAR;
}

void sv_augment_resized_crop(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                             size_t channels, const sv_crop_box *box, sv_antialias_filter filter,
                             void *scratch)
{
    sv_antialias_enlarge(out, height, width, in + (box->top * width + box->left) * channels,
                         box->height, box->width, channels, width, filter, scratch);
}

SV_OF_CHANNELS mirror_of(const size_t bytes, uint8_t *out, const uint8_t *in, size_t height,
                         size_t width)
{
    for (size_t y = 0; y < height; y++, in += width * bytes)
        for (size_t x = width; x > 0; x--, out += bytes)
            memcpy(out, in + (x - 1) * bytes, bytes);
}

void sv_augment_mirror(void *out, const void *in, size_t height, size_t width, size_t pixel_bytes)
{
    SV_BY_PIXEL_BYTES(pixel_bytes, mirror_of, out, in, height, width);
}

void sv_augment_erase(float *image, size_t width, size_t channels, size_t top, size_t left,
                      size_t box_height, size_t box_width)
{
    for (size_t y = top; y < top + box_height; y++)
        memset(image + (y * width + left) * channels, 0, box_width * channels * sizeof *image);
}

void sv_cutout_range(size_t *first, size_t *count, size_t lines, size_t size, size_t centre)
{
    size_t half = size / 2;
    size_t end = centre + half < lines ? centre + half : lines;
    *first = centre > half ? centre - half : 0;
    *count = end - *first;
}
