/* The standard normal distribution, for GELU: Phi is its cumulative distribution function, phi its
 * density. One of three headers defines TAIL_END and
 *
 *     vreal upper_tail(vreal m, vreal *density)
 *
 * which returns Q(m) = 1 - Phi(m) for 0 <= m <= TAIL_END and writes phi(m) = exp(-m^2 / 2) /
 * sqrt(2 pi) to *density. Beyond TAIL_END both are taken as 0. */
#ifndef SV_NORMAL_H
#define SV_NORMAL_H

#include "kernels/simd.h"

#ifdef SV_DOUBLE
#include "kernels/normal/normal_exact.h"
#elif defined(__AVX512F__)
#include "kernels/normal/normal_pieces.h"
#else
#include "kernels/normal/normal_mills.h"
#endif

/* min(|x|, TAIL_END); NaN where x is NaN. */
SV_INLINE vreal tail_magnitude(vreal x)
{
    return v_min(v_set(TAIL_END), v_abs(x));
}

/* gelu(x) = x Phi(x) = max(x, 0) - |x| Q(|x|), given tail = Q(|x|); there is no cancellation. It is
 * NaN where x is infinite or NaN, so that an overflow is not hidden. */
SV_INLINE vreal gelu_from_tail(vreal x, vreal tail)
{
    return v_max(v_set(0), x) - v_abs(x) * tail;
}

/* Phi(x), given tail = Q(|x|). */
SV_INLINE vreal cdf_from_tail(vreal x, vreal tail)
{
    return v_where_positive(x, v_set(1) - tail, tail);
}

#endif
