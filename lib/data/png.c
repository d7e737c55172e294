/* Decodes PNG files with libpng on the caller's allocator, and encodes them with libpng's
 * simplified interface. */
#include "base/size.h"
#include "data/checks.h"
#include "data/decoders.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { OPAQUE = 255 };

static size_t big_endian(const uint8_t *four)
{
    return (size_t)four[0] << 24 | (size_t)four[1] << 16 | (size_t)four[2] << 8 | four[3];
}

/* Whether the chunks are complete up to IEND. libpng stops at the last row and would not notice a
 * missing end. */
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

/* Composes RGBA over black, in place: colour * alpha / 255, in sRGB values. */
static void compose_over_black(sv_pixels *pixels)
{
    const uint8_t *in = pixels->data;
    uint8_t *out = pixels->data;
    for (size_t i = pixels->height * pixels->width; i > 0; i--, in += SV_RGBA, out += SV_RGB) {
        unsigned alpha = in[3];
        for (size_t c = 0; c < SV_RGB; c++)
            out[c] = (uint8_t)((in[c] * alpha + 127) / 255);
    }
    pixels->channels = SV_RGB;
}

/* The state of one PNG decoding. libpng's error, memory and input callbacks all get it. */
typedef struct png_source {
    const sv_allocator *allocator;
    const uint8_t *data; /* the rest of the file */
    size_t bytes;
    size_t channels; /* that are asked for */
    bool no_memory;  /* an allocation has failed, even if libpng ignored it */
    char message[128];
} png_source;

enum { PNG_HEADER = SV_ALIGNMENT }; /* bytes before each allocation, which hold its size */

static png_voidp png_allocate(png_structp png, png_alloc_size_t bytes)
{
    png_source *source = png_get_mem_ptr(png);
    size_t total = 0;
    uint8_t *memory = NULL;
    if (sv_size_add(&total, bytes, PNG_HEADER))
        memory = sv_allocate(source->allocator, total);
    if (!memory) {
        source->no_memory = true;
        return NULL;
    }
    memcpy(memory, &total, sizeof total);
    return memory + PNG_HEADER;
}

static void png_release(png_structp png, png_voidp given)
{
    const png_source *source = png_get_mem_ptr(png);
    uint8_t *memory = (uint8_t *)given - PNG_HEADER;
    size_t total = 0;
    if (!given)
        return;
    memcpy(&total, memory, sizeof total);
    sv_release(source->allocator, memory, total);
}

static void png_take(png_structp png, png_bytep out, size_t bytes)
{
    png_source *source = png_get_io_ptr(png);
    if (bytes > source->bytes)
        png_error(png, "its end is missing");
    memcpy(out, source->data, bytes);
    source->data += bytes;
    source->bytes -= bytes;
}

/* libpng requires that the error callback does not return. */
static void png_stop(png_structp png, png_const_charp message)
{
    png_source *source = png_get_error_ptr(png);
    snprintf(source->message, sizeof source->message, "%s", message);
    png_longjmp(png, 1);
}

