/* The normal distribution's density and cumulative distribution, a vector at a time. */
#ifndef SV_NORMAL_H
#define SV_NORMAL_H

#include "kernels/vector.h"

#ifdef SV_DOUBLE

#include <math.h>

SV_INLINE vreal v_exp2_negative(vreal x)
{
    vreal y = {0};
    for (size_t i = 0; i < LANES; i++)
        y[i] = exp2(x[i]);
    return y;
}

/* Q(m) = 1 - Phi(m) = erfc(m / sqrt 2) / 2, and phi(m) = exp(-m^2 / 2) / sqrt(2 pi) in *density. */
SV_INLINE vreal upper_tail(vreal m, vreal *density)
{
    vreal tail = {0};
    for (size_t i = 0; i < LANES; i++) {
        tail[i] = 0.5 * erfc(m[i] * 0.70710678118654752440);
        (*density)[i] = 0.39894228040143267794 * exp(-0.5 * m[i] * m[i]);
    }
    return tail;
}

/* Where the tail is 0. */
#define FAR_OUT 40.0

#else

/* Added to a number in [-126, 0], rounds it to a whole one and leaves that + 126 in the lowest
 * bits: shifted to the exponent's place, half the power of two, and 0 in place of the smallest. */
#define WHOLE (12582912.0f + 126)

/* 2^x for x <= 0, relative error below 2.5e-7; 0 below -125.5. A minimax polynomial for 2 2^r,
 * |r| <= 1/2, 7.5e-8 before rounding. */
SV_INLINE vreal v_exp2_negative(vreal x)
{
    vreal clamped = v_larger(v_set(-126.0f), x);
    vreal shifted = clamped + v_set(WHOLE);
    vreal half_power = (vreal)((vlane)shifted << 23);
    vreal r = clamped - (shifted - v_set(WHOLE));
    vreal y = v_set(2.65529449e-3f);
    y = y * r + v_set(1.93510838e-2f);
    y = y * r + v_set(1.11014262e-1f);
    y = y * r + v_set(4.80442405e-1f);
    y = y * r + v_set(1.38629389f);
    y = y * r + v_set(2.00000024f);
    return y * half_power;
}

#include "kernels/normal_table.h"

/* phi(m) = 2^y / sqrt(2 pi), y = -m^2 log2(e) / 2, for 0 <= m <= FAR_OUT; 0 where y < -125.5. The
 * factor is in the polynomial of v_exp2_negative; what y is off its whole number is rounded once.
 */
SV_INLINE vreal normal_density(vreal m)
{
    const vreal factor = v_set(-0.721347520f);
    vreal square = m * m;
    vreal shifted = v_multiply_add(square, factor, v_set(WHOLE));
    vreal half_power = (vreal)((vlane)shifted << 23);
    vreal r = v_multiply_add(square, factor, v_set(WHOLE) - shifted);
    vreal y = v_set(PHI[0]);
    for (size_t i = 1; i < sizeof PHI / sizeof *PHI; i++)
        y = y * r + v_set(PHI[i]);
    return y * half_power;
}

/* Q(m) = 1 - Phi(m) for 0 <= m <= FAR_OUT, and phi(m) in *density: Q(m) = phi(m) R(m) where R is
 * Mills' ratio, smooth: a polynomial in t = 1 / (1 + a m). Q keeps its relative accuracy, so GELU
 * does at negative x. */
SV_INLINE vreal upper_tail(vreal m, vreal *density)
{
    vreal t = v_set(1.0f) / (v_set(1.0f) + v_set(MILLS_A) * m);
    vreal ratio = v_set(MILLS[0]);
    for (size_t i = 1; i < sizeof MILLS / sizeof *MILLS; i++)
        ratio = ratio * t + v_set(MILLS[i]);
    *density = normal_density(m);
    return *density * ratio;
}

/* Where the tail is 0. */
#define FAR_OUT 13.21f

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
