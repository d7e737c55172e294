/* Decodes PNG files with libpng on the caller's allocator, and encodes them with libpng's
 * simplified interface. */
#include "base/size.h"
#include "data/checks.h"
#include "data/decoding/decoders.h"
#include "data/decoding/exif.h"

#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    OPAQUE = 255,
    MEMORY_LIMIT = 64 << 20, /* bytes that libpng may hold; rows and tables take less than 2 MiB */
    MOST_TEXTS = 64
};

/* Chunks that libpng need not read, since no pixel depends on them. sv_exif_of_png reads eXIf. */
static const png_byte UNREAD[][5] = {"bKGD", "cHRM", "eXIf", "gAMA", "hIST", "iCCP", "oFFs", "pCAL",
                                     "pHYs", "sBIT", "sCAL", "sPLT", "sRGB", "sTER", "tIME"};

/* The state of one PNG decoding. libpng's error, memory and input callbacks all get it. */
typedef struct png_source {
    const sv_decoder *decoder;
    const uint8_t *data; /* the rest of the file */
    size_t bytes;
    size_t held;     /* bytes that libpng holds */
    size_t channels; /* that the caller asks for */
    size_t height;   /* 0 before the header is read */
    bool interlaced;
    bool no_memory; /* an allocation has failed, even if libpng ignored it */
    bool whole;     /* the file ends early, but behind the data of the last row */
    char message[128];
} png_source;

enum { PNG_HEADER = SV_ALIGNMENT }; /* bytes before each allocation, which hold its size */

static png_voidp png_allocate(png_structp png, png_alloc_size_t bytes)
{
    png_source *source = png_get_mem_ptr(png);
    size_t total = 0;
    uint8_t *memory = NULL;
    /* Text may take a thousand times the bytes of its chunk. What exceeds the limit, libpng ignores
     * with a warning. */
    if (!sv_size_add(&total, bytes, PNG_HEADER) || total > MEMORY_LIMIT - source->held)
        return NULL;
    memory = sv_allocate(source->decoder->allocator, total);
    if (!memory) {
        source->no_memory = true;
        return NULL;
    }
    source->held += total;
    memcpy(memory, &total, sizeof total);
    return memory + PNG_HEADER;
}

static void png_release(png_structp png, png_voidp given)
{
    png_source *source = png_get_mem_ptr(png);
    size_t total = 0;
    if (!given)
        return;
    uint8_t *memory = (uint8_t *)given - PNG_HEADER;
    memcpy(&total, memory, sizeof total);
    source->held -= total;
    sv_release(source->decoder->allocator, memory, total);
}

/* Whether libpng has given the last row, and reads what is behind it. */
static bool has_all_rows(png_structp png, const png_source *source)
{
    enum { PASSES = 7 };
    if (source->interlaced)
        return png_get_current_pass_number(png) >= PASSES;
    return source->height > 0 && png_get_current_row_number(png) >= source->height;
}

