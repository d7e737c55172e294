/* Runs tests with each float32 GEMM backend and skips those that the machine lacks. */
#ifndef TEST_GEMMS_H
#define TEST_GEMMS_H

#include <shiftvit/shiftvit.h>

#include "suite.h"

#include <stdbool.h>

static const char *const GEMMS[] = {"tile", "cblas", "amx"};
enum { GEMM_COUNT = sizeof GEMMS / sizeof *GEMMS };

static inline bool gemm_runs_here(const char *name)
{
    svit_context *context = NULL;
    svit_context_config config;
    svit_error err = {.struct_size = sizeof err};
    svit_context_config_init(&config, sizeof config);
    config.threads = 1;
    config.gemm = name;
    svit_status status = svit_context_create(&context, &config, &err);
    svit_context_free(context);
    return status == SVIT_OK;
}

/* Defines the backend of a loop test's iteration; ends the test if the machine lacks it. */
#define GEMM(name, number)                                                                         \
    const char *name = GEMMS[number];                                                              \
    if (!gemm_runs_here(name)) {                                                                   \
        skip_check(name);                                                                          \
        return;                                                                                    \
    }                                                                                              \
    (void)0

#endif
