/* What paths are made of, by the rules of the system that the test runs on. */
#include "base/files/path.h"
#include "suite.h"

#include <unistd.h>

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

START_TEST(test_a_path_begins_in_the_working_folder_unless_it_is_absolute)
{
    static const struct {
        const char *path, *home, *from;
    } cases[] = {{"run", "/tmp/", "/tmp/run"},
                 {"../run", "/tmp/", "/tmp/../run"},
                 {"/run", "", "/run"},
                 {"", "", ""}};
    const sv_allocator allocator = sv_allocator_default();
    if (ON_WINDOWS)
        return; /* where paths have a drive */
    ck_assert_int_eq(chdir("/tmp"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *home = NULL, *from = NULL;
        ck_assert_int_eq(sv_path_home(&home, &allocator, cases[i].path, NULL), SVIT_OK);
        ck_assert_str_eq(home, cases[i].home);
        ck_assert_int_eq(sv_path_from(&from, &allocator, home, cases[i].path, NULL), SVIT_OK);
        ck_assert_str_eq(from, cases[i].from);
        sv_release_text(&allocator, home);
        sv_release_text(&allocator, from);
    }
    ck_assert_int_eq(chdir("/"), 0);
    char *home = NULL;
    ck_assert_int_eq(sv_path_home(&home, &allocator, "run", NULL), SVIT_OK);
    ck_assert_str_eq(home, "/");
    sv_release_text(&allocator, home);
}
END_TEST

static Suite *path_suite(void)
{
    Suite *suite = suite_create("path");
    TCase *cases = tcase_create("path");
    tcase_add_loop_test(cases, test_a_path_is_taken_apart_by_the_rules_of_the_system, 0,
                        sizeof PATHS / sizeof *PATHS);
    tcase_add_test(cases, test_a_path_begins_in_the_working_folder_unless_it_is_absolute);
    suite_add_tcase(suite, cases);
    return suite;
}

TEST_MAIN(path_suite)
