/* The standard normal distribution, for GELU: Phi is its cumulative distribution function. The
 * headers below define, for m >= 0,
 *
 *     vreal upper_tail(vreal m)         Q(m) = 1 - Phi(m), the same bits on all instruction sets
 *     vreal normal_density(vreal m)     phi(m) = exp(-m^2 / 2) / sqrt(2 pi)
 */
#ifndef SV_NORMAL_H
#define SV_NORMAL_H

#include "kernels/simd.h"

#ifdef SV_DOUBLE
#include "kernels/normal/normal_exact.h"
#else
#include "kernels/normal/normal_pieces.h"
#ifndef __AVX512F__
#include "kernels/normal/normal_density.h"
#endif
#endif

/* gelu(x) = x Phi(x) = max(x, 0) - |x| Q(|x|), given tail = Q(|x|); there is no cancellation. It is
 * NaN where x is infinite or NaN, so that an overflow is not hidden. */
SV_INLINE vreal gelu_from_tail(vreal x, vreal tail)
{
    return v_multiply_add(-v_abs(x), tail, v_max(v_set(0), x));
}

/* Phi(x), given tail = Q(|x|). */
SV_INLINE vreal cdf_from_tail(vreal x, vreal tail)
{
    return v_where_positive(x, v_set(1) - tail, tail);
}

#endif
