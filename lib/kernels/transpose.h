/* Square blocks of LANES x LANES, transposed in registers: the halves of the block that lie off its
 * diagonal change places, then those of each quarter, down to single lanes. Eklundh 1972. */
#ifndef SV_TRANSPOSE_H
#define SV_TRANSPOSE_H

#include "kernels/simd.h"

/* What comes to lane j: where its number has the bit h a lane of b, else one of a. */
#define SV_FIRST(j, h) ((j) & (h) ? SV_LANES + (j) - (h) : (j))
#define SV_SECOND(j, h) ((j) & (h) ? SV_LANES + (j) : (j) + (h))

/* Rows i and i + h of every pair exchange the lanes of a's that have the bit h with those of b's
 * that have it not. */
#define SV_EXCHANGE(block, h)                                                                      \
    for (size_t i = 0; i < LANES; i++)                                                             \
        if (!(i & (h))) {                                                                          \
            vreal a = (block)[i], b = (block)[i + (h)];                                            \
            (block)[i] = SV_SHUFFLE(a, b, SV_NUMBERS(SV_FIRST, h));                                \
            (block)[i + (h)] = SV_SHUFFLE(a, b, SV_NUMBERS(SV_SECOND, h));                         \
        }

SV_INLINE void v_transpose(vreal block[LANES])
{
#if SV_LANES >= 16
    SV_EXCHANGE(block, 8)
#endif
#if SV_LANES >= 8
    SV_EXCHANGE(block, 4)
#endif
#if SV_LANES >= 4
    SV_EXCHANGE(block, 2)
#endif
    SV_EXCHANGE(block, 1)
}

#endif
