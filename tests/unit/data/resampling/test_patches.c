/* Compares patches with golden values, with the reference, and with small cases by hand. */
#include "data_support.h"
#include "golden.h"
#include "plain_operations.h"

#include <shiftvit/image.h>

START_TEST(test_shifted_patches_equal_the_golden_ones)
{
    enum { N = 3, SIDE = 24, PATCH = 6, IMAGE = SIDE * SIDE * 3, OUT = 5 * IMAGE };
    sv_safetensors *file = golden_open("slvit_small");
    size_t elements = 0;
    float *input = golden_floats(file, "input", &elements);
    ck_assert_uint_eq(elements, N * IMAGE);
    float *wanted = golden_floats(file, "spt.patches", &elements);
    ck_assert_uint_eq(elements, N * OUT);
    static float got[OUT];
    for (size_t n = 0; n < N; n++) {
        WORKS(
            svit_patches_f32(input + n * IMAGE, SIDE, SIDE, 3, PATCH, 1, SVIT_SPT_KERAS, got, err));
        ck_assert_mem_eq(got, wanted + n * OUT, sizeof got);
    }
    golden_free(input);
    golden_free(wanted);
    sv_safetensors_close(file);
}
END_TEST

/* One channel of 2 x 4 pixels, and patches of 2, so that copies move by one pixel: 1 2 3 4 / 5 6 7
 * 8 */
static const float SMALL[8] = {1, 2, 3, 4, 5, 6, 7, 8};

START_TEST(test_plain_patches_are_the_image_in_another_order)
{
    const float wanted[8] = {1, 2, 5, 6, 3, 4, 7, 8};
    float got[8];
    for (int32_t order = 0; order < 2; order++) {
        WORKS(svit_patches_f32(SMALL, 2, 4, 1, 2, 0, order, got, err));
        ck_assert_mem_eq(got, wanted, sizeof got);
    }
    WORKS(svit_patches_f32(SMALL, 4, 2, 1, 1, 0, SVIT_SPT_KERAS, got, err));
    ck_assert_mem_eq(got, SMALL, sizeof got);
}
END_TEST

START_TEST(test_copies_come_in_the_order_asked_for)
{
    /* for each pixel of the first patch: original, left-up, left-down, right-up, right-down */
    const float seed[4][5] = {{1, 6, 0, 0, 0}, {2, 7, 0, 5, 0}, {5, 0, 2, 0, 0}, {6, 0, 3, 0, 1}};
    static const size_t ORDERS[2][5] = {{0, 1, 2, 3, 4}, {0, 4, 2, 3, 1}};
    float got[8 * 5];
    for (int32_t order = 0; order < 2; order++) {
        WORKS(svit_patches_f32(SMALL, 2, 4, 1, 2, 1, order, got, err));
        for (size_t i = 0; i < 4; i++)
            for (size_t k = 0; k < 5; k++)
                ck_assert_float_eq(got[5 * i + k], seed[i][ORDERS[order][k]]);
    }
}
END_TEST

