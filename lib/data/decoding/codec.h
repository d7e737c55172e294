/* Decoding of JPEG, PNG and WebP from memory, and encoding of PNG to memory. Any thread. decoders.h
 * has the decoder of each format, which a build may lack: SVIT_E_UNSUPPORTED. */
#ifndef SV_CODEC_H
#define SV_CODEC_H

#include "base/memory.h"
#include "base/status.h"

/* An image data[height, width, channels], for which `bytes` bytes were allocated. */
typedef struct sv_pixels {
    uint8_t *data;
    size_t height;
    size_t width;
    size_t channels;
    size_t bytes;
} sv_pixels;

/* What a decoder is given: memory, and the most pixels that an image may have. */
typedef struct sv_decoder {
    const sv_allocator *allocator;
    size_t pixel_limit; /* at most SV_PIXEL_LIMIT of context.h */
} sv_decoder;

/* Decodes the bytes of a whole file, whose format is recognised by its first bytes. `name` stands
 * for it in messages. `channels`, 1, 3 or 4, are those that svit_image_read describes, and its
 * limits are checked before pixels are allocated. The image is turned upright by the file's EXIF
 * data or XMP. The caller releases out->data with out->bytes. SVIT_E_MEMORY, or SVIT_E_FORMAT if
 * the file is damaged. */
svit_status sv_decode(sv_pixels *out, const sv_decoder *decoder, const void *data, size_t bytes,
                      const char *name, size_t channels, svit_error *err);

/* Encodes rgb[height, width, 3] as a PNG file of *used bytes in *out, which the caller releases
 * with *capacity. `name` stands for the file in messages. Sides are 1..SV_SIDE_LIMIT, with at most
 * SV_PIXEL_LIMIT pixels in all. */
svit_status sv_encode_png(void **out, size_t *used, size_t *capacity, const sv_allocator *allocator,
                          const char *name, const uint8_t *rgb, size_t height, size_t width,
                          svit_error *err);

#endif
