/* The normal distribution by the functions of the C library, in double precision, for gradient
 * checks. */
#ifndef SV_NORMAL_EXACT_H
#define SV_NORMAL_EXACT_H

#include "kernels/simd.h"

#include <math.h>

/* Q(m) = 1 - Phi(m). */
SV_INLINE vreal upper_tail(vreal m)
{
    vreal tail = {0};
    for (size_t i = 0; i < LANES; i++)
        tail[i] = 0.5 * erfc(m[i] * 0.70710678118654752440);
    return tail;
}

/* phi(m) */
SV_INLINE vreal normal_density(vreal m)
{
    vreal density = {0};
    for (size_t i = 0; i < LANES; i++)
        density[i] = 0.39894228040143267794 * exp(-0.5 * m[i] * m[i]);
    return density;
}

#endif
