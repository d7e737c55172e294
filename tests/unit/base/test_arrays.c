/* Arrays that are freed together. */
#include "ledger.h"
#include "suite.h"

#include "base/arrays.h"

#include <shiftvit/shiftvit.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 40 };

/* A regression: there was room for 10, and where asserts are left out the next was written behind
 * the struct. */
START_TEST(test_there_may_be_any_number_of_arrays)
{
    ledger book = {0};
    const sv_allocator allocator = {ledger_allocate, ledger_release, &book};
    sv_arrays arrays = {.allocator = &allocator};
    static const unsigned char zeros[MANY * 3];
    unsigned char *list[MANY];
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_int_eq(sv_arrays_add(&arrays, &list[i], i, 3, "bytes", NULL), SVIT_OK);
        ck_assert_mem_eq(list[i], zeros, i * 3);
        memset(list[i], 0xFF, i * 3);
    }
    sv_arrays_free(&arrays);
    ck_assert_uint_eq(book.live_bytes, 0);
    ck_assert_uint_eq(book.live_blocks, 0);
    sv_arrays_free(&arrays);
}
END_TEST

/* A regression: the message was about the arrays of a batch, whatever they were. */
START_TEST(test_a_failure_says_what_the_memory_was_for)
{
    for (size_t n = 1; n <= 6; n++) {
        ledger book = {.fail_at = n};
        const sv_allocator allocator = {ledger_allocate, ledger_release, &book};
        sv_arrays arrays = {.allocator = &allocator};
        svit_error error = {.struct_size = sizeof error};
        svit_status status = SVIT_OK;
        char what[16];
        void *memory;
        for (int i = 0; i < 3 && status == SVIT_OK; i++) {
            snprintf(what, sizeof what, "the thing %d", i);
            status = sv_arrays_add(&arrays, &memory, 2, 8, what, &error);
        }
        ck_assert_int_eq(status, SVIT_E_MEMORY);
        ck_assert_msg(strstr(error.message, what), "%s: %s", what, error.message);
        sv_arrays_free(&arrays);
        ck_assert_uint_eq(book.live_blocks, 0);
    }
}
END_TEST

START_TEST(test_a_size_that_overflows_is_refused)
{
    ledger book = {0};
    const sv_allocator allocator = {ledger_allocate, ledger_release, &book};
    sv_arrays arrays = {.allocator = &allocator};
    void *memory;
    ck_assert_int_eq(sv_arrays_add(&arrays, &memory, SIZE_MAX / 2, 3, "bytes", NULL),
                     SVIT_E_MEMORY);
    sv_arrays_free(&arrays);
    ck_assert_uint_eq(book.live_blocks, 0);
}
END_TEST

static Suite *arrays_suite(void)
{
    Suite *suite = suite_create("arrays");
    TCase *tests = tcase_create("core");
    tcase_add_test(tests, test_there_may_be_any_number_of_arrays);
    tcase_add_test(tests, test_a_failure_says_what_the_memory_was_for);
    tcase_add_test(tests, test_a_size_that_overflows_is_refused);
    suite_add_tcase(suite, tests);
    return suite;
}

TEST_MAIN(arrays_suite)
