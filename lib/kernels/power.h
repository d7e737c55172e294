/* Powers of two, a vector at a time. */
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

/* Added to a number in [-126, 0], rounds it to a whole one and leaves that + 126 in the lowest
 * bits: shifted to the exponent's place, half the power of two, and 0 in place of the smallest. */
#define WHOLE (SV_TO_WHOLE + 126)

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

#endif

#endif
