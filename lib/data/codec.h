/* The one door to the image formats: JPEG and PNG, from memory and to memory. Any thread. */
#ifndef SV_CODEC_H
#define SV_CODEC_H

#include "base/memory.h"
#include "base/status.h"

/* Pixels rgb[height, width, 3]; `bytes` is what was allocated for them. */
typedef struct sv_pixels {
    uint8_t *rgb;
    size_t height;
    size_t width;
    size_t bytes;
} sv_pixels;

/* Decodes a whole file's bytes, told apart by the first of them; `name` is what messages call it.
 * The limits of svit_image_read are checked before pixels are allocated. The pixels are upright, as
 * the file's EXIF orientation says. SVIT_E_MEMORY where the decoder has none, SVIT_E_FORMAT where
 * the file is damaged. */
svit_status sv_decode(sv_pixels *out, const sv_allocator *allocator, const void *data, size_t bytes,
                      const char *name, svit_error *err);

/* Encodes as PNG into *out, of which *used bytes are the file; released with *capacity. Sides are
 * 1..SV_SIDE_LIMIT, at most SV_PIXEL_LIMIT pixels. */
svit_status sv_encode_png(void **out, size_t *used, size_t *capacity, const sv_allocator *allocator,
                          const uint8_t *rgb, size_t height, size_t width, svit_error *err);

#endif
