/* Rotation and zoom for pipelines. */
#ifndef SV_AFFINE_H
#define SV_AFFINE_H

#include <stddef.h>

/* Write a transform from output to input positions, as svit_affine_f32 takes it: a rotation of the
 * content by `turns` full turns counter-clockwise, or a zoom by 1 + height_factor and 1 +
 * width_factor, of which those above 1 zoom out. Both are about the image's centre. */
void sv_affine_rotation(double transform[6], double turns, size_t height, size_t width);
void sv_affine_zoom(double transform[6], double height_factor, double width_factor, size_t height,
                    size_t width);

/* Does what svit_affine_f32 does, up to rounding, for an image [height, width, channels] of 1, 3 or
 * 4 channels. `in` and `out` are different arrays. */
void sv_affine_pixels(float *out, const float *in, size_t height, size_t width, size_t channels,
                      const double transform[6]);

#endif
