/* What becomes of the colours of a pixel of 8 bits. */
#ifndef SV_PIXEL_H
#define SV_PIXEL_H

#include <stdint.h>

/* Channels of an image, beside SV_RGB of checks.h. */
enum { SV_GREY = 1, SV_RGBA = 4 };

/* The luma of rgb[3] (ITU-R 601) in 16-bit fixed point, as Pillow's convert("L"). */
static inline uint8_t sv_pixel_luma(const uint8_t *rgb)
{
    return (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 0x8000) >> 16);
}

/* A colour of the opacity alpha / 255 over black. */
static inline uint8_t sv_pixel_over_black(unsigned colour, unsigned alpha)
{
    return (uint8_t)((colour * alpha + 127) / 255);
}

#endif
