/* What the tests of extreme sizes share: a context of two threads, and arrays of random numbers. */
#ifndef NUMBERS_SIZES_H
#define NUMBERS_SIZES_H

#include "fit.h"

static svit_context *context;

static inline void setup(void)
{
    context = fit_context(2);
}

static inline void teardown(void)
{
    svit_context_free(context);
}

/* Numbers in -1..1 that `seed` determines; the caller frees them. */
static inline float *draw(size_t count, uint32_t seed)
{
    float *values = malloc(count * sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    return values;
}

#endif
