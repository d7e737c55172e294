/* Makes images of floats smaller with antialiasing: a triangle whose support grows with the scale,
 * which sv_antialias applies to bytes. Nothing is rounded or clipped. */
#ifndef SV_SHRINK_H
#define SV_SHRINK_H

#include "base/memory.h"
#include "base/status.h"

/* The weights for one pair of sizes, and scratch. One thread at a time may use it. */
typedef struct sv_shrink sv_shrink;

/* Plans in[height, width, channels] to out[out_height, out_width, channels], whose sides are 1 or
 * more and at most those of the input. The plan keeps `allocator`. */
svit_status sv_shrink_create(sv_shrink **out, const sv_allocator *allocator, size_t height,
                             size_t width, size_t channels, size_t out_height, size_t out_width,
                             svit_error *err);
void sv_shrink_free(sv_shrink *plan);

/* Shrinks one image. `out` may be at or before `in` in the same array: `in` is read before `out` is
 * written. */
void sv_shrink_run(const sv_shrink *plan, float *out, const float *in);

#endif
