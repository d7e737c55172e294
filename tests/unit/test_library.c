/* Libraries that are loaded when they are first asked for. */
#include "suite.h"

#include "base/library.h"
#include "base/thread.h"
#include "kernels/gemm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

START_TEST(test_a_missing_library_has_a_reason)
{
    char reason[128] = "";
    ck_assert_ptr_null(sv_library_open("libnothing.so.7", reason, sizeof reason));
    ck_assert_msg(strstr(reason, "libnothing.so.7") != NULL, "the reason is '%s'", reason);
    char cut[8] = "";
    ck_assert_ptr_null(sv_library_open("libnothing.so.7", cut, sizeof cut));
    ck_assert_str_eq(cut, "libnoth");
}
END_TEST

START_TEST(test_functions_are_found)
{
    char reason[128];
    double (*down)(double) = NULL;
    size_t (*length)(const char *) = NULL;
    sv_library *library = sv_library_open("libm.so.6", reason, sizeof reason);
    ck_assert_msg(library != NULL, "%s", reason);
    ck_assert(sv_library_find(&down, library, "floor"));
    ck_assert_double_eq(down(3.5), 3);
    ck_assert(sv_library_find(&length, NULL, "strlen"));
    ck_assert_uint_eq(length("shift"), 5);
    ck_assert(!sv_library_find(&down, library, "no_function_of_that_name"));
    ck_assert(!sv_library_find(&down, NULL, "no_function_of_that_name"));
    ck_assert_double_eq(down(2.5), 2);
}
END_TEST

#ifdef SV_HAVE_ONEDNN
static bool onednn_is_there(void)
{
    return dlopen(SV_ONEDNN_SONAME, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

/* Before any test that loads it. */
START_TEST(test_a_context_does_not_load_onednn)
{
    svit_context *context = NULL;
    char version[16] = "not told";
    ck_assert_int_eq(svit_context_create(&context, NULL, NULL), SVIT_OK);
    ck_assert(!onednn_is_there());
    ck_assert_str_eq(sv_onednn_version(version, sizeof version), "");
    ck_assert_str_eq(sv_onednn_isa(), "");
    ck_assert(!sv_onednn_is_below(SV_ISA_AVX512));
    svit_context_free(context);
}
END_TEST

enum { CALLERS = 8 };

static void load(void *argument)
{
    *(svit_status *)argument = sv_onednn_load(NULL);
}

START_TEST(test_many_threads_load_onednn)
{
    sv_allocator allocator = sv_allocator_default();
    sv_thread *threads[CALLERS];
    svit_status statuses[CALLERS];
    svit_error err = {.struct_size = sizeof err};
    for (size_t i = 0; i < CALLERS; i++)
        threads[i] = sv_thread_start(&allocator, load, &statuses[i]);
    for (size_t i = 0; i < CALLERS; i++)
        sv_thread_join(&allocator, threads[i]);
    svit_status status = sv_onednn_load(&err);
    for (size_t i = 0; i < CALLERS; i++)
        ck_assert_int_eq(statuses[i], status);
    if (status != SVIT_OK) {
        skip_check(err.message);
        return;
    }
    char version[16];
    ck_assert(onednn_is_there());
    ck_assert_str_ne(sv_onednn_version(version, sizeof version), "");
    ck_assert_str_ne(sv_onednn_isa(), "");
}
END_TEST
#endif

static Suite *suite(void)
{
    Suite *made = suite_create("library");
    TCase *cases = tcase_create("library");
    tcase_add_test(cases, test_a_missing_library_has_a_reason);
    tcase_add_test(cases, test_functions_are_found);
#ifdef SV_HAVE_ONEDNN
    tcase_add_test(cases, test_a_context_does_not_load_onednn);
    tcase_add_test(cases, test_many_threads_load_onednn);
#endif
    suite_add_tcase(made, cases);
    return made;
}

TEST_MAIN(suite)
