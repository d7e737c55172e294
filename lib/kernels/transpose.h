/* The transpose of a LANES x LANES block in registers: the two off-diagonal quarters of the block
 * are exchanged, then those of each quarter, and so on down to single lanes. Eklundh 1972. */
#ifndef SV_TRANSPOSE_H
#define SV_TRANSPOSE_H

#include "kernels/simd.h"

/* The source of lane j of the new rows i and i + h, as an index for SV_SHUFFLE(a, b). */
#define SV_FIRST(j, h) ((j) & (h) ? SV_LANES + (j) - (h) : (j))
#define SV_SECOND(j, h) ((j) & (h) ? SV_LANES + (j) : (j) + (h))

/* For all rows i without bit h: row i and row i + h exchange the lanes of row i with bit h set for
 * the lanes of row i + h with bit h clear. */
#define SV_EXCHANGE(block, h)                                                                      \
    for (size_t i = 0; i < LANES; i++)                                                             \
        if (!(i & (h))) {                                                                          \
            vreal a = (block)[i], b = (block)[i + (h)];                                            \
            (block)[i] = SV_SHUFFLE(a, b, SV_LANE_INDICES(SV_FIRST, h));                           \
            (block)[i + (h)] = SV_SHUFFLE(a, b, SV_LANE_INDICES(SV_SECOND, h));                    \
        }

/* block[i][j] = block[j][i] */
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
