/* Rotation and zoom inside pipelines. Transforms are those of svit_affine_f32. */
#ifndef SV_AFFINE_H
#define SV_AFFINE_H

#include <stddef.h>

void sv_affine_rotation(double transform[6], double turns, size_t height, size_t width);
void sv_affine_zoom(double transform[6], double height_factor, double width_factor, size_t height,
                    size_t width);

/* svit_affine_f32 of an image [height, width, 3], up to rounding; `in` and `out` are two. */
void sv_affine_rgb(float *out, const float *in, size_t height, size_t width,
                   const double transform[6]);

#endif
