/* Recognises the format of an image, decodes it, and turns it upright. */
#include "data/codec.h"

#include "base/size.h"
#include "data/checks.h"
#include "data/decoders.h"
#include "data/exif.h"
#include "data/orient.h"

#include <string.h>

svit_status sv_codec_check_size(size_t height, size_t width, const char *name, svit_error *err)
{
    if (height < 1 || width < 1 || height > SV_SIDE_LIMIT || width > SV_SIDE_LIMIT ||
        height * width > SV_PIXEL_LIMIT)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: the image is %zu x %zu; 1..%d pixels a side and at most %d in all "
                       "are accepted",
                       name, width, height, SV_SIDE_LIMIT, SV_PIXEL_LIMIT);
    return SVIT_OK;
}

svit_status sv_codec_allocate(sv_pixels *out, const sv_allocator *allocator, size_t height,
                              size_t width, size_t channels, svit_error *err)
{
    size_t factors[] = {height, width, channels};
    size_t bytes = 0;
    if (!sv_size_product(&bytes, factors, 3))
        return sv_fail_memory(err, SIZE_MAX, "an image");
    uint8_t *data = sv_allocate(allocator, bytes);
    if (!data)
        return sv_fail_memory(err, bytes, "an image");
    *out = (sv_pixels){data, height, width, channels, bytes};
    return SVIT_OK;
}

void sv_codec_reduce_to_luma(sv_pixels *pixels)
{
    const uint8_t *in = pixels->data;
    uint8_t *out = pixels->data;
    for (size_t i = pixels->height * pixels->width; i > 0; i--, in += pixels->channels)
        *out++ = (uint8_t)((19595 * in[0] + 38470 * in[1] + 7471 * in[2] + 0x8000) >> 16);
    pixels->channels = SV_GREY;
}

/* Decodes the pixels as stored, and the EXIF orientation. */
static svit_status decode_stored(sv_pixels *out, unsigned *orientation,
                                 const sv_allocator *allocator, const uint8_t *data, size_t bytes,
                                 const char *name, size_t channels, svit_error *err)
{
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff};
    static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (bytes >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0) {
        *orientation = sv_exif_of_jpeg(data, bytes);
        return sv_jpeg_decode(out, allocator, data, bytes, name, channels, err);
    }
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0) {
        *orientation = sv_exif_of_png(data, bytes);
        return sv_png_decode(out, allocator, data, bytes, name, channels, err);
    }
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: %zu bytes that begin as neither JPEG nor PNG; these two are accepted", name,
                   bytes);
}

svit_status sv_decode(sv_pixels *out, const sv_allocator *allocator, const void *data, size_t bytes,
                      const char *name, size_t channels, svit_error *err)
{
    unsigned orientation = SV_UPRIGHT;
    sv_pixels pixels;
    SVIT_TRY(decode_stored(&pixels, &orientation, allocator, data, bytes, name, channels, err));
    svit_status status = sv_orient(&pixels, allocator, orientation, err);
    if (status == SVIT_OK)
        *out = pixels;
    else
        sv_release(allocator, pixels.data, pixels.bytes);
    return status;
}
