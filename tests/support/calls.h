/* Calls of the public API that succeed, or fail with a status and words of its message. */
#ifndef TEST_CALLS_H
#define TEST_CALLS_H

#include "suite.h"

#include <shiftvit/status.h>

#include <string.h>

/* What the calls write their message to. */
static svit_error err = {.struct_size = sizeof err};

#define OK(call) ck_assert_msg((call) == SVIT_OK, "%s", err.message)
#define FAILS(status, text, call)                                                                  \
    do {                                                                                           \
        memset(err.message, 0, sizeof err.message);                                                \
        err.code = 0;                                                                              \
        ck_assert_int_eq(call, status);                                                            \
        ck_assert_int_eq(err.code, status);                                                        \
        ck_assert_msg(strstr(err.message, text), "%s", err.message);                               \
    } while (0)

#endif
