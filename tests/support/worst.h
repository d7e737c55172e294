/* The maximum of errors, which keeps NaN. */
#ifndef TEST_WORST_H
#define TEST_WORST_H

#include <math.h>

/* Returns the larger of both. Other than fmax, it treats NaN as the largest of all. */
static inline double worst_of(double most, double error)
{
    return error > most || isnan(error) ? error : most;
}

#endif
