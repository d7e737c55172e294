/* 2^x of a vector. */
#ifndef SV_POWER_H
#define SV_POWER_H

#include "kernels/simd.h"

#ifdef SV_DOUBLE

#include <math.h>

SV_INLINE vreal v_exp2_negative(vreal x)
{
    vreal y = {0};
    for (size_t i = 0; i < LANES; i++)
        y[i] = exp2(x[i]);
    return y;
}

#else

/* Added to x in [-126, 0], it rounds x to an integer n and leaves n + 126 in the lowest bits of the
 * sum. Shifted left by 23 bits into the exponent, these are 2^n / 2, or 0 for n = -126. */
#define ROUND_TO_EXPONENT (SV_ROUND_TO_INTEGER + 126)

/* 2^x for x <= 0, with a relative error below 2.5e-7; 0 below -125.5. It is 2^n / 2, n = x rounded,
 * times a minimax polynomial for 2 * 2^r with r = x - n, |r| <= 1/2, whose relative error is below
 * 7.5e-8 before the rounding of the operations. */
SV_INLINE vreal v_exp2_negative(vreal x)
{
    vreal clamped = v_max(v_set(-126.0f), x);
    vreal shifted = clamped + v_set(ROUND_TO_EXPONENT);
    vreal half_power = (vreal)((vlane)shifted << 23);
    vreal r = clamped - (shifted - v_set(ROUND_TO_EXPONENT));
    vreal y = v_set(2.65529449e-3f);
    y = v_multiply_add(y, r, v_set(1.93510838e-2f));
    y = v_multiply_add(y, r, v_set(1.11014262e-1f));
    y = v_multiply_add(y, r, v_set(4.80442405e-1f));
    y = v_multiply_add(y, r, v_set(1.38629389f));
    y = v_multiply_add(y, r, v_set(2.00000024f));
    return y * half_power;
}

#endif

#endif
