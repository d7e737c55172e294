/* Pixels of a program's frames in the order of the library's arrays. */
#include "data/checks.h"
#include "data/decoding/pixel.h"

#include <shiftvit/image.h>

#include <stdbool.h>

/* Where a pixel has its colours and alpha. */
typedef struct order {
    uint8_t bytes; /* of a pixel */
    uint8_t red, green, blue, alpha;
    bool has_alpha;
} order;

static const order ORDERS[] = {[SVIT_PIXELS_GREY] = {1, 0, 0, 0, 0, false},
                               [SVIT_PIXELS_RGB] = {3, 0, 1, 2, 0, false},
                               [SVIT_PIXELS_BGR] = {3, 2, 1, 0, 0, false},
                               [SVIT_PIXELS_RGBA] = {4, 0, 1, 2, 3, true},
                               [SVIT_PIXELS_BGRA] = {4, 2, 1, 0, 3, true}};

/* out[width, channels] = in[width] */
static void convert_row(uint8_t *out, const uint8_t *in, const order *from, size_t width,
                        size_t channels)
{
    for (size_t x = 0; x < width; x++, in += from->bytes, out += channels) {
        const uint8_t rgb[] = {in[from->red], in[from->green], in[from->blue]};
        const uint8_t alpha = from->has_alpha ? in[from->alpha] : 255;
        if (channels == SV_GREY) {
            out[0] = sv_pixel_luma(rgb);
            continue;
        }
        for (size_t c = 0; c < SV_RGB; c++)
            out[c] = channels == SV_RGB ? sv_pixel_over_black(rgb[c], alpha) : rgb[c];
        if (channels == SV_RGBA)
            out[3] = alpha;
    }
}

SVIT_API svit_status svit_pixels_convert(const uint8_t *in, int32_t format, size_t height,
                                         size_t width, size_t stride, uint8_t *out, size_t channels,
                                         svit_error *err)
{
    SV_REQUIRE(in);
    SV_REQUIRE(out);
    if (format < 0 || format >= (int32_t)(sizeof ORDERS / sizeof *ORDERS))
        return sv_fail(err, SVIT_E_ARGUMENT, "%s: format is %d; SVIT_PIXELS_* are accepted",
                       __func__, (int)format);
    const order *from = &ORDERS[format];
    const size_t row = width * from->bytes;
    SVIT_TRY(sv_check_distinct(__func__, in, out, err));
    SVIT_TRY(sv_check_sides(__func__, "", height, width, err));
    SVIT_TRY(sv_check_file_channels(__func__, channels, err));
    SVIT_TRY(
        sv_check_range(__func__, "stride", stride ? stride : row, row, PTRDIFF_MAX / height, err));
    for (size_t y = 0; y < height; y++)
        convert_row(out + y * width * channels, in + y * (stride ? stride : row), from, width,
                    channels);
    return SVIT_OK;
}
