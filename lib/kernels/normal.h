/* The normal distribution's density and cumulative distribution, a vector at a time. What computes
 * them defines FAR_OUT and
 *
 *     vreal upper_tail(vreal m, vreal *density)
 *
 * Q(m) = 1 - Phi(m) for 0 <= m <= FAR_OUT, and phi(m) = exp(-m^2 / 2) / sqrt(2 pi) in *density. */
#ifndef SV_NORMAL_H
#define SV_NORMAL_H

#include "kernels/simd.h"

#ifdef SV_DOUBLE
#include "kernels/normal_exact.h"
#elif defined(__AVX512F__)
#include "kernels/normal_pieces.h"
#else
#include "kernels/normal_mills.h"
#endif

/* |x|, or FAR_OUT where that is less; not a number where x is not. */
SV_INLINE vreal tail_magnitude(vreal x)
{
    return v_smaller(v_set(FAR_OUT), v_magnitude(x));
}

/* gelu(x) = x Phi(x), by the tail of |x|: x - x Q or 0 - |x| Q, both without cancellation. Not a
 * number where x is not finite, so that an overflow stays seen. */
SV_INLINE vreal gelu_by_tail(vreal x, vreal tail)
{
    return v_larger(v_set(0), x) - v_magnitude(x) * tail;
}

/* Phi(x), likewise. */
SV_INLINE vreal cdf_by_tail(vreal x, vreal tail)
{
    return v_where_positive(x, v_set(1) - tail, tail);
}

#endif
