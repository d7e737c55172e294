/* Operands of products in bfloat16: how they are made of float32. For instruction sets that have
 * AVX-512 with bfloat16.
 *
 * A number is kept in one part, rounded to bfloat16; or in three, each what the parts before it
 * left over, whose sum is the float32 number. The product of two such sums, without the terms that
 * are smaller than 2^-24 of it, is a product in float32. Henry, Tang, Heinecke 2019, "Leveraging
 * the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations".
 *
 * A unit holds 32 of k. Numbers p and p + 16 of k stand together in a lane, so that two vectors
 * make a row of a unit without a shuffle. */
#ifndef SV_BF16_H
#define SV_BF16_H

#include "gemm/avx512/unit.h"

enum { UNIT_DEPTH = 2 * UNIT, PARTS_MOST = 3 };

/* The upper halves of first's lanes, below those of second's. */
SV_INLINE __m512i join_halves(__m512i first, __m512i second)
{
    return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srli_epi32(first, 16), second);
}

/* x rounded to bfloat16's digits; of two that are as near, the larger. */
SV_INLINE __m512i round_half(__m512 x)
{
    __m512i more = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    return _mm512_and_si512(more, _mm512_set1_epi32((int)0xFFFF0000));
}

/* Two numbers a lane in bfloat16, rounded to nearest even. */
SV_INLINE __m512i round_pairs(__m512 first, __m512 second)
{
    const __m512i lanes =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(lanes, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

/* x without the digits that bfloat16 has not. */
SV_INLINE __m512 cut_half(__m512 x)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32((int)0xFFFF0000)));
}

/* A row of a unit for each part. What the rounded first part leaves has 16 digits: the upper and
 * the lower 8 are the other two. The first is rounded and not cut, so that the terms which a
 * product leaves out have either sign. */
SV_INLINE void split(__m512i out[PARTS_MOST], __m512 first, __m512 second, const size_t parts)
{
    if (parts == 1) {
        out[0] = round_pairs(first, second);
        return;
    }
    __m512i a = round_half(first), b = round_half(second);
    out[0] = join_halves(a, b);
    first = _mm512_sub_ps(first, _mm512_castsi512_ps(a));
    second = _mm512_sub_ps(second, _mm512_castsi512_ps(b));
    out[1] = join_halves(_mm512_castps_si512(first), _mm512_castps_si512(second));
    first = _mm512_sub_ps(first, cut_half(first));
    second = _mm512_sub_ps(second, cut_half(second));
    out[2] = join_halves(_mm512_castps_si512(first), _mm512_castps_si512(second));
}

SV_INLINE void put_row(unit_rows *units, size_t step, size_t row, __m512 first, __m512 second,
                       const size_t parts)
{
    __m512i made[PARTS_MOST];
    split(made, first, second, parts);
    SV_REGISTERS
    for (size_t part = 0; part < parts; part++)
        units[part * step].rows[row] = made[part];
}

/* Row i where k lies along memory: line i makes it. */
SV_INLINE void row_of_line(unit_rows *units, size_t step, const unit_source *from, size_t i,
                           const size_t parts)
{
    size_t depth = i < from->lines ? from->depth : 0;
    const float *x = from->x + i * from->line_step;
    __mmask16 second = depth > UNIT ? v_first_mask(depth - UNIT) : 0;
    put_row(units, step, i, _mm512_maskz_loadu_ps(v_first_mask(depth), x),
            _mm512_maskz_loadu_ps(second, x + UNIT), parts);
}

/* Row i where the lines lie along memory: a pair of k makes it. */
SV_INLINE void row_of_pair(unit_rows *units, size_t step, const unit_source *from, size_t i,
                           const size_t parts)
{
    __mmask16 lines = v_first_mask(from->lines);
    const float *x = from->x + i * from->depth_step;
    put_row(units, step, i, _mm512_maskz_loadu_ps(i < from->depth ? lines : 0, x),
            _mm512_maskz_loadu_ps(i + UNIT < from->depth ? lines : 0, x + UNIT * from->depth_step),
            parts);
}

/* Some rows of units[part * step], from number `row` on; with the last one the units are 16 lines
 * and 32 of k from the source, zeros past its end. */
SV_INLINE void bf16_make_rows(unit_rows *units, size_t step, const unit_source *from, size_t row,
                              size_t count, const int right, const size_t parts)
{
    int pairs = from->depth_step != 1;
    size_t end = row + count < UNIT ? row + count : UNIT;
    for (size_t i = row; pairs && i < end; i++)
        row_of_pair(units, step, from, i, parts);
    for (size_t i = row; !pairs && i < end; i++)
        row_of_line(units, step, from, i, parts);
    if (pairs == right || end < UNIT)
        return;
    for (size_t part = 0; part < parts; part++)
        transpose_unit(&units[part * step]);
}

#endif
