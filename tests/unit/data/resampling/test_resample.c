/* Checks resampling: resizing, mirroring and affine transforms have the values of the golden files.
 */
#include "data_support.h"
#include "guard.h"

#include "data/resampling/affine.h"
#include "io/safetensors.h"

#include <shiftvit/image.h>

#include <math.h>

/* Returns a tensor of the golden operations, bytes or floats, as floats; the caller frees it. */
static float *golden_read(const char *name, size_t elements)
{
    sv_allocator allocator = sv_allocator_default();
    sv_safetensors *file = NULL;
    WORKS(sv_safetensors_open(&file, &allocator, GOLDEN_FOLDER "/ops.safetensors", err));
    const sv_safetensors_entry *entry = sv_safetensors_find(file, name);
    ck_assert_msg(entry != NULL, "no tensor %s", name);
    ck_assert_uint_eq(entry->desc.elements, elements);
    float *values = malloc(elements * sizeof *values);
    if (entry->desc.dtype == SV_DTYPE_F32) {
        WORKS(sv_safetensors_read_f32(file, entry, values, err));
    } else {
        ck_assert_int_eq(entry->desc.dtype, SV_DTYPE_U8);
        uint8_t *bytes = malloc(elements);
        sv_file *raw = NULL;
        WORKS(sv_file_open(&raw, &allocator, GOLDEN_FOLDER "/ops.safetensors", err));
        WORKS(sv_file_read_at(raw, entry->offset, bytes, elements, err));
        sv_file_close(&allocator, raw);
        for (size_t i = 0; i < elements; i++)
            values[i] = bytes[i];
        free(bytes);
    }
    sv_safetensors_close(file);
    return values;
}

static double largest_difference(const float *a, const float *b, size_t elements)
{
    double largest = 0;
    for (size_t i = 0; i < elements; i++) {
        double difference = fabs((double)a[i] - b[i]);
        if (!(difference <= largest))
            largest = difference;
    }
    return largest;
}

START_TEST(test_bilinear_equals_the_golden_values)
{
    float *image = golden_read("image", 32 * 32 * 3);
    float *up20 = golden_read("resize.up20", 52 * 52 * 3);
    float *down4 = golden_read("resize.up20.down4", 48 * 48 * 3);
    float *up72 = golden_read("resize.72", 72 * 72 * 3);
    static float out[72 * 72 * 3];
    WORKS(svit_resize_bilinear_f32(image, 32, 32, 3, out, 52, 52, err));
    ck_assert_double_le(largest_difference(out, up20, 52 * 52 * 3), 2e-3);
    WORKS(svit_resize_bilinear_f32(up20, 52, 52, 3, out, 48, 48, err));
    ck_assert_double_le(largest_difference(out, down4, 48 * 48 * 3), 2e-3);
    WORKS(svit_resize_bilinear_f32(image, 32, 32, 3, out, 72, 72, err));
    ck_assert_double_le(largest_difference(out, up72, 72 * 72 * 3), 2e-3);
    free(image);
    free(up20);
    free(down4);
    free(up72);
}
END_TEST

START_TEST(test_nearest_equals_the_golden_bytes)
{
    float *image = golden_read("nearest.image", 50 * 37 * 3);
    float *wanted = golden_read("nearest.out", 32 * 32 * 3);
    static uint8_t in[50 * 37 * 3];
    static uint8_t out[32 * 32 * 3];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)image[i];
    WORKS(svit_resize_nearest_u8(in, 50, 37, out, 32, 32, err));
    for (size_t i = 0; i < sizeof out; i++)
        ck_assert_msg(out[i] == wanted[i], "byte %zu is %d, not %g", i, out[i], wanted[i]);
    free(image);
    free(wanted);
}
END_TEST

START_TEST(test_flip_equals_the_golden_values)
{
    float *image = golden_read("image", 32 * 32 * 3);
    float *wanted = golden_read("flip.out", 32 * 32 * 3);
    static float out[32 * 32 * 3];
    WORKS(svit_flip_horizontal_f32(image, 32, 32, 3, out, err));
    ck_assert_double_eq(largest_difference(out, wanted, 32 * 32 * 3), 0);
    free(image);
    free(wanted);
}
END_TEST

static void check_transform(const double transform[6], const float wanted[8])
{
    for (size_t i = 0; i < 6; i++)
        ck_assert_double_le(fabs(transform[i] - wanted[i]), 1e-5);
}

