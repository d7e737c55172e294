/* The maximum of errors, which keeps NaN. */
#ifndef TEST_WORST_H
#define TEST_WORST_H

#include <math.h>

/* Returns the larger of both. Unlike fmax, it treats NaN as the largest value. */
static inline double worst_of(double max, double error)
{
    return error > max || isnan(error) ? error : max;
}

#endif
