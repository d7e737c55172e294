/* The operations of augmentation policies on one image rgb[height, width, 3] of bytes. Each gives
 * the bytes that Pillow gives, which torchvision and timm use. */
#ifndef SV_AUGMENT_OPERATIONS_H
#define SV_AUGMENT_OPERATIONS_H

#include <stddef.h>
#include <stdint.h>

/* An operation and the meaning of its value. */
typedef enum sv_operation {
    SV_IDENTITY,
    SV_SHEAR_X,     /* output pixel (x, y) reads the input at x + value * y */
    SV_SHEAR_Y,     /* at y + value * x */
    SV_TRANSLATE_X, /* pixels by which the content moves to the right */
    SV_TRANSLATE_Y, /* down */
    SV_ROTATE,      /* degrees, counter-clockwise about the centre */
    SV_BRIGHTNESS,  /* factor: 0 black, 1 the image */
    SV_COLOR,       /* factor: 0 grey, 1 the image */
    SV_CONTRAST,    /* factor: 0 the mean grey, 1 the image */
    SV_SHARPNESS,   /* factor: 0 smoothed, 1 the image */
    SV_POSTERIZE,   /* bits of each byte that stay, 0..8 */
    SV_SOLARIZE,    /* bytes from this threshold on are inverted */
    SV_AUTOCONTRAST,
    SV_EQUALIZE,
    SV_INVERT,
    SV_HUE /* part of the colour circle, -0.5..0.5 */
} sv_operation;

/* Applies one operation. `out` and `in` are different arrays [height, width, 3]. */
void sv_operation_apply(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                        sv_operation operation, double value);

/* color.c: the operations that change colours. */
void sv_color_apply(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                    sv_operation operation, double value);

/* geometry.c: the operations that move pixels. */
void sv_geometry_apply(uint8_t *out, const uint8_t *in, size_t height, size_t width,
                       sv_operation operation, double value);

#endif
