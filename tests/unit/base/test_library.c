/* Checks libraries that are loaded when they are first needed. */
#include "suite.h"

#include "base/files/dynamic_library.h"
#include <string.h>

static const char *const LIBRARY = ON_WINDOWS ? "msvcrt.dll" : "libm.so.6";

START_TEST(test_a_missing_library_has_a_reason)
{
    char reason[128] = "";
    ck_assert_ptr_null(sv_dynamic_library_open("libnothing.so.7", reason, sizeof reason));
    ck_assert_msg(strstr(reason, "libnothing.so.7") != NULL, "the reason is '%s'", reason);
    char cut[8] = "";
    ck_assert_ptr_null(sv_dynamic_library_open("libnothing.so.7", cut, sizeof cut));
    ck_assert_str_eq(cut, "libnoth");
}
END_TEST

START_TEST(test_functions_are_found)
{
    char reason[128];
    double (*down)(double) = NULL;
    size_t (*length)(const char *) = NULL;
    sv_dynamic_library *library = sv_dynamic_library_open(LIBRARY, reason, sizeof reason);
    ck_assert_msg(library != NULL, "%s", reason);
    ck_assert(sv_dynamic_library_find(&down, library, "floor"));
    ck_assert_double_eq(down(3.5), 3);
    ck_assert(sv_dynamic_library_find(&length, NULL, "strlen"));
    ck_assert_uint_eq(length("shift"), 5);
    ck_assert(!sv_dynamic_library_find(&down, library, "no_function_of_that_name"));
    ck_assert(!sv_dynamic_library_find(&down, NULL, "no_function_of_that_name"));
    ck_assert_double_eq(down(2.5), 2);
}
END_TEST

static Suite *suite(void)
{
    Suite *made = suite_create("library");
    TCase *cases = tcase_create("library");
    tcase_add_test(cases, test_a_missing_library_has_a_reason);
    tcase_add_test(cases, test_functions_are_found);
    suite_add_tcase(made, cases);
    return made;
}

TEST_MAIN(suite)
