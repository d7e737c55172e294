/* The worst of many errors. */
#ifndef TEST_WORST_H
#define TEST_WORST_H

#include <math.h>

/* The larger of both; what is not a number is worse than all, and stays so. fmax would drop it. */
static inline double worst_of(double most, double error)
{
    return error > most || isnan(error) ? error : most;
}

#endif