static void png_ignore(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* Reads the header, and sets the output to 8-bit RGB, or to RGBA if there is transparency or if it
 * is asked for, in sRGB. libpng converts another gamma of the file. */
static void png_prepare(png_structp png, png_infop info, bool *alpha)
{
    const png_source *source = png_get_io_ptr(png);
    png_set_benign_errors(png, 1);
    png_read_info(png, info);
    *alpha = (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0 ||
             png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    png_set_expand(png);
    png_set_gray_to_rgb(png);
    png_set_scale_16(png);
    png_set_alpha_mode(png, PNG_ALPHA_PNG, PNG_DEFAULT_sRGB);
    if (source->channels == SV_RGBA && !*alpha) {
        png_set_add_alpha(png, OPAQUE, PNG_FILLER_AFTER);
        *alpha = true;
    }
}

static void png_read_pixels(png_structp png, png_infop info, const sv_pixels *pixels)
{
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size_t row = png_get_rowbytes(png, info);
    if (row * pixels->height != pixels->bytes)
        png_error(png, "rows of an unexpected size");
    for (; passes > 0; passes--)
        for (size_t y = 0; y < pixels->height; y++)
            png_read_row(png, pixels->data + y * row, NULL);
}

/* Reads the header. Returns false after an error, for which libpng jumps here. No local variable
 * changes after setjmp, so all of them keep their values. */
static bool png_header(png_structp png, png_infop info, bool *alpha)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_prepare(png, info, alpha);
    return true;
}

/* Reads the pixels. Returns false after an error, as png_header does. */
static bool png_body(png_structp png, png_infop info, const sv_pixels *pixels)
{
    if (setjmp(png_jmpbuf(png)))
        return false;
    png_read_pixels(png, info, pixels);
    return true;
}

/* The status after a step. A failed allocation is an error even if libpng goes on without the
 * memory: an ignored chunk may change the colours. */
static svit_status png_status(const png_source *source, bool read, const char *name,
                              svit_error *err)
{
    if (source->no_memory)
        return sv_fail(err, SVIT_E_MEMORY, "%s: no memory to decode the PNG", name);
    if (!read)
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged PNG: %s", name, source->message);
    return SVIT_OK;
}

static svit_status png_read(png_structp png, png_infop info, const png_source *source,
                            sv_pixels *out, const char *name, svit_error *err)
{
    bool alpha = false;
    SVIT_TRY(png_status(source, png_header(png, info, &alpha), name, err));
    size_t height = png_get_image_height(png, info);
    size_t width = png_get_image_width(png, info);
    SVIT_TRY(sv_codec_check_size(height, width, name, err));
    sv_pixels pixels;
    SVIT_TRY(sv_codec_allocate(&pixels, source->allocator, height, width, alpha ? SV_RGBA : SV_RGB,
                               err));
    svit_status status = png_status(source, png_body(png, info, &pixels), name, err);
    if (status != SVIT_OK) {
        sv_release(source->allocator, pixels.data, pixels.bytes);
        return status;
    }
    if (source->channels == SV_GREY)
        sv_codec_reduce_to_luma(&pixels);
    else if (alpha && source->channels == SV_RGB)
        compose_over_black(&pixels);
    *out = pixels;
    return SVIT_OK;
}

svit_status sv_png_decode(sv_pixels *out, const sv_allocator *allocator, const uint8_t *data,
                          size_t bytes, const char *name, size_t channels, svit_error *err)
{
    if (!png_is_whole(data, bytes))
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged PNG: its end is missing", name);
    png_source source = {
        .allocator = allocator, .data = data, .bytes = bytes, .channels = channels};
    png_infop info = NULL;
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &source, png_stop, png_ignore,
                                               &source, png_allocate, png_release);
    if (png)
        info = png_create_info_struct(png);
    svit_status status = SVIT_E_MEMORY;
    if (info) {
        png_set_read_fn(png, &source, png_take);
        status = png_read(png, info, &source, out, name, err);
    } else {
        sv_fail(err, status, "%s: no memory for a PNG decoder", name);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return status;
}

svit_status sv_encode_png(void **out, size_t *used, size_t *capacity, const sv_allocator *allocator,
                          const char *name, const uint8_t *rgb, size_t height, size_t width,
                          svit_error *err)
{
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    png.width = (png_uint_32)width;
    png.height = (png_uint_32)height;
    png.format = PNG_FORMAT_RGB;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
    size_t size = bytes;
    void *data = sv_allocate(allocator, size);
    if (!data)
        return sv_fail_memory(err, size, "a PNG file");
    if (!png_image_write_to_memory(&png, data, &bytes, 0, rgb, 0, NULL)) {
        sv_release(allocator, data, size);
        return sv_fail(err, SVIT_E_MEMORY, "%s: cannot encode the PNG: %s", name, png.message);
    }
    *out = data;
    *used = bytes;
    *capacity = size;
    return SVIT_OK;
}
