/* Resizing of bytes without tables. */
#ifndef SV_RESIZE_H
#define SV_RESIZE_H

#include <stddef.h>
#include <stdint.h>

/* Resizes in[height, width, channels] to out[out_height, out_width, channels], another array, by
 * nearest neighbour, as svit_resize_nearest_u8 does. */
void sv_resize_nearest(uint8_t *out, size_t out_height, size_t out_width, const uint8_t *in,
                       size_t height, size_t width, size_t channels);

#endif
