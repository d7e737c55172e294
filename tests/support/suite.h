/* The main function of every test program: it runs one suite and returns its failures in the exit
 * status. */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints that a check could not run on this machine, although Check counts it as passed.
 * tests/runner/count.awk counts these lines. Call it at most once in a test. */
static inline void skip_check(const char *reason)
{
    printf("skipped check: %s\n", reason);
}

/* What holds where a size has 32 bits, and where it has 64. */
#if SIZE_MAX == UINT32_MAX
#define BY_SIZE(of_32_bits, of_64_bits) of_32_bits
#else
#define BY_SIZE(of_32_bits, of_64_bits) of_64_bits
#endif

#ifdef _WIN32
enum { ON_WINDOWS = 1 };
/* Of <windows.h>, which has names that tests use for other things. */
__declspec(dllimport) void *__stdcall GetModuleHandleA(const char *name);
__declspec(dllimport) int (*__stdcall GetProcAddress(void *module, const char *name))(void);
#else
enum { ON_WINDOWS = 0 };
#endif

/* Whether the program runs in Wine, which lacks some of Windows' calls. */
static inline int is_in_wine(void)
{
#ifdef _WIN32
    return GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") != NULL;
#else
    return 0;
#endif
}

/* Whether a file is replaced while a program has it mapped. Windows 10 does that, and Wine 8 does
 * not. */
static inline int replaces_mapped_files(void)
{
    if (is_in_wine())
        skip_check("Wine replaces no file that is mapped");
    return !is_in_wine();
}

/* Whether a folder can be removed while a file of it is open. */
static inline int removes_folders_in_use(void)
{
    if (ON_WINDOWS)
        skip_check("Windows removes no folder of which a file is open");
    return !ON_WINDOWS;
}

/* Whether files have any bytes as names, and links are made by the program itself. */
static inline int has_posix_names(void)
{
    if (ON_WINDOWS)
        skip_check(
            "names of files are Unicode without \"<>|*?: on Windows, and links need a privilege");
    return !ON_WINDOWS;
}

/* Whether case `i` of many of one kind runs: each does, but with SHIFTVIT_TEST_EVERY=N only the
 * first and about one of N of the others, at random. tests/run.sh sets it for sanitizers and
 * valgrind, which look for other faults than wrong numbers. */
static inline int takes_case(int i)
{
    const char *text = getenv("SHIFTVIT_TEST_EVERY");
    const unsigned every = text ? (unsigned)strtoul(text, NULL, 10) : 0;
    uint32_t mixed = (uint32_t)i * 2654435761u;
    mixed = (mixed ^ mixed >> 15) * 2246822519u;
    return i == 0 || every < 2 || (mixed >> 16) % every == 0;
}

/* Adds a loop test of `count` cases, or of those that takes_case chooses. */
static inline void add_cases(TCase *to, const TTest *test, int count)
{
    for (int i = 0; i < count; i++)
        if (takes_case(i))
            tcase_add_loop_test(to, test, i, i + 1);
}

/* Runs a suite and returns the exit status. A test has hung after 300 seconds: Check's own 4 are
 * too few where other programs use the processor. */
static inline int run_suite(Suite *(*suite)(void))
{
#ifndef _WIN32
    setenv("CK_DEFAULT_TIMEOUT", "300", 0);
#endif
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner), ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define TEST_MAIN(suite)                                                                           \
    int main(void)                                                                                 \
    {                                                                                              \
        return run_suite(suite);                                                                   \
    }

#endif
