/* Decodes WebP files with libwebp. Of an animation, it takes the first frame on a transparent
 * canvas. A file is a RIFF container, whose chunks have a name, a size and contents. */
#include "data/checks.h"
#include "data/decoding/decoders.h"
#include "data/decoding/exif.h"

#include <stdbool.h>
#include <string.h>
#include <webp/decode.h>

/* A frame and its place on the canvas. */
typedef struct frame {
    sv_span data;
    size_t x, y;
    size_t width, height;
} frame;

/*@ requires err == \null || \valid(err);
    assigns *err;
    ensures \result == SVIT_E_FORMAT; */
static svit_status fail_webp(svit_error *err, const char *name, const char *what)
{
    return sv_fail(err, SVIT_E_FORMAT, "%s: damaged WebP: %s", name, what);
}

/*@ requires \valid_read(at + (0 .. bytes - 1));
    assigns \nothing; */
static size_t little_endian(const uint8_t *at, size_t bytes)
{
    size_t value = 0;
    /*@ loop invariant bytes <= \at(bytes, Pre);
        loop assigns bytes, value; */
    for (; bytes > 0; bytes--)
        value = value << 8 | at[bytes - 1];
    return value;
}

/* The contents of the first whole chunk of that name; `at` is NULL if there is none. */
/*@ requires in_span(file) && \valid_read(wanted + (0 .. 3));
    assigns \nothing;
    ensures in_span(\result); */
static sv_span find_chunk(sv_span file, const char *wanted)
{
    enum { RIFF_HEADER = 12, NAME = 4, HEADER = 8 };
    /*@ loop assigns at; */
    for (size_t at = RIFF_HEADER; at <= file.bytes && file.bytes - at >= HEADER;) {
        const uint8_t *chunk = file.at + at;
        size_t bytes = little_endian(chunk + NAME, 4);
        at += HEADER;
        if (bytes > file.bytes - at)
            break;
        if (memcmp(chunk, wanted, NAME) == 0)
            return (sv_span){file.at + at, bytes};
        at += bytes + bytes % 2;
    }
    return (sv_span){NULL, 0};
}

/* The orientation in the chunks that the flags of an extended file announce. */
/*@ requires in_span(file);
    assigns \nothing;
    ensures 1 <= \result <= 8; */
static unsigned find_orientation(sv_span file)
{
    enum { EXIF_FLAG = 8, XMP_FLAG = 4 };
    const sv_span none = {NULL, 0};
    sv_span extended = find_chunk(file, "VP8X");
    if (extended.bytes == 0)
        return SV_UPRIGHT;
    unsigned flags = extended.at[0];
    return sv_orientation(flags & EXIF_FLAG ? find_chunk(file, "EXIF") : none,
                          flags & XMP_FLAG ? find_chunk(file, "XMP ") : none);
}

/* Finds the frame of a still image, or the first one of an animation, which must be on the
 * canvas. */
/*@ requires \valid(out) && in_span(file) && \valid_read(canvas) && (err == \null || \valid(err));
    requires \separated(out, canvas, err, file.at + (0 .. file.bytes - 1));
    assigns *out, *err;
    ensures \result == SVIT_OK ==> in_span(out->data); */
