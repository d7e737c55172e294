/* Resizing with antialiasing, with the same bytes as Image.resize of Pillow 13, BILINEAR or
 * BICUBIC: a filter whose support grows with the scale if the image shrinks, in 22-bit fixed point,
 * rounded to bytes after each direction. It goes horizontally first, unless the height loses more
 * than twice the lines that the width loses; up to version 12.1 Pillow always goes horizontally
 * first. A plan is immutable, so any number of threads may use it, each with its own scratch. */
#ifndef SV_ANTIALIAS_H
#define SV_ANTIALIAS_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct sv_antialias sv_antialias;

typedef enum sv_antialias_filter {
    SV_ANTIALIAS_BILINEAR, /* a triangle of support 1 */
    SV_ANTIALIAS_BICUBIC   /* Keys' cubic of support 2 with a = -1/2 */
} sv_antialias_filter;

/* What a plan does. Sides are 1..SV_SIDE_LIMIT. */
typedef struct sv_antialias_options {
    size_t height, width;         /* of the input [height, width, channels] */
    size_t channels;              /* 1, 3 or 4 */
    size_t out_height, out_width; /* of the output */
    bool cover;  /* false: each axis has its own scale. true: both axes have one scale, at
                    which the image just covers the output, and the centre is cropped.
                    This is torchvision's Resize, which rounds the longer side down,
                    followed by CenterCrop, which rounds half offsets to even. */
    bool floors; /* with `cover`: half offsets are rounded down, as by transformers */
    bool rounds; /* with `cover`: the longer side is rounded to the nearest pixel, half to even, as
                    by timm's ResizeKeepRatio */
    size_t seen_height, seen_width; /* with `cover`: the part of the output that a second central
                                       crop will keep; the two crops together are one CenterCrop.
                                       The output's size if there is none */
    sv_antialias_filter filter;
    bool across_first; /* horizontally first whatever the sizes, as Pillow up to version 12.1 */
} sv_antialias_options;

/* Makes a plan, which keeps `allocator`. SVIT_E_MEMORY. */
svit_status sv_antialias_create(sv_antialias **out, const sv_allocator *allocator,
                                const sv_antialias_options *options, svit_error *err);
void sv_antialias_free(sv_antialias *plan);

/* Bytes of scratch for one thread. The scratch is aligned for int32_t. */
size_t sv_antialias_scratch(const sv_antialias *plan);

/* Resizes one image. `out` and `pixels` are different arrays. */
void sv_antialias_run(const sv_antialias *plan, uint8_t *out, const uint8_t *pixels, void *scratch);

/* Resizes a single image: makes a plan and scratch, runs, and frees both. */
svit_status sv_antialias_resize(const sv_allocator *allocator, const sv_antialias_options *options,
                                const uint8_t *pixels, uint8_t *out, svit_error *err);

/* Bytes of scratch for sv_antialias_enlarge, aligned for int32_t. */
size_t sv_antialias_enlarge_scratch(size_t out_height, size_t out_width, size_t channels);

/* Resizes the window pixels[height, width, channels], whose rows are `stride` pixels apart, to
 * out[out_height, out_width, channels], each axis by its own scale. The output is at least as large
 * as the window, so that few input lines count and nothing needs to be allocated. */
void sv_antialias_enlarge(uint8_t *out, size_t out_height, size_t out_width, const uint8_t *pixels,
                          size_t height, size_t width, size_t channels, size_t stride,
                          sv_antialias_filter filter, void *scratch);

/* The first line of a central crop of `size` out of `lines`. Half offsets are rounded to even, or
 * down if it `floors`. */
size_t sv_centre_offset(size_t lines, size_t size, bool floors);

#endif
