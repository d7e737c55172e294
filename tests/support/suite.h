/* The main function of every test program: it runs one suite and returns its failures in the exit
 * status. */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints that a check could not run on this machine, although Check counts it as passed.
 * tests/runner/count.awk counts these lines. Call it at most once in a test. */
static inline void skip_check(const char *reason)
{
    printf("skipped check: %s\n", reason);
}

#define TEST_MAIN(suite_function)                                                                  \
    int main(void)                                                                                 \
    {                                                                                              \
        SRunner *runner = srunner_create(suite_function());                                        \
        srunner_run_all(runner, CK_NORMAL);                                                        \
        int failed = srunner_ntests_failed(runner);                                                \
        int ran = srunner_ntests_run(runner);                                                      \
        srunner_free(runner);                                                                      \
        return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;                               \
    }

#endif