START_TEST(test_colours_stay_together)
{
    const float in[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    float got[5 * 12];
    WORKS(svit_patches_f32(in, 2, 2, 3, 2, 1, SVIT_SPT_PAPER, got, err));
    const float first_pixel[15] = {1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 11, 12};
    ck_assert_mem_eq(got, first_pixel, sizeof first_pixel);
}
END_TEST

/* Every line of patches inside and at all edges, for images of one to five channels. An odd patch
 * moves its copies by patch / 2 pixels, rounded down. */
START_TEST(test_copies_of_any_image_equal_the_reference)
{
    static const size_t PATCHES[] = {2, 4, 1, 3, 5, 7};
    const size_t channels = (size_t)_i / 6 + 1, patch = PATCHES[_i % 6];
    for (size_t across = 1; across <= 4; across++)
        for (int32_t order = 0; order < 2; order++) {
            const size_t height = 4 * patch, width = across * patch;
            const size_t elements = height * width * channels;
            const plain_patches shape = {1, height, width, channels, patch, 5, order};
            float *in = malloc(elements * sizeof *in), *got = malloc(5 * elements * sizeof *got);
            double *x = malloc(elements * sizeof *x);
            double *wanted = malloc(5 * elements * sizeof *wanted);
            for (size_t i = 0; i < elements; i++)
                x[i] = in[i] = (float)(i + 1);
            plain_patches_forward(wanted, x, &shape);
            WORKS(svit_patches_f32(in, height, width, channels, patch, 1, order, got, err));
            for (size_t i = 0; i < 5 * elements; i++)
                ck_assert_double_eq(got[i], wanted[i]);
            free(in);
            free(got);
            free(x);
            free(wanted);
        }
}
END_TEST

START_TEST(test_wrong_arguments_of_patches_are_named)
{
    float a[4] = {0};
    float b[20] = {0};
    const size_t most = (size_t)-1;
    FAILS(svit_patches_f32(NULL, 2, 2, 1, 2, 0, 0, b, err), SVIT_E_ARGUMENT, "in is NULL");
    FAILS(svit_patches_f32(a, 2, 2, 1, 2, 0, 0, NULL, err), SVIT_E_ARGUMENT, "out is NULL");
    FAILS(svit_patches_f32(a, 2, 2, 1, 2, 0, 0, a, err), SVIT_E_ARGUMENT, "same array");
    FAILS(svit_patches_f32(a, 0, 2, 1, 2, 0, 0, b, err), SVIT_E_ARGUMENT, "height is 0");
    FAILS(svit_patches_f32(a, 2, most, 1, 2, 0, 0, b, err), SVIT_E_ARGUMENT, "width is");
    FAILS(svit_patches_f32(a, 2, 2, 1025, 2, 0, 0, b, err), SVIT_E_ARGUMENT, "channels is 1025");
    FAILS(svit_patches_f32(a, 2, 2, 1, 0, 0, 0, b, err), SVIT_E_ARGUMENT, "patch is 0");
    FAILS(svit_patches_f32(a, 2, 2, 1, 257, 0, 0, b, err), SVIT_E_ARGUMENT, "patch is 257");
    FAILS(svit_patches_f32(a, 2, 4, 1, 4, 0, 0, b, err), SVIT_E_ARGUMENT, "divides both sides");
    FAILS(svit_patches_f32(a, 4, 2, 1, 4, 0, 0, b, err), SVIT_E_ARGUMENT, "divides both sides");
    FAILS(svit_patches_f32(a, 2, 2, 1, 2, 2, 0, b, err), SVIT_E_ARGUMENT, "spt is 2");
    FAILS(svit_patches_f32(a, 2, 2, 1, 2, -1, 0, b, err), SVIT_E_ARGUMENT, "spt is -1");
    FAILS(svit_patches_f32(a, 2, 2, 1, 2, 1, 2, b, err), SVIT_E_ARGUMENT, "spt_order is 2");
    ck_assert_int_eq(svit_patches_f32(a, 2, 2, 1, 2, 1, -1, b, NULL), SVIT_E_ARGUMENT);
    WORKS(svit_patches_f32(a, 2, 2, 1, 2, 1, 0, b, err));
}
END_TEST

static Suite *patches_suite(void)
{
    Suite *suite = suite_create("patches");
    TCase *cases = tcase_create("all");
    tcase_add_test(cases, test_shifted_patches_equal_the_golden_ones);
    tcase_add_loop_test(cases, test_copies_of_any_image_equal_the_reference, 0, 30);
    tcase_add_test(cases, test_plain_patches_are_the_image_in_another_order);
    tcase_add_test(cases, test_copies_come_in_the_order_asked_for);
    tcase_add_test(cases, test_colours_stay_together);
    tcase_add_test(cases, test_wrong_arguments_of_patches_are_named);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(patches_suite)