START_TEST(test_rotation_and_zoom_equal_the_golden_values)
{
    enum { IMAGE = 24 * 20 * 3 };
    float *image = golden_read("affine.image", IMAGE);
    float *turns = golden_read("rotate.turns", 3);
    float *rotate_transform = golden_read("rotate.transform", 3 * 8);
    float *rotated = golden_read("rotate.out", 3 * IMAGE);
    float *factors = golden_read("zoom.factors", 3 * 2);
    float *zoom_transform = golden_read("zoom.transform", 3 * 8);
    float *zoomed = golden_read("zoom.out", 3 * IMAGE);
    static float out[IMAGE];
    double transform[6];
    for (size_t i = 0; i < 3; i++) {
        WORKS(svit_affine_rotation(turns[i], 24, 20, transform, err));
        check_transform(transform, rotate_transform + 8 * i);
        WORKS(svit_affine_f32(image, 24, 20, 3, transform, out, err));
        ck_assert_double_le(largest_difference(out, rotated + i * IMAGE, IMAGE), 2e-5);
        WORKS(svit_affine_zoom(factors[2 * i], factors[2 * i + 1], 24, 20, transform, err));
        check_transform(transform, zoom_transform + 8 * i);
        WORKS(svit_affine_f32(image, 24, 20, 3, transform, out, err));
        ck_assert_double_le(largest_difference(out, zoomed + i * IMAGE, IMAGE), 2e-5);
    }
    float *all[] = {image, turns, rotate_transform, rotated, factors, zoom_transform, zoomed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}
END_TEST

START_TEST(test_resizing_to_the_same_size_changes_nothing)
{
    float in[5 * 7 * 2];
    float out[5 * 7 * 2];
    for (size_t i = 0; i < 70; i++)
        in[i] = sinf((float)i) * 100;
    WORKS(svit_resize_bilinear_f32(in, 5, 7, 2, out, 5, 7, err));
    ck_assert_mem_eq(in, out, sizeof in);
}
END_TEST

START_TEST(test_one_pixel_becomes_an_image_of_one_colour)
{
    float in[2] = {3, -7};
    float out[4 * 3 * 2];
    WORKS(svit_resize_bilinear_f32(in, 1, 1, 2, out, 4, 3, err));
    for (size_t i = 0; i < 24; i++)
        ck_assert_float_eq(out[i], in[i % 2]);
}
END_TEST

START_TEST(test_affine_folds_any_finite_transform_into_the_image)
{
    float in[6] = {1, 2, 3, 4, 5, 6};
    float out[6];
    double wild[6] = {1e308, -1e308, 1e308, -1e308, 1e308, -1e308};
    WORKS(svit_affine_f32(in, 2, 3, 1, wild, out, err));
    for (size_t i = 0; i < 6; i++)
        ck_assert(out[i] >= 1 && out[i] <= 6);
    double identity[6] = {1, 0, 0, 0, 1, 0};
    WORKS(svit_affine_f32(in, 2, 3, 1, identity, out, err));
    ck_assert_mem_eq(in, out, sizeof in);
    double left_by_two[6] = {1, 0, -2, 0, 1, 0}; /* reflected pixels b a, then the image a b c */
    const float wanted[6] = {2, 1, 1, 5, 4, 4};
    WORKS(svit_affine_f32(in, 2, 3, 1, left_by_two, out, err));
    ck_assert_mem_eq(wanted, out, sizeof wanted);
}
END_TEST

/* The line of an image of `lines` that mirrors at its edges stand for. */
static size_t mirrored(int line, int lines)
{
    line = ((line % (2 * lines)) + 2 * lines) % (2 * lines);
    return (size_t)(line < lines ? line : 2 * lines - 1 - line);
}

/* Transforms that move an image by whole pixels only mirror it at its edges, beyond which nothing
 * is read. */
START_TEST(test_affine_moves_by_whole_pixels)
{
    enum { HEIGHT = 3, WIDTH = 4, MOST = HEIGHT * WIDTH * 4 };
    static const size_t CHANNELS[] = {1, 3, 4};
    float values[MOST], out[MOST], again[MOST];
    for (size_t i = 0; i < MOST; i++)
        values[i] = (float)i;
    for (int k = 0; k < 6; k++) {
        const size_t channels = CHANNELS[k / 2];
        const float *in = guard_copy(values, HEIGHT * WIDTH * channels * sizeof *in, k % 2);
        for (int dy = -2 * HEIGHT; dy <= 2 * HEIGHT; dy++)
            for (int dx = -2 * WIDTH; dx <= 2 * WIDTH; dx++) {
                const double transform[6] = {1, 0, dx, 0, 1, dy};
                sv_affine_pixels(out, in, HEIGHT, WIDTH, channels, transform);
                WORKS(svit_affine_f32(in, HEIGHT, WIDTH, channels, transform, again, err));
                for (int y = 0; y < HEIGHT; y++)
                    for (int x = 0; x < WIDTH; x++)
                        for (size_t c = 0; c < channels; c++) {
                            const size_t at = (size_t)(y * WIDTH + x) * channels + c,
                                         from = (mirrored(y + dy, HEIGHT) * WIDTH +
                                                 mirrored(x + dx, WIDTH)) *
                                                    channels +
                                                c;
                            ck_assert_msg(out[at] == values[from] && again[at] == values[from],
                                          "%d, %d: pixel %d, %d", dy, dx, y, x);
                        }
            }
    }
}
END_TEST

START_TEST(test_wrong_arguments_of_resampling_are_named)
{
    uint8_t a[12] = {0};
    uint8_t b[12];
    float f[12] = {0};
    float g[12];
    double t[6] = {1, 0, 0, 0, 1, 0};
    double bad[6] = {1, 0, 0, NAN, 1, 0};
    enum { HUGE_SIDE = 16385 };
    const size_t most = (size_t)-1;
    FAILS(svit_resize_nearest_u8(NULL, 2, 2, b, 1, 1, err), SVIT_E_ARGUMENT, "in is NULL");
    FAILS(svit_resize_nearest_u8(a, 2, 2, NULL, 1, 1, err), SVIT_E_ARGUMENT, "out is NULL");
    FAILS(svit_resize_nearest_u8(a, 0, 2, b, 1, 1, err), SVIT_E_ARGUMENT, "height is 0");
    FAILS(svit_resize_nearest_u8(a, 2, most, b, 1, 1, err), SVIT_E_ARGUMENT, "width is");
    FAILS(svit_resize_nearest_u8(a, 2, 2, b, HUGE_SIDE, 1, err), SVIT_E_ARGUMENT, "out_height");
    FAILS(svit_resize_nearest_u8(a, 2, 2, b, 1, 0, err), SVIT_E_ARGUMENT, "out_width is 0");
    FAILS(svit_resize_nearest_u8(a, 2, 2, a, 1, 1, err), SVIT_E_ARGUMENT, "same array");
    FAILS(svit_resize_bilinear_f32(NULL, 2, 2, 1, g, 1, 1, err), SVIT_E_ARGUMENT, "in is NULL");
    FAILS(svit_resize_bilinear_f32(f, 2, 2, 1, NULL, 1, 1, err), SVIT_E_ARGUMENT, "out is NULL");
    FAILS(svit_resize_bilinear_f32(f, 2, 0, 1, g, 1, 1, err), SVIT_E_ARGUMENT, "width is 0");
    FAILS(svit_resize_bilinear_f32(f, 2, 2, 0, g, 1, 1, err), SVIT_E_ARGUMENT, "channels is 0");
    FAILS(svit_resize_bilinear_f32(f, 2, 2, 1025, g, 1, 1, err), SVIT_E_ARGUMENT, "1..1024");
    FAILS(svit_resize_bilinear_f32(f, 2, 2, 1, g, 0, 1, err), SVIT_E_ARGUMENT, "out_height is 0");
    FAILS(svit_flip_horizontal_f32(NULL, 2, 2, 1, g, err), SVIT_E_ARGUMENT, "in is NULL");
    FAILS(svit_flip_horizontal_f32(f, 2, 2, 1, NULL, err), SVIT_E_ARGUMENT, "out is NULL");
    FAILS(svit_flip_horizontal_f32(f, 2, 2, 1, f, err), SVIT_E_ARGUMENT, "same array");
    FAILS(svit_flip_horizontal_f32(f, HUGE_SIDE, 2, 1, g, err), SVIT_E_ARGUMENT, "16385");
    FAILS(svit_affine_f32(NULL, 2, 2, 1, t, g, err), SVIT_E_ARGUMENT, "in is NULL");
    FAILS(svit_affine_f32(f, 2, 2, 1, NULL, g, err), SVIT_E_ARGUMENT, "transform is NULL");
    FAILS(svit_affine_f32(f, 2, 2, 1, t, NULL, err), SVIT_E_ARGUMENT, "out is NULL");
    FAILS(svit_affine_f32(f, 2, 2, 1, t, f, err), SVIT_E_ARGUMENT, "same array");
    FAILS(svit_affine_f32(f, 2, 2, 1, bad, g, err), SVIT_E_ARGUMENT, "transform[3]");
    FAILS(svit_affine_rotation(INFINITY, 2, 2, t, err), SVIT_E_ARGUMENT, "turns is inf");
    FAILS(svit_affine_rotation(0, 0, 2, t, err), SVIT_E_ARGUMENT, "height is 0");
    FAILS(svit_affine_rotation(0, 2, 2, NULL, err), SVIT_E_ARGUMENT, "transform is NULL");
    FAILS(svit_affine_zoom(NAN, 0, 2, 2, t, err), SVIT_E_ARGUMENT, "height_factor is nan");
    FAILS(svit_affine_zoom(0, 0, 2, HUGE_SIDE, t, err), SVIT_E_ARGUMENT, "width is 16385");
    FAILS(svit_affine_zoom(0, 0, 2, 2, NULL, err), SVIT_E_ARGUMENT, "transform is NULL");
    ck_assert_int_eq(svit_affine_zoom(0, 0, 2, 2, NULL, NULL), SVIT_E_ARGUMENT);
}
END_TEST

static Suite *resample_suite(void)
{
    Suite *suite = suite_create("resample");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_bilinear_equals_the_golden_values);
    tcase_add_test(all, test_nearest_equals_the_golden_bytes);
    tcase_add_test(all, test_flip_equals_the_golden_values);
    tcase_add_test(all, test_rotation_and_zoom_equal_the_golden_values);
    tcase_add_test(all, test_resizing_to_the_same_size_changes_nothing);
    tcase_add_test(all, test_one_pixel_becomes_an_image_of_one_colour);
    tcase_add_test(all, test_affine_folds_any_finite_transform_into_the_image);
    tcase_add_test(all, test_affine_moves_by_whole_pixels);
    tcase_add_test(all, test_wrong_arguments_of_resampling_are_named);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(resample_suite)
