/* The density of the normal distribution by its exponential, for instruction sets on which that is
 * faster than piecewise polynomials. */
#ifndef SV_NORMAL_DENSITY_H
#define SV_NORMAL_DENSITY_H

#include "kernels/power.h"

/* 2 * 2^r / sqrt(2 pi) for |r| <= 1/2, highest power first: the polynomial of v_exp2_negative times
 * 1 / sqrt(2 pi). */
static const float PHI[] = {0.00105930923f, 0.00771996565f, 0.0442882814f,
                            0.191668794f,   0.553051233f,   0.797884643f};

/* Where phi is rounded to 0. */
#define DENSITY_END 13.21f

/* phi(m) = 2^y / sqrt(2 pi), y = -m^2 log2(e) / 2, for m >= 0; 0 where y < -125.5, NaN where m is
 * NaN. As in v_exp2_negative, y is split into an integer and a rest r; multiply-adds compute r with
 * a single rounding. */
SV_INLINE vreal normal_density(vreal m)
{
    const vreal factor = v_set(-0.721347520f), within = v_min(v_set(DENSITY_END), m);
    vreal square = within * within;
    vreal shifted = v_multiply_add(square, factor, v_set(ROUND_TO_EXPONENT));
    vreal half_power = (vreal)((vlane)shifted << 23);
    vreal r = v_multiply_add(square, factor, v_set(ROUND_TO_EXPONENT) - shifted);
    vreal y = v_set(PHI[0]);
    for (size_t i = 1; i < sizeof PHI / sizeof *PHI; i++)
        y = y * r + v_set(PHI[i]);
    return y * half_power;
}

#endif
