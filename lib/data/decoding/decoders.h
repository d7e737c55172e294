/* The decoders of the image formats. Each is one file, jpeg.c, png.c or webp.c, that alone names
 * its image library; a build without the library has jpeg_absent.c and so on instead, whose
 * functions return SVIT_E_UNSUPPORTED. Only codec.c and these files use this header. */
#ifndef SV_DECODERS_H
#define SV_DECODERS_H

#include "data/decoding/codec.h"
#include "data/decoding/pixel.h"

/* The most scans of a JPEG: 500, and of large images as many that scans * pixels is at most 2^31,
 * which is about a second's work. Encoders write ten. */
static inline int sv_jpeg_scan_limit(size_t height, size_t width)
{
    const size_t most = ((size_t)1 << 31) / (height * width);
    return most < 500 ? (int)most : 500;
}

/* SVIT_E_FORMAT if the sides of an image are outside the limits of svit_image_read, or its pixels
 * are more than `pixel_limit`. */
svit_status sv_codec_check_size(size_t height, size_t width, size_t pixel_limit, const char *name,
                                svit_error *err);

/* Allocates out->data[height, width, channels]. The caller releases it with out->bytes. */
svit_status sv_codec_allocate(sv_pixels *out, const sv_allocator *allocator, size_t height,
                              size_t width, size_t channels, svit_error *err);

/* Replaces each pixel of RGB or RGBA by its luma (ITU-R 601), in place, in the 16-bit fixed point
 * of Pillow's convert("L"). The alpha does not count. */
void sv_codec_reduce_to_luma(sv_pixels *pixels);

/* Composes RGBA over black, in place: RGB = (colour * alpha + 127) / 255. */
void sv_codec_compose_over_black(sv_pixels *pixels);

/* Decode the bytes of a whole file as sv_decode does, but leave the image as it is stored, and
 * write its orientation, one of exif.h. */
svit_status sv_jpeg_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                           const uint8_t *data, size_t bytes, const char *name, size_t channels,
                           svit_error *err);
svit_status sv_png_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                          const uint8_t *data, size_t bytes, const char *name, size_t channels,
                          svit_error *err);
svit_status sv_webp_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                           const uint8_t *data, size_t bytes, const char *name, size_t channels,
                           svit_error *err);

#endif
