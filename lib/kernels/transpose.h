/* Square blocks of LANES x LANES, transposed in registers: the halves of the block that lie off its
 * diagonal change places, then those of each quarter, down to single lanes. Eklundh 1972. */
#ifndef SV_TRANSPOSE_H
#define SV_TRANSPOSE_H

#include "kernels/vector.h"

/* LANES, where the preprocessor asks. */
#ifdef SV_DOUBLE
#define SV_LANES (SV_VECTOR_BYTES / 8)
#else
#define SV_LANES (SV_VECTOR_BYTES / 4)
#endif

/* Lanes of a and b by number, b's counted on from LANES. */
#if defined(__clang__)
#define SV_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SV_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vlane){__VA_ARGS__})
#endif

/* What comes to lane j: where its number has the bit h a lane of b, else one of a. */
#define SV_FIRST(j, h) ((j) & (h) ? SV_LANES + (j) - (h) : (j))
#define SV_SECOND(j, h) ((j) & (h) ? SV_LANES + (j) : (j) + (h))
#define SV_NUMBERS_2(f, j, h) f(j, h), f(j + 1, h)
#define SV_NUMBERS_4(f, j, h) SV_NUMBERS_2(f, j, h), SV_NUMBERS_2(f, j + 2, h)
#define SV_NUMBERS_8(f, j, h) SV_NUMBERS_4(f, j, h), SV_NUMBERS_4(f, j + 4, h)
#define SV_NUMBERS_16(f, j, h) SV_NUMBERS_8(f, j, h), SV_NUMBERS_8(f, j + 8, h)
#if SV_LANES == 16
#define SV_NUMBERS(f, h) SV_NUMBERS_16(f, 0, h)
#elif SV_LANES == 8
#define SV_NUMBERS(f, h) SV_NUMBERS_8(f, 0, h)
#elif SV_LANES == 4
#define SV_NUMBERS(f, h) SV_NUMBERS_4(f, 0, h)
#else
#define SV_NUMBERS(f, h) SV_NUMBERS_2(f, 0, h)
#endif

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
