/* The decoders: TurboJPEG, and libpng's simplified interface, which needs no setjmp. Both read from
 * memory, so that files have their one door elsewhere. */
#include "data/codec.h"

#include "base/size.h"
#include "data/checks.h"
#include "data/exif.h"
#include "data/orient.h"

#include <png.h>
#include <stdbool.h>
#include <string.h>
#include <turbojpeg.h>

enum { RGBA = 4 };

static svit_status check_size(size_t height, size_t width, const char *name, svit_error *err)
{
    if (height < 1 || width < 1 || height > SV_SIDE_LIMIT || width > SV_SIDE_LIMIT ||
        height * width > SV_PIXEL_LIMIT)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: the picture is %zu x %zu; 1..%d pixels a side and at most %d in all "
                       "are accepted",
                       name, width, height, SV_SIDE_LIMIT, SV_PIXEL_LIMIT);
    return SVIT_OK;
}

static svit_status pixels_allocate(sv_pixels *out, const sv_allocator *allocator, size_t height,
                                   size_t width, size_t channels, svit_error *err)
{
    size_t factors[] = {height, width, channels};
    size_t bytes = 0;
    if (!sv_size_product(&bytes, factors, 3))
        return sv_fail_memory(err, SIZE_MAX, "a picture");
    uint8_t *rgb = sv_allocate(allocator, bytes);
    if (!rgb)
        return sv_fail_memory(err, bytes, "a picture");
    *out = (sv_pixels){.rgb = rgb, .height = height, .width = width, .bytes = bytes};
    return SVIT_OK;
}

/* A file that ends early is only a warning to the decoder, which would make up the rest of the
 * picture; so every warning is a refusal. */
static svit_status jpeg_decompress(tjhandle jpeg, sv_pixels *out, const sv_allocator *allocator,
                                   const uint8_t *data, size_t bytes, const char *name,
                                   svit_error *err)
{
    int width = 0;
    int height = 0;
    int sampling = 0;
    int colours = 0;
    if (tjDecompressHeader3(jpeg, data, bytes, &width, &height, &sampling, &colours) != 0)
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged JPEG: %s", name, tjGetErrorStr2(jpeg));
    SVIT_TRY(check_size((size_t)height, (size_t)width, name, err));
    if (colours != TJCS_RGB && colours != TJCS_YCbCr && colours != TJCS_GRAY)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: a JPEG of four inks (CMYK); RGB, YCbCr and grey are accepted", name);
    sv_pixels pixels;
    SVIT_TRY(pixels_allocate(&pixels, allocator, (size_t)height, (size_t)width, SV_RGB, err));
    if (tjDecompress2(jpeg, data, bytes, pixels.rgb, width, 0, height, TJPF_RGB,
                      TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0) {
        sv_release(allocator, pixels.rgb, pixels.bytes);
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged JPEG: %s", name, tjGetErrorStr2(jpeg));
    }
    *out = pixels;
    return SVIT_OK;
}

static svit_status jpeg_decode(sv_pixels *out, const sv_allocator *allocator, const uint8_t *data,
                               size_t bytes, const char *name, svit_error *err)
{
    tjhandle jpeg = tjInitDecompress();
    if (!jpeg)
        return sv_fail(err, SVIT_E_MEMORY, "%s: no memory for a JPEG decoder", name);
    svit_status status = jpeg_decompress(jpeg, out, allocator, data, bytes, name, err);
    tjDestroy(jpeg);
    return status;
}

static size_t big_endian(const uint8_t *four)
{
    return (size_t)four[0] << 24 | (size_t)four[1] << 16 | (size_t)four[2] << 8 | four[3];
}

/* True where the chunks follow each other up to IEND. The simplified interface stops reading at
 * the last row, so it would not see that the end is missing. */
static bool png_is_whole(const uint8_t *data, size_t bytes)
{
    enum { SIGNATURE = 8, FRAME = 12 };
    size_t at = SIGNATURE;
    while (at <= bytes && bytes - at >= FRAME) {
        size_t length = big_endian(data + at);
        if (length > bytes - at - FRAME)
            return false;
        if (memcmp(data + at + 4, "IEND", 4) == 0)
            return true;
        at += FRAME + length;
    }
    return false;
}

/* Lays RGBA on black, in place, as colour * alpha / 255 of the bytes as they are. */
static void lay_on_black(uint8_t *pixels, size_t count)
{
    const uint8_t *in = pixels;
    uint8_t *out = pixels;
    for (size_t i = 0; i < count; i++, in += RGBA, out += SV_RGB) {
        unsigned alpha = in[3];
        for (size_t c = 0; c < SV_RGB; c++)
            out[c] = (uint8_t)((in[c] * alpha + 127) / 255);
    }
}

static svit_status png_read(png_image *png, sv_pixels *out, const sv_allocator *allocator,
                            const char *name, svit_error *err)
{
    SVIT_TRY(check_size(png->height, png->width, name, err));
    bool alpha = (png->format & PNG_FORMAT_FLAG_ALPHA) != 0;
    png->format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    png->flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    sv_pixels pixels;
    SVIT_TRY(
        pixels_allocate(&pixels, allocator, png->height, png->width, alpha ? RGBA : SV_RGB, err));
    if (!png_image_finish_read(png, NULL, pixels.rgb, 0, NULL)) {
        sv_release(allocator, pixels.rgb, pixels.bytes);
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged PNG: %s", name, png->message);
    }
    if (alpha)
        lay_on_black(pixels.rgb, pixels.height * pixels.width);
    *out = pixels;
    return SVIT_OK;
}

static svit_status png_decode(sv_pixels *out, const sv_allocator *allocator, const uint8_t *data,
                              size_t bytes, const char *name, svit_error *err)
{
    if (!png_is_whole(data, bytes))
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged PNG: its end is missing", name);
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_memory(&png, data, bytes))
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged PNG: %s", name, png.message);
    svit_status status = png_read(&png, out, allocator, name, err);
    png_image_free(&png);
    return status;
}

