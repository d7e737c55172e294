/* Decodes JPEG files with libjpeg, with its defaults: the accurate integer DCT and smooth chroma
 * upsampling. So the pixels are those of Pillow. */
#include "data/checks.h"
#include "data/decoding/decoders.h"
#include "data/decoding/exif.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* jpeglib.h needs stdio.h, and jerror.h, which has the codes of the messages, needs jpeglib.h. */
#include <jpeglib.h>

#include <jerror.h>

/* The state of one decoding, to which client_data points in libjpeg's callbacks. */
typedef struct jpeg_state {
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    struct jpeg_decompress_struct jpeg;
    jmp_buf stop;
    bool rows_done; /* all rows have been read */
    char message[JMSG_LENGTH_MAX];
} jpeg_state;

static jpeg_state *state_of(j_common_ptr jpeg)
{
    return jpeg->client_data;
}

/* libjpeg requires that the error callback does not return. */
static void jpeg_stop(j_common_ptr jpeg)
{
    jpeg_state *state = state_of(jpeg);
    jpeg->err->format_message(jpeg, state->message);
    longjmp(state->stop, 1);
}

/* Whether a warning is about what changes no pixel. */
static bool is_harmless(const jpeg_state *state)
{
    switch (state->errors.msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
        return true;
    case JWRN_JPEG_EOF:
        return state->rows_done;
    default:
        return false;
    }
}

/* libjpeg only warns of damaged data, and fills the rest of the image. Such warnings are errors.
 * Levels from 0 on are traces. */
static void jpeg_warn(j_common_ptr jpeg, int level)
{
    if (level < 0 && !is_harmless(state_of(jpeg)))
        jpeg_stop(jpeg);
}

static void jpeg_say_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

/* Limits the scans of a progressive file, each of which takes the time of a whole image, though it
 * may have only a few bytes. */
static void jpeg_count_scans(j_common_ptr jpeg)
{
    jpeg_state *state = state_of(jpeg);
    const int most = sv_jpeg_scan_limit(state->jpeg.image_height, state->jpeg.image_width);
    if (state->jpeg.input_scan_number <= most)
        return;
    snprintf(state->message, sizeof state->message, "more than %d scans", most);
    longjmp(state->stop, 1);
}

/* jpeg_header and jpeg_body return false after an error, for which libjpeg's callbacks jump to
 * their setjmp. No local variable changes after setjmp, so all of them keep their values. */
static bool jpeg_header(jpeg_state *state, const uint8_t *data, size_t bytes)
{
    if (setjmp(state->stop))
        return false;
    jpeg_create_decompress(&state->jpeg);
    state->jpeg.progress = &state->progress;
    jpeg_mem_src(&state->jpeg, (unsigned char *)data, (unsigned long)bytes);
    jpeg_read_header(&state->jpeg, TRUE);
    return true;
}

static void read_rows(jpeg_state *state, const sv_pixels *pixels)
{
    struct jpeg_decompress_struct *jpeg = &state->jpeg;
    jpeg_start_decompress(jpeg);
    size_t stride = pixels->width * pixels->channels;
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = pixels->data + jpeg->output_scanline * stride;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    state->rows_done = true;
    jpeg_finish_decompress(jpeg);
}

static bool jpeg_body(jpeg_state *state, const sv_pixels *pixels)
{
    if (setjmp(state->stop))
        return false;
    read_rows(state, pixels);
    return true;
}

static svit_status jpeg_status(const jpeg_state *state, bool read, const char *name,
                               svit_error *err)
{
    if (read)
        return SVIT_OK;
    if (state->errors.msg_code == JERR_OUT_OF_MEMORY)
        return sv_fail(err, SVIT_E_MEMORY, "no memory to decode the JPEG: %s", state->message);
    return sv_fail(err, SVIT_E_FORMAT, "%s: damaged JPEG: %s", name, state->message);
}

/* Chooses the colour space of the rows: grey, RGB and YCbCr become RGB, and CMYK and YCCK become
 * CMYK. */
