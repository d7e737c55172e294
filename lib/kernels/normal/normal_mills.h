/* The normal distribution by the Mills ratio R(m) = Q(m) / phi(m), which is smooth enough for one
 * polynomial. It needs no instructions beyond arithmetic, so every instruction set has it. */
#ifndef SV_NORMAL_MILLS_H
#define SV_NORMAL_MILLS_H

#include "kernels/power.h"

/* R(m) as a polynomial in t = 1 / (1 + MILLS_A m), highest power first. It is a minimax fit of the
 * relative error over 0 <= m <= 13.25: at most 3.3e-8 before the rounding of float32 operations. */
#define MILLS_A 0.294999987f

static const float MILLS[] = {0.09956765f, -0.46313536f, 0.6858535f,  -0.3003374f,  0.42120555f,
                              0.21070735f, 0.30545872f,  0.29394874f, 4.544461e-05f};

/* 2 * 2^r / sqrt(2 pi) for |r| <= 1/2, highest power first: the polynomial of v_exp2_negative times
 * 1 / sqrt(2 pi). */
static const float PHI[] = {0.00105930923f, 0.00771996565f, 0.0442882814f,
                            0.191668794f,   0.553051233f,   0.797884643f};

/* Where Q and phi are rounded to 0. */
#define TAIL_END 13.21f

/* phi(m) = 2^y / sqrt(2 pi), y = -m^2 log2(e) / 2, for 0 <= m <= TAIL_END; 0 where y < -125.5. As
 * in v_exp2_negative, y is split into an integer and a rest r; multiply-adds compute r with a
 * single rounding. */
SV_INLINE vreal normal_density(vreal m)
{
    const vreal factor = v_set(-0.721347520f);
    vreal square = m * m;
    vreal shifted = v_multiply_add(square, factor, v_set(ROUND_TO_EXPONENT));
    vreal half_power = (vreal)((vlane)shifted << 23);
    vreal r = v_multiply_add(square, factor, v_set(ROUND_TO_EXPONENT) - shifted);
    vreal y = v_set(PHI[0]);
    for (size_t i = 1; i < sizeof PHI / sizeof *PHI; i++)
        y = y * r + v_set(PHI[i]);
    return y * half_power;
}

/* Q(m) = phi(m) R(m). Its relative error is small even where Q is tiny, so that of GELU is small at
 * negative x too. */
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
