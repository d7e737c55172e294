/* Recognises the format of an image, decodes it, and turns it upright. */
#include "data/decoding/codec.h"

#include "base/size.h"
#include "data/checks.h"
#include "data/decoding/decoders.h"
#include "data/decoding/exif.h"
#include "data/decoding/orient.h"
#include "io/file_kind.h"

#include <stdbool.h>
#include <string.h>

/*@ requires err == \null || \valid(err);
    assigns *err;
    ensures \result == SVIT_OK ==> 1 <= height <= SV_SIDE_LIMIT && 1 <= width <= SV_SIDE_LIMIT; */
svit_status sv_codec_check_size(size_t height, size_t width, size_t pixel_limit, const char *name,
                                svit_error *err)
{
    if (height < 1 || width < 1 || height > SV_SIDE_LIMIT || width > SV_SIDE_LIMIT ||
        height * width > pixel_limit)
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: the image is %zu x %zu; 1..%d pixels a side and at most %zu in all "
                       "are accepted",
                       name, width, height, SV_SIDE_LIMIT, pixel_limit);
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
        *out++ = sv_pixel_luma(in);
    pixels->channels = SV_GREY;
}

void sv_codec_compose_over_black(sv_pixels *pixels)
{
    const uint8_t *in = pixels->data;
    uint8_t *out = pixels->data;
    for (size_t i = pixels->height * pixels->width; i > 0; i--, in += SV_RGBA, out += SV_RGB) {
        unsigned alpha = in[3];
        for (size_t c = 0; c < SV_RGB; c++)
            out[c] = sv_pixel_over_black(in[c], alpha);
    }
    pixels->channels = SV_RGB;
}

typedef svit_status decode_function(sv_pixels *out, unsigned *orientation,
                                    const sv_decoder *decoder, const uint8_t *data, size_t bytes,
                                    const char *name, size_t channels, svit_error *err);

/* A format and the bytes `mark` that its files have at `at`. */
typedef struct format {
    const char *kind;
    const char *mark;
    size_t at;
    size_t bytes;
    decode_function *decode; /* NULL: the format is refused */
} format;

static const format FORMATS[] = {
    {"a JPEG file", "\xff\xd8\xff", 0, 3, sv_jpeg_decode},
    {"a PNG file", "\x89PNG\r\n\x1a\n", 0, 8, sv_png_decode},
    {"a WebP file", "WEBP", 8, 4, sv_webp_decode},
    {"a BMP file", "BM", 0, 2, NULL},
    {"a GIF file", "GIF8", 0, 4, NULL},
    {"a TIFF file", "II*", 0, 4, NULL},
    {"a TIFF file", "MM\0*", 0, 4, NULL},
    {"an AVIF file", "ftypavif", 4, 8, NULL},
    {"an AVIF file", "ftypavis", 4, 8, NULL},
    {"a HEIC file", "ftyphei", 4, 7, NULL},
    {"a HEIC file", "ftyphevc", 4, 8, NULL},
    {"a HEIF file", "ftypmif1", 4, 8, NULL},
    {"a HEIF file", "ftypmsf1", 4, 8, NULL},
};

static bool has_format(const format *of, const uint8_t *data, size_t bytes)
{
    return bytes >= of->at + of->bytes && memcmp(data + of->at, of->mark, of->bytes) == 0;
}

/* Decodes the pixels as stored, and the orientation. */
static svit_status decode_stored(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                                 const uint8_t *data, size_t bytes, const char *name,
                                 size_t channels, svit_error *err)
{
    const char *kind = NULL;
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS && !kind; i++) {
        const format *of = &FORMATS[i];
        if (has_format(of, data, bytes) && of->decode)
            return of->decode(out, orientation, decoder, data, bytes, name, channels, err);
        kind = has_format(of, data, bytes) ? of->kind : NULL;
    }
    if (!kind)
        kind = sv_file_kind(data, bytes < SV_FILE_START ? bytes : SV_FILE_START);
    if (kind)
        return sv_fail(err, SVIT_E_FORMAT, "%s: %s; JPEG, PNG and WebP are accepted", name, kind);
    return sv_fail(err, SVIT_E_FORMAT,
                   "%s: %zu bytes that begin as no image; JPEG, PNG and WebP are accepted", name,
                   bytes);
}

static svit_status decode_upright(sv_pixels *out, const sv_decoder *decoder, const void *data,
                                  size_t bytes, const char *name, size_t channels, svit_error *err)
{
    unsigned orientation = SV_UPRIGHT;
    sv_pixels pixels;
    SVIT_TRY(decode_stored(&pixels, &orientation, decoder, data, bytes, name, channels, err));
    svit_status status = sv_orient(&pixels, decoder->allocator, orientation, err);
    if (status == SVIT_OK)
        *out = pixels;
    else
        sv_release(decoder->allocator, pixels.data, pixels.bytes);
    return status;
}

svit_status sv_decode(sv_pixels *out, const sv_decoder *decoder, const void *data, size_t bytes,
                      const char *name, size_t channels, svit_error *err)
{
    const svit_status status = decode_upright(out, decoder, data, bytes, name, channels, err);
    return sv_fail_memory_in(err, status, name);
}
