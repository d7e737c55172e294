/* The normal distribution's density and cumulative distribution, a vector at a time. */
#ifndef SV_NORMAL_H
#define SV_NORMAL_H

#include "kernels/vector.h"

#ifdef SV_DOUBLE

#include <math.h>

SV_INLINE vreal v_exp_negative(vreal x)
{
    vreal y = {0};
    for (size_t i = 0; i < LANES; i++)
        y[i] = exp(x[i]);
    return y;
}

SV_INLINE vreal v_exp2_negative(vreal x)
{
    vreal y = {0};
    for (size_t i = 0; i < LANES; i++)
        y[i] = exp2(x[i]);
    return y;
}

/* Phi(x) = (1 + erf(x / sqrt 2)) / 2, and phi(x) = exp(-x^2 / 2) / sqrt(2 pi) in *density. */
SV_INLINE vreal normal_cdf(vreal x, vreal *density)
{
    vreal cdf = {0};
    for (size_t i = 0; i < LANES; i++) {
        cdf[i] = 0.5 * erfc(-x[i] * 0.70710678118654752440);
        if (density)
            (*density)[i] = 0.39894228040143267794 * exp(-0.5 * x[i] * x[i]);
    }
    return cdf;
}

#else

/* Added to a number in [-126, 0], rounds it to a whole one and leaves that + 126 in the lowest
 * bits: shifted to the exponent's place, half the power of two, and 0 in place of the smallest. */
#define WHOLE (12582912.0f + 126)

/* exp(x) for x <= 0, relative error below 2.7e-7; 0 below -86.99. Cody and Waite's reduction to
 * |r| <= log(2) / 2, then a polynomial for 2 exp(r). */
SV_INLINE vreal v_exp_negative(vreal x)
{
    vreal clamped = v_larger(v_set(-87.3f), x);
    vreal shifted = clamped * v_set(1.44269504f) + v_set(WHOLE);
    vreal half_power = (vreal)((vlane)shifted << 23);
    vreal whole = shifted - v_set(WHOLE);
    vreal r = clamped - whole * v_set(0.693145752f);
    r = r - whole * v_set(1.42860677e-6f);
    vreal y = v_set(2 * 1.3981999507e-3f);
    y = y * r + v_set(2 * 8.3334519073e-3f);
    y = y * r + v_set(2 * 4.1665795894e-2f);
    y = y * r + v_set(2 * 1.6666665459e-1f);
    y = y * r + v_set(2 * 5.0000001201e-1f);
    y = y * r + v_set(2.0f);
    y = y * r + v_set(2.0f);
    return y * half_power;
}

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

/* Phi(x), and phi(x) in *density (NULL allowed). For the upper tail Q(|x|) = phi(x) * R(|x|) where
 * R is Mills' ratio, smooth on [0, inf): a polynomial in t = 1 / (1 + a |x|). The tail keeps its
 * relative accuracy, so GELU does at negative x. */
SV_INLINE vreal normal_cdf(vreal x, vreal *density)
{
    vreal phi = v_exp_negative(x * x * v_set(-0.5f)) * v_set(0.398942280f);
    vreal magnitude = (vreal)((vlane)x & 0x7FFFFFFF);
    vreal t = v_set(1.0f) / (v_set(1.0f) + v_set(MILLS_A) * magnitude);
    vreal ratio = v_set(MILLS[0]);
    for (size_t i = 1; i < sizeof MILLS / sizeof *MILLS; i++)
        ratio = ratio * t + v_set(MILLS[i]);
    vreal tail = phi * ratio;
    if (density)
        *density = phi;
    return v_select(x > v_set(0.0f), v_set(1.0f) - tail, tail);
}

#endif

#endif
