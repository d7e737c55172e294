/* Bilinear resizing with antialiasing, with the same bytes as Image.resize of Pillow up to version
 * 12: a triangle filter whose support grows with the scale if the image shrinks, in 22-bit fixed
 * point, horizontally first, rounded to bytes after each direction. A plan is immutable, so any
 * number of threads may use it, each with its own scratch. */
#ifndef SV_ANTIALIAS_H
#define SV_ANTIALIAS_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct sv_antialias sv_antialias;

/* Makes a plan from rgb[height, width, 3] to [out_height, out_width, 3]. Without `cover` each axis
 * has its own scale. With `cover` both axes have one scale, at which the image just covers the
 * output, and the centre is cropped. This is torchvision's Resize, which rounds the longer side
 * down, followed by CenterCrop, which rounds half offsets to even. Sides are 1..SV_SIDE_LIMIT. */
svit_status sv_antialias_create(sv_antialias **out, const sv_allocator *allocator, size_t height,
                                size_t width, size_t out_height, size_t out_width, bool cover,
                                svit_error *err);
void sv_antialias_free(const sv_allocator *allocator, sv_antialias *plan);

/* Bytes of scratch for one thread. The scratch is aligned for int32_t. */
size_t sv_antialias_scratch(const sv_antialias *plan);

/* Resizes one image. `out` and `rgb` are different arrays. */
void sv_antialias_run(const sv_antialias *plan, uint8_t *out, const uint8_t *rgb, void *scratch);

/* Resizes a single image: makes a plan and scratch, runs, and frees both. */
svit_status sv_antialias_resize(const sv_allocator *allocator, const uint8_t *rgb, size_t height,
                                size_t width, uint8_t *out, size_t out_height, size_t out_width,
                                bool cover, svit_error *err);

#endif
