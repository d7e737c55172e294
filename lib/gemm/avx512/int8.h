/* Operands of products in bytes: how they are made of float32. For instruction sets that have
 * AVX-512.
 *
 * A line (a row of a left-hand side, a column of a right-hand side) is cut along k, and each cut of
 * it divided by a factor of its own, by which its largest number becomes 127, and rounded to
 * nearest even. A unit holds 64 of k. A left-hand side's bytes are unsigned, 128 above the number,
 * since dot products take one side unsigned; what that adds to a sum is 128 times the sum of the
 * right-hand column's cut, which is kept beside it. */
#ifndef SV_INT8_H
#define SV_INT8_H

#include "gemm/avx512/unit.h"

/* Numbers of k in a unit and in a cut. A left-hand side of 32 rows and one cut takes 32 KiB; a sum
 * of a cut is below 255 * 127 * 1024 < 2^25, so it cannot overflow. */
enum { UNIT_BYTES = 64, CUT_UNITS = 16, CUT = CUT_UNITS * UNIT_BYTES };

/* 16 lines of a unit with k along memory. */
typedef struct int8_lines {
    const float *x;
    size_t step; /* from line to line */
} int8_lines;

/* Lines that lie along memory themselves are turned, 64 of k, into `space`. */
SV_INLINE int8_lines turn_lines(float space[UNIT * UNIT_BYTES], const unit_source *from)
{
    __mmask16 lines = v_first_mask(from->lines);
    const float *x = from->x;
    for (size_t p = 0; p < UNIT_BYTES; p += UNIT) {
        vreal block[UNIT];
        for (size_t i = 0; i < UNIT; i++, x += from->depth_step)
            block[i] = (vreal)_mm512_maskz_loadu_ps(p + i < from->depth ? lines : 0, x);
        v_transpose(block);
        for (size_t i = 0; i < UNIT; i++)
            v_store(space + i * UNIT_BYTES + p, block[i]);
    }
    return (int8_lines){space, UNIT_BYTES};
}

/* Of unit `s` of the source. */
SV_INLINE int8_lines lines_of(float space[UNIT * UNIT_BYTES], const unit_source *from, size_t s)
{
    unit_source here = *from;
    here.x += s * UNIT_BYTES * from->depth_step;
    here.depth -= s * UNIT_BYTES;
    if (from->depth_step != 1)
        return turn_lines(space, &here);
    return (int8_lines){here.x, from->line_step};
}

/* 64 numbers of a line, zeros past `depth`. */
SV_INLINE void load_line(__m512 out[4], const float *x, size_t depth)
{
    SV_REGISTERS
    for (size_t v = 0; v < 4; v++)
        out[v] = _mm512_maskz_loadu_ps(depth > v * UNIT ? v_first_mask(depth - v * UNIT) : 0,
                                       x + v * UNIT);
}

/* most[line] = the largest size in each lane. Compared as integers, so that what is not a number is
 * larger than all that is. */
SV_INLINE void largest_of(__m512i most[UNIT], const unit_source *from, size_t units, size_t lines)
{
    float space[UNIT * UNIT_BYTES] __attribute__((aligned(64)));
    for (size_t i = 0; i < UNIT; i++)
        most[i] = _mm512_setzero_si512();
    for (size_t s = 0; s < units; s++) {
        int8_lines here = lines_of(space, from, s);
        for (size_t i = 0; i < lines; i++) {
            __m512 x[4];
            load_line(x, here.x + i * here.step, from->depth - s * UNIT_BYTES);
            SV_REGISTERS
            for (size_t v = 0; v < 4; v++)
                most[i] = _mm512_max_epi32(most[i], _mm512_castps_si512(_mm512_abs_ps(x[v])));
        }
    }
}

/* What a line with that largest number is multiplied by: below the size whose inverse overflows,
 * a constant. NaN gives NaN, infinity 0, whose inverse, the factor, is not finite either. */
SV_INLINE float inverse_of(__m512i most)
{
    int32_t bits = _mm512_reduce_max_epi32(most);
    float largest;
    memcpy(&largest, &bits, sizeof largest);
    return largest < 0x1p-119f ? 0x1p126f : 127 / largest;
}

/* 64 numbers in bytes. The order of k within a row is that of the packing instructions, the same on
 * both sides. */
SV_INLINE __m512i round_line(const __m512 x[4], float inverse)
{
    __m512 by = _mm512_set1_ps(inverse);
    __m512i words[4];
    SV_REGISTERS
    for (size_t v = 0; v < 4; v++)
        words[v] = _mm512_cvtps_epi32(_mm512_mul_ps(x[v], by));
    return _mm512_packs_epi16(_mm512_packs_epi32(words[0], words[1]),
                              _mm512_packs_epi32(words[2], words[3]));
}

/* Where 16 lines of bytes are made: 64 of k at to[line * line_step + their number * step]. */
typedef struct int8_place {
    char *to;
    size_t line_step, step;
} int8_place;

/* 16 lines of one cut, and the lines' factors; zeros past the source's end. `flip`: the bits that
 * are turned over in each byte. */
SV_INLINE void int8_make(int8_place place, float factors[UNIT], const unit_source *from,
                         const int flip)
{
    float space[UNIT * UNIT_BYTES] __attribute__((aligned(64)));
    float inverses[UNIT];
    __m512i most[UNIT];
    size_t lines = from->lines < UNIT ? from->lines : UNIT;
    size_t depth = from->depth < CUT ? from->depth : CUT;
    size_t count = (depth + UNIT_BYTES - 1) / UNIT_BYTES;
    largest_of(most, from, count, lines);
    for (size_t i = 0; i < UNIT; i++) {
        inverses[i] = inverse_of(most[i]);
        factors[i] = 1 / inverses[i];
    }
    for (size_t s = 0; s < count; s++, place.to += place.step) {
        int8_lines here = lines_of(space, from, s);
        for (size_t i = 0; i < lines; i++) {
            __m512 x[4];
            load_line(x, here.x + i * here.step, depth - s * UNIT_BYTES);
            _mm512_storeu_si512(
                place.to + i * place.line_step,
                _mm512_xor_si512(round_line(x, inverses[i]), _mm512_set1_epi8((char)flip)));
        }
        for (size_t i = lines; i < UNIT; i++)
            _mm512_storeu_si512(place.to + i * place.line_step, _mm512_setzero_si512());
    }
}

/* Every `every`th of some units. */
SV_INLINE int8_place int8_units(unit_rows *units, size_t every)
{
    return (int8_place){(char *)units, sizeof *units->rows, every * sizeof *units};
}

/* 128 times the sums of 16 columns of a right-hand side's units. */
SV_INLINE __m512i int8_offsets(const unit_rows *units, size_t count)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < UNIT; i++) {
            __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), units[s].rows[i]);
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
        }
    return _mm512_slli_epi32(sum, 7);
}

/* 16 columns of one cut of a right-hand side as units, and what comes with them. */
SV_INLINE void int8_make_columns(unit_rows *units, float factors[UNIT], int32_t offsets[UNIT],
                                 const unit_source *from)
{
    size_t depth = from->depth < CUT ? from->depth : CUT;
    size_t count = (depth + UNIT_BYTES - 1) / UNIT_BYTES;
    int8_make(int8_units(units, 1), factors, from, 0);
    for (size_t s = 0; s < count; s++)
        transpose_unit(&units[s]);
    _mm512_storeu_si512(offsets, int8_offsets(units, count));
}

#endif
