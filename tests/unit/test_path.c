/* What paths are made of, by the rules of the system that the test runs on. */
#include "base/files/path.h"
#include "suite.h"

static const struct {
    const char *path;
    const char *name[2]; /* on POSIX, on Windows */
    bool is_absolute[2], is_name[2];
} PATHS[] = {
    {"model.safetensors", {"model.safetensors", "model.safetensors"}, {0, 0}, {1, 1}},
    {"run/best", {"best", "best"}, {0, 0}, {0, 0}},
    {"/run/best", {"best", "best"}, {1, 1}, {0, 0}},
    {"/", {"", ""}, {1, 1}, {0, 0}},
    {"run/", {"", ""}, {0, 0}, {0, 0}},
    {"", {"", ""}, {0, 0}, {0, 0}},
    {"run\\best", {"run\\best", "best"}, {0, 0}, {1, 0}},
    {"C:\\run\\best", {"C:\\run\\best", "best"}, {0, 1}, {1, 0}},
    {"C:/run/best", {"best", "best"}, {0, 1}, {0, 0}},
    {"\\\\server\\share\\best", {"\\\\server\\share\\best", "best"}, {0, 1}, {1, 0}},
    {"best:stream", {"best:stream", "best:stream"}, {0, 0}, {1, 0}},
    {"..\\best", {"..\\best", "best"}, {0, 0}, {1, 0}},
};

START_TEST(test_a_path_is_taken_apart_by_the_rules_of_the_system)
{
    const char *path = PATHS[_i].path;
    ck_assert_str_eq(sv_path_name(path), PATHS[_i].name[ON_WINDOWS]);
    ck_assert_int_eq(sv_path_is_absolute(path), PATHS[_i].is_absolute[ON_WINDOWS]);
    ck_assert_int_eq(sv_path_is_name(path), PATHS[_i].is_name[ON_WINDOWS]);
}
END_TEST

static Suite *path_suite(void)
{
    Suite *suite = suite_create("path");
    TCase *cases = tcase_create("path");
    tcase_add_loop_test(cases, test_a_path_is_taken_apart_by_the_rules_of_the_system, 0,
                        sizeof PATHS / sizeof *PATHS);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(path_suite)
