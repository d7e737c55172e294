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

/* exp(x) for x in [-104, 0], relative error below 2e-7; 0 below -87.3. Cody and Waite's reduction
 * to |r| <= log(2) / 2, then a polynomial. */
SV_INLINE vreal v_exp_negative(vreal x)
{
    vreal clamped = v_select(x < v_set(-87.3f), v_set(-87.3f), x);
    vreal shifted = clamped * v_set(1.44269504f) + v_set(12582912.0f);
    vlane power = (vlane)shifted << 23;
    vreal whole = shifted - v_set(12582912.0f);
    vreal r = clamped - whole * v_set(0.693145752f);
    r = r - whole * v_set(1.42860677e-6f);
    vreal y = v_set(1.3981999507e-3f);
    y = y * r + v_set(8.3334519073e-3f);
    y = y * r + v_set(4.1665795894e-2f);
    y = y * r + v_set(1.6666665459e-1f);
    y = y * r + v_set(5.0000001201e-1f);
    y = y * r * r + r + v_set(1.0f);
    vreal scaled = (vreal)((vlane)y + power);
    return v_keep(x >= v_set(-87.3f), scaled);
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
