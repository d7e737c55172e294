/* The search for NaN and infinities in an array. */
#ifndef SV_FINITE_H
#define SV_FINITE_H

#include <stddef.h>

/* Returns the index of the first NaN or infinity, `count` if there is none. */
size_t sv_first_not_finite(const float *values, size_t count);

#endif
