/* Bilinear resizing with antialiasing, to the byte as Image.resize of Pillow up to 12: a triangle
 * whose support grows with the scale where an image shrinks, horizontally first, in 22-bit fixed
 * point, rounded to bytes after each direction. A plan does not change: any number of threads may
 * use it, each with scratch of its own. */
#ifndef SV_ANTIALIAS_H
#define SV_ANTIALIAS_H

#include "base/memory.h"
#include "base/status.h"

#include <stdbool.h>

typedef struct sv_antialias sv_antialias;

/* A plan from rgb[height, width, 3] to [out_height, out_width, 3]. Without `cover` each axis is
 * scaled by itself. With it, both are scaled alike, so that the image just covers the output, and
 * the middle of what that gives is kept: as torchvision's Resize, whose longer side is rounded
 * down, and CenterCrop, which rounds half an offset to an even one. Sides are 1..SV_SIDE_LIMIT. */
svit_status sv_antialias_create(sv_antialias **out, const sv_allocator *allocator, size_t height,
                                size_t width, size_t out_height, size_t out_width, bool cover,
                                svit_error *err);
void sv_antialias_free(const sv_allocator *allocator, sv_antialias *plan);

/* Bytes of scratch that a thread needs, aligned for int32_t. */
size_t sv_antialias_scratch(const sv_antialias *plan);

/* Resizes one image; `out` and `rgb` are not the same array. */
void sv_antialias_run(const sv_antialias *plan, uint8_t *out, const uint8_t *rgb, void *scratch);

/* Plan, scratch and run for a single image. */
svit_status sv_antialias_resize(const sv_allocator *allocator, const uint8_t *rgb, size_t height,
                                size_t width, uint8_t *out, size_t out_height, size_t out_width,
                                bool cover, svit_error *err);

#endif
