/* The normal distribution by Mills' ratio R(m) = Q(m) / phi(m), which is smooth: by arithmetic
 * alone, on every instruction set. */
#ifndef SV_NORMAL_MILLS_H
#define SV_NORMAL_MILLS_H

#include "kernels/power.h"

/* R(m) as a polynomial in t = 1 / (1 + MILLS_A m), highest power first: a minimax fit of the
 * relative error over 0 <= m <= 13.25, 3.3e-08 at most before the rounding of float32's
 * operations. */
#define MILLS_A 0.294999987f

static const float MILLS[] = {0.09956765f, -0.46313536f, 0.6858535f,  -0.3003374f,  0.42120555f,
                              0.21070735f, 0.30545872f,  0.29394874f, 4.544461e-05f};

/* 2^r 2 / sqrt(2 pi) for |r| <= 1/2, highest power first: v_exp2_negative's, times a factor. */
static const float PHI[] = {0.00105930923f, 0.00771996565f, 0.0442882814f,
                            0.191668794f,   0.553051233f,   0.797884643f};

/* Where the tail is 0. */
#define FAR_OUT 13.21f

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

/* Q keeps its relative accuracy, so GELU does at negative x. */
SV_INLINE vreal upper_tail(vreal m, vreal *density)
{
    vreal t = v_set(1.0f) / (v_set(1.0f) + v_set(MILLS_A) * m);
    vreal ratio = v_set(MILLS[0]);
    for (size_t i = 1; i < sizeof MILLS / sizeof *MILLS; i++)
        ratio = ratio * t + v_set(MILLS[i]);
    *density = normal_density(m);
    return *density * ratio;
}

#endif
