/* Tensors: descriptors, element types, and the conversion to float32. */
#include "suite.h"

#include "tensor/convert.h"
#include "tensor/tensor_desc.h"

#include <math.h>
#include <string.h>

START_TEST(test_a_descriptor_counts_its_elements)
{
    static const struct {
        size_t rank;
        int64_t shape[SV_MAX_RANK];
        size_t elements;
        const char *text;
    } cases[] = {
        {0, {0}, 1, "[]"},
        {1, {0}, 0, "[0]"},
        {4, {96, 3, 4, 4}, 4608, "[96, 3, 4, 4]"},
        {8, {1, 1, 1, 1, 1, 1, 1, 2}, 2, "[1, 1, 1, 1, 1, 1, 1, 2]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sv_tensor_desc desc;
        char text[SV_SHAPE_TEXT];
        ck_assert(sv_tensor_desc_init(&desc, SV_DTYPE_BF16, cases[i].shape, cases[i].rank));
        ck_assert_uint_eq(desc.elements, cases[i].elements);
        ck_assert_uint_eq(sv_tensor_desc_bytes(&desc), 2 * cases[i].elements);
        ck_assert_str_eq(sv_tensor_desc_text(text, &desc), cases[i].text);
    }
}
END_TEST

START_TEST(test_elements_and_bytes_that_do_not_fit_are_refused)
{
    enum { HALF = 4 * sizeof(size_t) }; /* the bits of half a size */
    static const int64_t elements[] = {INT64_C(1) << HALF, INT64_C(1) << HALF};
    static const int64_t bytes[] = {INT64_C(1) << (HALF - 1), INT64_C(1) << (HALF - 1)};
    sv_tensor_desc desc;
    ck_assert(!sv_tensor_desc_init(&desc, SV_DTYPE_U8, elements, 2));
    ck_assert(sv_tensor_desc_init(&desc, SV_DTYPE_U8, bytes, 2));
    ck_assert(!sv_tensor_desc_init(&desc, SV_DTYPE_F32, bytes, 2));
}
END_TEST

START_TEST(test_descriptors_differ_by_type_rank_and_dimensions)
{
    static const int64_t shape[] = {2, 3, 1}, other[] = {3, 2, 1};
    sv_tensor_desc a, b;
    ck_assert(sv_tensor_desc_init(&a, SV_DTYPE_F32, shape, 2));
    ck_assert(sv_tensor_desc_init(&b, SV_DTYPE_F32, shape, 2) && sv_tensor_desc_equal(&a, &b));
    ck_assert(sv_tensor_desc_init(&b, SV_DTYPE_F16, shape, 2) && !sv_tensor_desc_equal(&a, &b));
    ck_assert(sv_tensor_desc_init(&b, SV_DTYPE_F32, shape, 3) && !sv_tensor_desc_equal(&a, &b));
    ck_assert(sv_tensor_desc_init(&b, SV_DTYPE_F32, other, 2) && !sv_tensor_desc_equal(&a, &b));
}
END_TEST

START_TEST(test_every_type_is_found_by_its_name)
{
    sv_dtype found = SV_DTYPE_U8;
    for (int i = 0; i <= SV_DTYPE_BOOL; i++) {
        ck_assert(sv_dtype_find(&found, sv_dtype_name((sv_dtype)i)));
        ck_assert_int_eq(found, i);
    }
    ck_assert(!sv_dtype_find(&found, "f32") && !sv_dtype_find(&found, NULL));
}
END_TEST

/* The stored elements are the last bytes of the output. */
START_TEST(test_narrow_elements_convert_in_place)
{
    static const uint8_t half[] = {0x00, 0x3c, 0x01, 0x00, 0x00, 0xfc, 0xff, 0x7b};
    static const uint8_t brain[] = {0x80, 0x3f, 0x01, 0x00, 0x80, 0xff, 0x80, 0x00};
    static const float of_half[] = {1, 0x1p-24f, -INFINITY, 65504};
    static const float of_brain[] = {1, 0x1p-133f, -INFINITY, 0x1p-126f};
    float out[4];
    uint8_t *stored = (uint8_t *)out + sizeof out - sizeof half;
    memcpy(stored, half, sizeof half);
    sv_convert_to_f32(out, stored, SV_DTYPE_F16, 4);
    ck_assert_mem_eq(out, of_half, sizeof out);
    memcpy(stored, brain, sizeof brain);
    sv_convert_to_f32(out, stored, SV_DTYPE_BF16, 4);
    ck_assert_mem_eq(out, of_brain, sizeof out);
}
END_TEST

static Suite *tensor_suite(void)
{
    Suite *suite = suite_create("tensor");
    TCase *all = tcase_create("tensor");
    tcase_add_test(all, test_a_descriptor_counts_its_elements);
    tcase_add_test(all, test_elements_and_bytes_that_do_not_fit_are_refused);
    tcase_add_test(all, test_descriptors_differ_by_type_rank_and_dimensions);
    tcase_add_test(all, test_every_type_is_found_by_its_name);
    tcase_add_test(all, test_narrow_elements_convert_in_place);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(tensor_suite)
