/* Resampling: sizes, transforms and patches from the input on small images. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>

static void fill(uint8_t *pixels, size_t bytes, fuzz_bytes *from)
{
    for (size_t i = 0; i < bytes; i++)
        pixels[i] = from->size > 0 ? (uint8_t)fuzz_take(from, 1) : (uint8_t)(i * 31);
}

/* Outputs of the filters are between the smallest and the largest byte of the input. */
static void check_bytes(fuzz_bytes *bytes, size_t h, size_t w, size_t oh, size_t ow)
{
    svit_error err = FUZZ_ERROR;
    uint8_t *in = malloc(h * w * 3 + 1), *out = malloc(oh * ow * 3 + 1), low = 255, high = 0;
    FUZZ_CHECK(in && out);
    fill(in, h * w * 3, bytes);
    for (size_t i = 0; i < h * w * 3; i++) {
        low = in[i] < low ? in[i] : low;
        high = in[i] > high ? in[i] : high;
    }
    for (int antialias = 0; antialias < 2; antialias++) {
        const svit_status status =
            antialias ? svit_resize_antialias_u8(fuzz_context(), in, h, w, out, oh, ow, &err)
                      : svit_resize_nearest_u8(in, h, w, out, oh, ow, &err);
        FUZZ_CHECK(fuzz_ok(status, &err) == (h > 0 && w > 0 && oh > 0 && ow > 0) ||
                   status == SVIT_E_MEMORY);
        for (size_t i = 0; status == SVIT_OK && i < oh * ow * 3; i++)
            FUZZ_CHECK(out[i] >= low && out[i] <= high);
    }
    free(out);
    free(in);
}

static void check_floats(fuzz_bytes *bytes, size_t h, size_t w, size_t oh, size_t ow)
{
    svit_error err = FUZZ_ERROR;
    const size_t c = fuzz_range(bytes, 0, 5), patch = fuzz_range(bytes, 0, 9);
    double transform[6];
    for (int i = 0; i < 6; i++)
        transform[i] = (double)fuzz_float(bytes) * (i % 3 == 2 ? 1e9 : 1);
    if (bytes->size > 0 && fuzz_take(bytes, 1) % 3 == 0)
        fuzz_ok(svit_affine_zoom((double)fuzz_float(bytes), (double)fuzz_float(bytes), h, w,
                                 transform, &err),
                &err);
    float *in = fuzz_floats(bytes, h * w * c), *out = malloc((oh * ow * c + 1) * sizeof *out);
    float *same = malloc((h * w * c + 1) * sizeof *same), *cut;
    cut = malloc((5 * h * w * c + 1) * sizeof *cut);
    FUZZ_CHECK(out && same && cut);
    fuzz_ok(svit_resize_bilinear_f32(in, h, w, c, out, oh, ow, &err), &err);
    fuzz_ok(svit_flip_horizontal_f32(in, h, w, c, same, &err), &err);
    fuzz_ok(svit_affine_f32(in, h, w, c, transform, same, &err), &err);
    fuzz_ok(svit_patches_f32(in, h, w, c, patch, (int32_t)(h % 2), (int32_t)(w % 2), cut, &err),
            &err);
    fuzz_ok(svit_affine_rotation((double)fuzz_float(bytes), h, w, transform, &err), &err);
    free(cut);
    free(same);
    free(out);
    free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {data, size};
    const bool is_long = fuzz_take(&bytes, 1) % 4 == 0;
    const size_t h = fuzz_range(&bytes, 0, is_long ? 3 : 40);
    const size_t w = fuzz_range(&bytes, 0, is_long ? 4000 : 40);
    const size_t oh = fuzz_range(&bytes, 0, is_long ? 3 : 40);
    const size_t ow = fuzz_range(&bytes, 0, is_long ? 4000 : 40);
    check_bytes(&bytes, h, w, oh, ow);
    check_floats(&bytes, h, w, oh, ow);
    return fuzz_end();
}
