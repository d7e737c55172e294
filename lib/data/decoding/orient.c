/* Turns images upright. Each of the eight orientations reads the stored pixels from one corner,
 * with one stride for the columns and one for the rows of the output. */
#include "data/decoding/orient.h"

#include "data/decoding/exif.h"
#include "data/resampling/by_channels.h"

#include <stdbool.h>
#include <string.h>

/* Offset of the first pixel, and strides, in bytes of the stored image. */
typedef struct strides {
    ptrdiff_t first;
    ptrdiff_t column;
    ptrdiff_t row;
} strides;

static strides strides_of(unsigned orientation, size_t height, size_t width, size_t channels)
{
    const ptrdiff_t pixel = (ptrdiff_t)channels;
    const ptrdiff_t line = (ptrdiff_t)width * pixel;
    const ptrdiff_t right = line - pixel;
    const ptrdiff_t bottom = (ptrdiff_t)(height - 1) * line;
    switch (orientation) {
    case SV_MIRRORED:
        return (strides){right, -pixel, line};
    case SV_TURNED_180:
        return (strides){bottom + right, -pixel, -line};
    case SV_FLIPPED:
        return (strides){bottom, pixel, -line};
    case SV_TRANSPOSED:
        return (strides){0, line, pixel};
    case SV_TURNED_RIGHT:
        return (strides){bottom, -line, pixel};
    case SV_TRANSPOSED_ACROSS:
        return (strides){bottom + right, -line, -pixel};
    case SV_TURNED_LEFT:
        return (strides){right, line, -pixel};
    default:
        return (strides){0, pixel, line};
    }
}

/* Copies to out[height, width, channels] in stripes of 64 columns. In a transposed image each pixel
 * of an output row comes from another stored row; the 64 cache lines that a stripe reads are then
 * still in cache for the next output row. */
SV_OF_CHANNELS copy_strided(const size_t channels, uint8_t *out, const uint8_t *in,
                            const strides *s, size_t height, size_t width)
{
    enum { COLUMNS = 64 };
    for (size_t left = 0; left < width; left += COLUMNS) {
        size_t end = width - left < COLUMNS ? width : left + COLUMNS;
        for (size_t y = 0; y < height; y++) {
            uint8_t *to = out + (y * width + left) * channels;
            const uint8_t *from = in + s->first + (ptrdiff_t)y * s->row;
            for (size_t x = left; x < end; x++, to += channels)
                memcpy(to, from + (ptrdiff_t)x * s->column, channels);
        }
    }
}

svit_status sv_orient(sv_pixels *pixels, const sv_allocator *allocator, unsigned orientation,
                      svit_error *err)
{
    if (orientation == SV_UPRIGHT)
        return SVIT_OK;
    bool turned = orientation >= SV_TRANSPOSED;
    size_t height = turned ? pixels->width : pixels->height;
    size_t width = turned ? pixels->height : pixels->width;
    size_t channels = pixels->channels, bytes = height * width * channels;
    uint8_t *data = sv_allocate(allocator, bytes);
    if (!data)
        return sv_fail_memory(err, bytes, "an image");
    strides s = strides_of(orientation, pixels->height, pixels->width, channels);
    SV_BY_CHANNELS(channels, copy_strided, data, pixels->data, &s, height, width);
    sv_release(allocator, pixels->data, pixels->bytes);
    *pixels = (sv_pixels){data, height, width, channels, bytes};
    return SVIT_OK;
}
