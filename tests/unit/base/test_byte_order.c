/* Checks that numbers get into files and out of them in little-endian order, on every machine. */
#include "base/numbers/byte_order.h"
#include "suite.h"

#include <string.h>

static const uint64_t NUMBER = UINT64_C(0x0807060504030201);

START_TEST(test_single_numbers_have_their_lowest_byte_first)
{
    unsigned char stored[10];
    const unsigned bytes = (unsigned)_i;
    memset(stored, 0xEE, sizeof stored);
    sv_store_little(stored + 1, NUMBER, bytes);
    for (unsigned i = 0; i < 9; i++)
        ck_assert_uint_eq(stored[i], i == 0 || i > bytes ? 0xEE : i);
    ck_assert_uint_eq(sv_load_little(stored + 1, bytes), NUMBER & UINT64_MAX >> (64 - 8 * bytes));
}
END_TEST

START_TEST(test_the_bytes_of_each_word_are_reversed)
{
    static const unsigned char wanted[4][8] = {{1, 2, 3, 4, 5, 6, 7, 8},
                                               {2, 1, 4, 3, 6, 5, 8, 7},
                                               {4, 3, 2, 1, 8, 7, 6, 5},
                                               {8, 7, 6, 5, 4, 3, 2, 1}};
    unsigned char words[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    sv_reverse_words(words, 1u << _i, 8u >> _i);
    ck_assert_mem_eq(words, wanted[_i], 8);
    ck_assert_uint_eq(words[8], 9);
    sv_reverse_words(words, 1u << _i, 8u >> _i);
    ck_assert_mem_eq(words, wanted[0], 8);
    sv_reverse_words(words, 8, 0);
    ck_assert_mem_eq(words, wanted[0], 8);
}
END_TEST

/* An array is converted to what its numbers one by one are stored as. */
START_TEST(test_arrays_are_stored_as_their_numbers)
{
    uint32_t narrow[3] = {0x04030201, 0xFF000000, 7};
    uint64_t wide[2] = {NUMBER, 1};
    unsigned char stored[16];
    for (unsigned i = 0; i < 3; i++)
        sv_store_little(stored + 4 * i, narrow[i], 4);
    sv_little_endian(narrow, 4, 3);
    ck_assert_mem_eq(narrow, stored, sizeof narrow);
    sv_little_endian(narrow, 4, 3);
    ck_assert_uint_eq(narrow[1], 0xFF000000);
    for (unsigned i = 0; i < 2; i++)
        sv_store_little(stored + 8 * i, wide[i], 8);
    sv_little_endian(wide, 8, 2);
    ck_assert_mem_eq(wide, stored, sizeof wide);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("byte_order");
    TCase *c = tcase_create("byte_order");
    tcase_add_loop_test(c, test_single_numbers_have_their_lowest_byte_first, 1, 9);
    tcase_add_loop_test(c, test_the_bytes_of_each_word_are_reversed, 0, 4);
    tcase_add_test(c, test_arrays_are_stored_as_their_numbers);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
