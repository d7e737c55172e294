/* The normal distribution by the functions of the C library, in double precision, for gradient
 * checks. */
#ifndef SV_NORMAL_EXACT_H
#define SV_NORMAL_EXACT_H

#include "kernels/simd.h"

#include <math.h>

/* Where Q is 0 in double precision. */
#define TAIL_END 40.0

/* Q(m) = 1 - Phi(m), and the density phi(m) in *density. */
SV_INLINE vreal upper_tail(vreal m, vreal *density)
{
    vreal tail = {0};
    for (size_t i = 0; i < LANES; i++) {
        tail[i] = 0.5 * erfc(m[i] * 0.70710678118654752440);
        (*density)[i] = 0.39894228040143267794 * exp(-0.5 * m[i] * m[i]);
    }
    return tail;
}

#endif