static void png_take(png_structp png, png_bytep out, size_t bytes)
{
    png_source *source = png_get_io_ptr(png);
    if (bytes > source->bytes) {
        source->whole = has_all_rows(png, source);
        png_error(png, "its end is missing");
    }
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
 * is asked for. The gamma and the colour space of the file are ignored, as Pillow does. Of 16 bits
 * a channel, Pillow takes the upper 8; grey without alpha, which it does not convert, is rounded.
 */
static void png_prepare(png_structp png, png_infop info, bool *alpha)
{
    png_source *source = png_get_io_ptr(png);
    png_set_benign_errors(png, 1);
    /* Each text may inflate to 8 MB, whatever becomes of it. */
    png_set_chunk_cache_max(png, MOST_TEXTS);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, UNREAD[0],
                                sizeof UNREAD / sizeof *UNREAD);
    png_read_info(png, info);
    *alpha = (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0 ||
             png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    source->height = png_get_image_height(png, info);
    source->interlaced = png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
    png_set_expand(png);
    png_set_gray_to_rgb(png);
    if (png_get_color_type(png, info) == PNG_COLOR_TYPE_GRAY)
        png_set_scale_16(png);
    else
        png_set_strip_16(png);
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

/* Reads the pixels. Returns false after an error, as png_header does, unless they are whole. */
static bool png_body(png_structp png, png_infop info, const sv_pixels *pixels)
{
    if (setjmp(png_jmpbuf(png)))
        return ((const png_source *)png_get_io_ptr(png))->whole;
    png_read_pixels(png, info, pixels);
    return true;
}

/* Reads the chunks behind the pixels, as far as there are any without an error. */
static void png_tail(png_structp png, png_infop info)
{
    if (!setjmp(png_jmpbuf(png)))
        png_read_end(png, info);
}

/* The orientation in the eXIf chunk of the file, or else in ImageMagick's raw profile, or else in
 * XMP. Of several chunks of one kind the last one counts. */
static unsigned find_orientation(png_structp png, png_infop info, sv_span exif)
{
    sv_span xmp = {NULL, 0};
    png_textp texts = NULL;
    png_textp profile = NULL;
    int count = 0;
    png_get_text(png, info, &texts, &count);
    for (png_textp text = texts; count > 0; count--, text++) {
        if (strcmp(text->key, "Raw profile type exif") == 0)
            profile = text;
        if (strcmp(text->key, "XML:com.adobe.xmp") == 0 && text->text)
            xmp = (sv_span){(const uint8_t *)text->text, strlen(text->text)};
    }
    if (!exif.at && profile && profile->text)
        exif = sv_raw_profile(profile->text, strlen(profile->text));
    return sv_orientation(exif, xmp);
}

/* The status after a step. A failed allocation is an error even if libpng goes on without the
 * memory: an ignored chunk may turn the image. */
static svit_status png_status(const png_source *source, bool read, const char *name,
                              svit_error *err)
{
    if (source->no_memory)
        return sv_fail(err, SVIT_E_MEMORY, "no memory to decode the PNG");
    if (!read)
        return sv_fail(err, SVIT_E_FORMAT, "%s: damaged PNG: %s", name, source->message);
    return SVIT_OK;
}

static svit_status png_read(png_structp png, png_infop info, const png_source *source,
                            sv_pixels *out, unsigned *orientation, sv_span exif, const char *name,
                            svit_error *err)
{
    bool alpha = false;
    SVIT_TRY(png_status(source, png_header(png, info, &alpha), name, err));
    size_t height = png_get_image_height(png, info);
    size_t width = png_get_image_width(png, info);
    SVIT_TRY(sv_codec_check_size(height, width, source->decoder->pixel_limit, name, err));
    sv_pixels pixels;
    SVIT_TRY(sv_codec_allocate(&pixels, source->decoder->allocator, height, width,
                               alpha ? SV_RGBA : SV_RGB, err));
    bool read = png_body(png, info, &pixels);
    if (read && !source->whole)
        png_tail(png, info);
    svit_status status = png_status(source, read, name, err);
    if (status != SVIT_OK) {
        sv_release(source->decoder->allocator, pixels.data, pixels.bytes);
        return status;
    }
    if (source->channels == SV_GREY)
        sv_codec_reduce_to_luma(&pixels);
    else if (alpha && source->channels == SV_RGB)
        sv_codec_compose_over_black(&pixels);
    *orientation = find_orientation(png, info, exif);
    *out = pixels;
    return SVIT_OK;
}

svit_status sv_png_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                          const uint8_t *data, size_t bytes, const char *name, size_t channels,
                          svit_error *err)
{
    png_source source = {.decoder = decoder, .data = data, .bytes = bytes, .channels = channels};
    png_infop info = NULL;
    png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &source, png_stop, png_ignore,
                                               &source, png_allocate, png_release);
    if (png)
        info = png_create_info_struct(png);
    svit_status status = SVIT_E_MEMORY;
    if (info) {
        png_set_read_fn(png, &source, png_take);
        status =
            png_read(png, info, &source, out, orientation, sv_exif_of_png(data, bytes), name, err);
    } else {
        sv_fail(err, status, "no memory for a PNG decoder");
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
