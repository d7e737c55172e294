/* Checks whole numbers in texts: what is read of them, the largest ones, and that errno counts for
 * nothing. */
#include "base/numbers/digits.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

static const struct {
    const char *text;
    unsigned base;
    int length; /* of the digits; -1: the value does not fit */
    uint64_t value;
} CASES[] = {
    {"", 10, 0, 0},
    {"0", 10, 1, 0},
    {"12x7", 10, 2, 12},
    {"007", 10, 3, 7},
    {" 7", 10, 0, 0},
    {"-7", 10, 0, 0},
    {"+7", 10, 0, 0},
    {"7a", 10, 1, 7},
    {"0x7", 16, 1, 0},
    {"7a.", 16, 2, 0x7a},
    {"7A", 16, 1, 7},
    {"18446744073709551615", 10, 20, UINT64_MAX},
    {"18446744073709551616", 10, -1, 0},
    {"18446744073709551620", 10, -1, 0},
    {"00018446744073709551615", 10, 23, UINT64_MAX},
    {"ffffffffffffffff", 16, 16, UINT64_MAX},
    {"10000000000000000", 16, -1, 0},
    {"99999999999999999999999999", 10, -1, 0},
};

START_TEST(test_digits_are_read_up_to_the_largest_value)
{
    uint64_t value = 1;
    errno = EINTR;
    const char *end = sv_digits_read(&value, CASES[_i].text, CASES[_i].base);
    ck_assert_int_eq(errno, EINTR);
    if (CASES[_i].length < 0) {
        ck_assert_ptr_null(end);
        return;
    }
    ck_assert_ptr_eq(end, CASES[_i].text + CASES[_i].length);
    ck_assert_uint_eq(value, CASES[_i].value);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("digits");
    TCase *c = tcase_create("digits");
    tcase_add_loop_test(c, test_digits_are_read_up_to_the_largest_value, 0,
                        sizeof CASES / sizeof *CASES);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
