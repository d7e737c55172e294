/* Whether numbers are finite, many at a time. */
#ifndef SV_FINITE_H
#define SV_FINITE_H

#include <stddef.h>

/* The index of the first NaN or infinity; `count` where there is none. */
size_t sv_first_not_finite(const float *values, size_t count);

#endif
