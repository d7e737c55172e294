/* Checks that exactly the enumerators of the public headers are known by name, with their values.
 */
#include "suite.h"

#include <shiftvit/shiftvit.h>

static const struct {
    const char *name;
    int64_t value;
} in_headers[] = {
#include "enumerators.h"
};

enum { COUNT = sizeof in_headers / sizeof in_headers[0] };

START_TEST(test_every_enumerator_is_a_constant)
{
    for (size_t i = 0; i < COUNT; i++) {
        int64_t value = INT64_MIN;
        ck_assert_msg(svit_constant(in_headers[i].name, &value, NULL) == SVIT_OK,
                      "%s is not known to svit_constant", in_headers[i].name);
        ck_assert_msg(value == in_headers[i].value, "%s is %jd, not %jd", in_headers[i].name,
                      (intmax_t)value, (intmax_t)in_headers[i].value);
    }
}
END_TEST

START_TEST(test_every_constant_is_an_enumerator)
{
    size_t count = 0;
    while (svit_constant_name(count)) {
        size_t i = 0;
        while (i < COUNT && strcmp(in_headers[i].name, svit_constant_name(count)) != 0)
            i++;
        ck_assert_msg(i < COUNT, "%s is in no header", svit_constant_name(count));
        count++;
    }
    ck_assert_uint_eq(count, COUNT);
}
END_TEST

START_TEST(test_what_is_no_constant_is_refused)
{
    int64_t value = 7;
    svit_error err = {.struct_size = sizeof err};
    ck_assert_int_eq(svit_constant("SVIT_NO_SUCH_THING", &value, &err), SVIT_E_ARGUMENT);
    ck_assert_int_eq(value, 7);
    ck_assert_ptr_nonnull(strstr(err.message, "SVIT_NO_SUCH_THING"));
}
END_TEST

START_TEST(test_headers_library_and_project_have_one_version)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SVIT_VERSION_MAJOR, SVIT_VERSION_MINOR,
             SVIT_VERSION_PATCH);
    ck_assert_str_eq(text, PROJECT_VERSION);
    ck_assert_str_eq(svit_version_string(), PROJECT_VERSION);
    ck_assert_uint_eq(svit_version_number(), SVIT_VERSION_NUMBER);
}
END_TEST

#if !SVIT_VERSION_AT_LEAST(0, 0, 0) || SVIT_VERSION_AT_LEAST(127, 0, 0)
#error "the preprocessor cannot compare versions"
#endif

/* Versions around that of the headers, as the differences of major, minor and patch. */
START_TEST(test_at_least_compares_major_then_minor_then_patch)
{
    static const struct {
        int major, minor, patch, at_least;
    } cases[] = {{0, 0, 0, 1},    {0, 0, 1, 0},  {0, 1, 0, 0},   {1, 0, 0, 0},
                 {0, -1, 200, 1}, {0, 1, -1, 0}, {1, -1, -1, 0}, {-1, 200, 200, 1},
                 {-1, 0, 0, 1},   {0, -1, 0, 1}, {0, 0, -1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int major = SVIT_VERSION_MAJOR + cases[i].major,
            minor = SVIT_VERSION_MINOR + cases[i].minor,
            patch = SVIT_VERSION_PATCH + cases[i].patch;
        if (major < 0 || minor < 0 || patch < 0 || minor > 255 || patch > 255)
            continue;
        ck_assert_msg(SVIT_VERSION_AT_LEAST(major, minor, patch) == cases[i].at_least,
                      "at least %d.%d.%d is not %d", major, minor, patch, cases[i].at_least);
    }
}
END_TEST

static Suite *constants_suite(void)
{
    Suite *suite = suite_create("constants");
    TCase *cases = tcase_create("names");
    tcase_add_test(cases, test_every_enumerator_is_a_constant);
    tcase_add_test(cases, test_every_constant_is_an_enumerator);
    tcase_add_test(cases, test_what_is_no_constant_is_refused);
    tcase_add_test(cases, test_headers_library_and_project_have_one_version);
    tcase_add_test(cases, test_at_least_compares_major_then_minor_then_patch);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(constants_suite)
