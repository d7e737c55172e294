/* Sums and maxima of lanes, and sums over rows. */
#ifndef SV_SUMS_H
#define SV_SUMS_H

#include "kernels/simd.h"

/* The sum of all lanes, added pairwise for a small rounding error. */
SV_INLINE real v_reduce_sum(vreal value)
{
#if SV_LANES >= 16
    value += SV_SWAPPED(value, 8);
#endif
#if SV_LANES >= 8
    value += SV_SWAPPED(value, 4);
#endif
#if SV_LANES >= 4
    value += SV_SWAPPED(value, 2);
#endif
    return (value + SV_SWAPPED(value, 1))[0];
}

/* The maximum of all lanes. */
SV_INLINE real v_reduce_max(vreal value)
{
#if SV_LANES >= 16
    value = v_max(value, SV_SWAPPED(value, 8));
#endif
#if SV_LANES >= 8
    value = v_max(value, SV_SWAPPED(value, 4));
#endif
#if SV_LANES >= 4
    value = v_max(value, SV_SWAPPED(value, 2));
#endif
    return v_max(value, SV_SWAPPED(value, 1))[0];
}

/* Sums over a row that have the same bits on all instruction sets with fused multiply-adds: the
 * lane that adds an element is its index modulo SUM_LANES, whatever the width of a vector, and the
 * lanes are added pairwise. */
enum { SUM_LANES = 64 / sizeof(real), SUM_PARTS = SUM_LANES / LANES };

/* Part p has lanes p * LANES to (p + 1) * LANES - 1. */
typedef struct {
    vreal part[SUM_PARTS];
} vsum;

/* A loop over the parts that elements i to i + SUM_LANES - 1 of a row of n elements have, with
 * 0 <= i < n. Those of part p begin at i + p * LANES. */
#define SV_EACH_PART(p, i, n) for (size_t p = 0; p < SUM_PARTS && (i) + p * LANES < (n); p++)

/* The sum of all its lanes. */
SV_INLINE real v_total(vsum sum)
{
    SV_REGISTERS
    for (size_t half = SUM_PARTS / 2; half > 0; half /= 2)
        for (size_t p = 0; p < half; p++)
            sum.part[p] += sum.part[p + half];
    return v_reduce_sum(sum.part[0]);
}

#endif
