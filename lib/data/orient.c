/* Turning a decoded image upright: each of the eight orientations is a walk over the stored pixels
 * that begins at some corner, with one step for a column and one for a row. */
#include "data/orient.h"

#include "data/checks.h"
#include "data/exif.h"

#include <stdbool.h>
#include <string.h>

/* In bytes of the stored image. */
typedef struct walk {
    ptrdiff_t first;
    ptrdiff_t column;
    ptrdiff_t row;
} walk;

static walk walk_of(unsigned orientation, size_t height, size_t width)
{
    const ptrdiff_t pixel = SV_RGB;
    const ptrdiff_t line = (ptrdiff_t)width * SV_RGB;
    const ptrdiff_t right = line - pixel;
    const ptrdiff_t bottom = (ptrdiff_t)(height - 1) * line;
    switch (orientation) {
    case SV_MIRRORED:
        return (walk){right, -pixel, line};
    case SV_TURNED_180:
        return (walk){bottom + right, -pixel, -line};
    case SV_FLIPPED:
        return (walk){bottom, pixel, -line};
    case SV_TRANSPOSED:
        return (walk){0, line, pixel};
    case SV_TURNED_RIGHT:
        return (walk){bottom, -line, pixel};
    case SV_TRANSPOSED_ACROSS:
        return (walk){bottom + right, -line, -pixel};
    case SV_TURNED_LEFT:
        return (walk){right, line, -pixel};
    default:
        return (walk){0, pixel, line};
    }
}

/* out[height, width, 3]; so many columns at a time that, where columns are stored rows, the pixels
 * beside each other are still in cache for the next row. */
static void walk_copy(uint8_t *out, const uint8_t *in, const walk *way, size_t height, size_t width)
{
    enum { COLUMNS = 64 };
    for (size_t left = 0; left < width; left += COLUMNS) {
        size_t end = width - left < COLUMNS ? width : left + COLUMNS;
        for (size_t y = 0; y < height; y++) {
            uint8_t *to = out + (y * width + left) * SV_RGB;
            const uint8_t *from = in + way->first + (ptrdiff_t)y * way->row;
            for (size_t x = left; x < end; x++, to += SV_RGB)
                memcpy(to, from + (ptrdiff_t)x * way->column, SV_RGB);
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
    size_t bytes = height * width * SV_RGB;
    uint8_t *rgb = sv_allocate(allocator, bytes);
    if (!rgb)
        return sv_fail_memory(err, bytes, "an image");
    walk way = walk_of(orientation, pixels->height, pixels->width);
    walk_copy(rgb, pixels->rgb, &way, height, width);
    sv_release(allocator, pixels->rgb, pixels->bytes);
    *pixels = (sv_pixels){.rgb = rgb, .height = height, .width = width, .bytes = bytes};
    return SVIT_OK;
}
