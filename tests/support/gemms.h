/* Tests that run with each provider of products; where the machine has it not, they say so. */
#ifndef TEST_GEMMS_H
#define TEST_GEMMS_H

#include <shiftvit/shiftvit.h>

#include <stdbool.h>
#include <stdio.h>

static const char *const GEMMS[] = {"tile", "cblas", "amx", "onednn"};
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
    if (status == SVIT_E_UNSUPPORTED)
        printf("skipped: %s\n", err.message);
    return status == SVIT_OK;
}

/* The provider of a loop test's round, or the end of the test. */
#define GEMM(name, number)                                                                         \
    const char *name = GEMMS[number];                                                              \
    if (!gemm_runs_here(name))                                                                     \
    return

#endif