/* The pixels as stored, and the orientation that the file notes. */
static svit_status decode_stored(sv_pixels *out, unsigned *orientation,
                                 const sv_allocator *allocator, const uint8_t *data, size_t bytes,
                                 const char *name, svit_error *err)
{
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff};
    static const uint8_t png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (bytes >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0) {
        *orientation = sv_exif_of_jpeg(data, bytes);
        return jpeg_decode(out, allocator, data, bytes, name, err);
    }
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0) {
        *orientation = sv_exif_of_png(data, bytes);
        return png_decode(out, allocator, data, bytes, name, err);
    }
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: %zu bytes that begin as neither JPEG nor PNG; these two are accepted", name,
                   bytes);
}

svit_status sv_decode(sv_pixels *out, const sv_allocator *allocator, const void *data, size_t bytes,
                      const char *name, svit_error *err)
{
    unsigned orientation = SV_UPRIGHT;
    sv_pixels pixels;
    SVIT_TRY(decode_stored(&pixels, &orientation, allocator, data, bytes, name, err));
    svit_status status = sv_orient(&pixels, allocator, orientation, err);
    if (status == SVIT_OK)
        *out = pixels;
    else
        sv_release(allocator, pixels.rgb, pixels.bytes);
    return status;
}

svit_status sv_encode_png(void **out, size_t *used, size_t *capacity, const sv_allocator *allocator,
                          const uint8_t *rgb, size_t height, size_t width, svit_error *err)
{
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    png.width = (png_uint_32)width;
    png.height = (png_uint_32)height;
    png.format = PNG_FORMAT_RGB;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
    size_t room = bytes;
    void *data = sv_allocate(allocator, room);
    if (!data)
        return sv_fail_memory(err, room, "a PNG file");
    if (!png_image_write_to_memory(&png, data, &bytes, 0, rgb, 0, NULL)) {
        sv_release(allocator, data, room);
        return sv_fail(err, SVIT_E_MEMORY, "cannot encode a PNG: %s", png.message);
    }
    *out = data;
    *used = bytes;
    *capacity = room;
    return SVIT_OK;
}