static svit_status find_frame(frame *out, sv_span file, const WebPBitstreamFeatures *canvas,
                              const char *name, svit_error *err)
{
    enum { HEADER = 16, FIELD = 3 };
    const size_t height = (size_t)canvas->height, width = (size_t)canvas->width;
    *out = (frame){file, 0, 0, width, height};
    if (!canvas->has_animation)
        return SVIT_OK;
    sv_span chunk = find_chunk(file, "ANMF");
    if (chunk.bytes < HEADER)
        return fail_webp(err, name, "it has no whole frame");
    const sv_span data = {chunk.at + HEADER, chunk.bytes - HEADER};
    *out = (frame){.data = data,
                   .x = 2 * little_endian(chunk.at, FIELD),
                   .y = 2 * little_endian(chunk.at + FIELD, FIELD),
                   .width = 1 + little_endian(chunk.at + 2 * FIELD, FIELD),
                   .height = 1 + little_endian(chunk.at + 3 * FIELD, FIELD)};
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(data.at, data.bytes, &features) != VP8_STATUS_OK)
        return fail_webp(err, name, "the header of its first frame is not whole");
    if ((size_t)features.width != out->width || (size_t)features.height != out->height ||
        out->x > width || out->width > width - out->x || out->y > height ||
        out->height > height - out->y)
        return fail_webp(err, name, "its first frame does not fit its canvas");
    return SVIT_OK;
}

/* Whether there is memory for what libwebp allocates, at most about a further canvas. libwebp
 * reports some failed allocations as damage and does not survive others, so this is asked first. */
static bool has_memory(const sv_pixels *pixels)
{
    enum { TABLES = 1 << 20 };
    void *memory = WebPMalloc(pixels->bytes + TABLES);
    WebPFree(memory);
    return memory != NULL;
}

/* Decodes a frame into its place on the canvas pixels[height, width, 4]. */
static svit_status decode_frame(const frame *from, const sv_pixels *pixels, const char *name,
                                svit_error *err)
{
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config))
        return sv_fail(err, SVIT_E_UNSUPPORTED,
                       "%s: a WebP; the libwebp that is loaded is too old for this build", name);
    const size_t stride = pixels->width * SV_RGBA;
    const size_t first = from->y * stride + from->x * SV_RGBA;
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels->data + first;
    config.output.u.RGBA.stride = (int)stride;
    config.output.u.RGBA.size = pixels->bytes - first;
    VP8StatusCode status = VP8_STATUS_OUT_OF_MEMORY;
    if (has_memory(pixels))
        status = WebPDecode(from->data.at, from->data.bytes, &config);
    WebPFreeDecBuffer(&config.output);
    if (status == VP8_STATUS_OUT_OF_MEMORY)
        return sv_fail(err, SVIT_E_MEMORY, "no memory to decode the WebP");
    return status == VP8_STATUS_OK ? SVIT_OK : fail_webp(err, name, "its pixels are not whole");
}

/* Makes all pixels opaque. */
static void remove_alpha(sv_pixels *pixels)
{
    for (size_t i = 0; i < pixels->height * pixels->width; i++)
        pixels->data[i * SV_RGBA + 3] = 255;
}

svit_status sv_webp_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                           const uint8_t *data, size_t bytes, const char *name, size_t channels,
                           svit_error *err)
{
    const sv_span file = {data, bytes};
    WebPBitstreamFeatures canvas;
    frame first;
    sv_pixels pixels;
    if (WebPGetFeatures(data, bytes, &canvas) != VP8_STATUS_OK)
        return fail_webp(err, name, "its header is not whole");
    SVIT_TRY(sv_codec_check_size((size_t)canvas.height, (size_t)canvas.width, decoder->pixel_limit,
                                 name, err));
    SVIT_TRY(find_frame(&first, file, &canvas, name, err));
    SVIT_TRY(sv_codec_allocate(&pixels, decoder->allocator, (size_t)canvas.height,
                               (size_t)canvas.width, SV_RGBA, err));
    memset(pixels.data, 0, pixels.bytes);
    svit_status status = decode_frame(&first, &pixels, name, err);
    if (status != SVIT_OK) {
        sv_release(decoder->allocator, pixels.data, pixels.bytes);
        return status;
    }
    if (!canvas.has_alpha)
        remove_alpha(&pixels);
    if (channels == SV_GREY)
        sv_codec_reduce_to_luma(&pixels);
    else if (channels == SV_RGB)
        sv_codec_compose_over_black(&pixels);
    *orientation = find_orientation(file);
    *out = pixels;
    return SVIT_OK;
}