static svit_status choose_colours(struct jpeg_decompress_struct *jpeg, const char *name,
                                  svit_error *err)
{
    switch (jpeg->jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_RGB:
    case JCS_YCbCr:
        jpeg->out_color_space = JCS_RGB;
        return SVIT_OK;
    case JCS_CMYK:
    case JCS_YCCK:
        jpeg->out_color_space = JCS_CMYK;
        return SVIT_OK;
    default:
        return sv_fail(err, SVIT_E_FORMAT,
                       "%s: a JPEG of %d components; 1 (grey), 3 (RGB, YCbCr) and 4 (CMYK, YCCK) "
                       "are accepted",
                       name, jpeg->num_components);
    }
}

/* ink * light / 255, rounded: how much an ink absorbs of the light that black leaves. */
static unsigned absorbed(unsigned ink, unsigned light)
{
    unsigned product = ink * light + 128;
    return (product + (product >> 8)) >> 8;
}

/* Replaces CMYK by RGB, or by opaque RGBA, in place, as Pillow does: the stored values are taken to
 * be inverted, which is Adobe's convention, and RGB = K - (255 - CMY) K / 255 in stored values. */
static void convert_inks(sv_pixels *pixels, size_t channels)
{
    const uint8_t *in = pixels->data;
    uint8_t *out = pixels->data;
    for (size_t i = pixels->height * pixels->width; i > 0; i--, in += 4, out += channels) {
        unsigned light = in[3];
        for (size_t c = 0; c < SV_RGB; c++)
            out[c] = (uint8_t)(light - absorbed(255u - in[c], light));
        if (channels == SV_RGBA)
            out[3] = 255;
    }
    pixels->channels = channels;
}

/* Replaces RGB, in an array that is large enough for RGBA, by opaque RGBA, from the end on. */
static void add_alpha(sv_pixels *pixels)
{
    for (size_t i = pixels->height * pixels->width; i > 0; i--) {
        const uint8_t *in = pixels->data + (i - 1) * SV_RGB;
        const uint8_t rgba[SV_RGBA] = {in[0], in[1], in[2], 255};
        memcpy(pixels->data + (i - 1) * SV_RGBA, rgba, sizeof rgba);
    }
    pixels->channels = SV_RGBA;
}

static svit_status jpeg_read(jpeg_state *state, sv_pixels *out, const sv_decoder *decoder,
                             const uint8_t *data, size_t bytes, const char *name, size_t channels,
                             svit_error *err)
{
    SVIT_TRY(jpeg_status(state, jpeg_header(state, data, bytes), name, err));
    size_t height = state->jpeg.image_height, width = state->jpeg.image_width;
    SVIT_TRY(sv_codec_check_size(height, width, decoder->pixel_limit, name, err));
    SVIT_TRY(choose_colours(&state->jpeg, name, err));
    const bool inks = state->jpeg.out_color_space == JCS_CMYK;
    const size_t stored = inks || channels == SV_RGBA ? SV_RGBA : SV_RGB;
    sv_pixels pixels;
    SVIT_TRY(sv_codec_allocate(&pixels, decoder->allocator, height, width, stored, err));
    pixels.channels = inks ? 4 : SV_RGB;
    svit_status status = jpeg_status(state, jpeg_body(state, &pixels), name, err);
    if (status != SVIT_OK) {
        sv_release(decoder->allocator, pixels.data, pixels.bytes);
        return status;
    }
    if (inks)
        convert_inks(&pixels, channels == SV_RGBA ? SV_RGBA : SV_RGB);
    else if (channels == SV_RGBA)
        add_alpha(&pixels);
    if (channels == SV_GREY)
        sv_codec_reduce_to_luma(&pixels);
    *out = pixels;
    return SVIT_OK;
}

svit_status sv_jpeg_decode(sv_pixels *out, unsigned *orientation, const sv_decoder *decoder,
                           const uint8_t *data, size_t bytes, const char *name, size_t channels,
                           svit_error *err)
{
    jpeg_state state;
    memset(&state, 0, sizeof state);
    state.jpeg.err = jpeg_std_error(&state.errors);
    state.jpeg.client_data = &state;
    state.errors.error_exit = jpeg_stop;
    state.errors.emit_message = jpeg_warn;
    state.errors.output_message = jpeg_say_nothing;
    state.progress.progress_monitor = jpeg_count_scans;
    *orientation = sv_exif_of_jpeg(data, bytes);
    svit_status status = jpeg_read(&state, out, decoder, data, bytes, name, channels, err);
    jpeg_destroy_decompress(&state.jpeg);
    return status;
}
