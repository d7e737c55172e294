/* Packing float32 into tiles of bfloat16. For instruction sets that have AVX-512 with bfloat16.
 *
 * An element has one term, its value rounded to bfloat16; or three (bf16x3), each of which is what
 * the terms before it leave of the value, so that their sum is the float32 value. The product of
 * two such sums, without the terms below 2^-24 of it, is a product in float32. Henry, Tang,
 * Heinecke 2019, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
 * Computations". Every term has a tile of its own.
 *
 * A tile covers 32 steps of k, and lane q holds steps q and q + 16 (lower and upper 16 bits), so
 * that two vectors make a row of a tile without a shuffle. */
#ifndef SV_BF16_PACK_IMPL_H
#define SV_BF16_PACK_IMPL_H

#include "gemm/amx/amx_tile_impl.h"

enum { TILE_K = 2 * TILE_ROWS, MAX_TERMS = 3 };

/* bf16x2 of two vectors that are truncated to bfloat16: lane q has the upper 16 bits of first[q]
 * below those of second[q]. */
SV_INLINE __m512i interleave_upper_halves(__m512i first, __m512i second)
{
    return _mm512_mask_blend_epi16(0xAAAAAAAA, _mm512_srli_epi32(first, 16), second);
}

/* The bits of x rounded to bfloat16, ties away from zero; the lower 16 bits of a lane are 0. */
SV_INLINE __m512i round_to_bf16(__m512 x)
{
    __m512i rounded = _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
    return _mm512_and_si512(rounded, _mm512_set1_epi32((int)0xFFFF0000));
}

/* bf16x2 of two vectors, rounded to nearest even: lane q has first[q] below second[q]. */
SV_INLINE __m512i round_to_bf16x2(__m512 first, __m512 second)
{
    const __m512i lanes =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(lanes, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

/* x truncated to bfloat16. */
SV_INLINE __m512 truncate_to_bf16(__m512 x)
{
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32((int)0xFFFF0000)));
}

/* out[t] = bf16x2 of term t of both vectors. The remainder after the rounded first term has 16
 * significant bits: the upper and the lower 8 are the other two terms. The first term is rounded
 * and not truncated, so that the omitted terms of products have either sign. */
SV_INLINE void split_terms(__m512i out[MAX_TERMS], __m512 first, __m512 second, const size_t terms)
{
    if (terms == 1) {
        out[0] = round_to_bf16x2(first, second);
        return;
    }
    __m512i a = round_to_bf16(first), b = round_to_bf16(second);
    out[0] = interleave_upper_halves(a, b);
    first = _mm512_sub_ps(first, _mm512_castsi512_ps(a));
    second = _mm512_sub_ps(second, _mm512_castsi512_ps(b));
    out[1] = interleave_upper_halves(_mm512_castps_si512(first), _mm512_castps_si512(second));
    first = _mm512_sub_ps(first, truncate_to_bf16(first));
    second = _mm512_sub_ps(second, truncate_to_bf16(second));
    out[2] = interleave_upper_halves(_mm512_castps_si512(first), _mm512_castps_si512(second));
}

/* Splits each of the 2 x 16 floats into `terms` bfloat16 terms, interleaves the two vectors, and
 * stores term t as row `row` of tiles[t * term_stride]. */
SV_INLINE void store_tile_row(amx_tile *tiles, size_t term_stride, size_t row, __m512 first,
                              __m512 second, const size_t terms)
{
    __m512i split[MAX_TERMS];
    split_terms(split, first, second, terms);
    SV_REGISTERS
    for (size_t t = 0; t < terms; t++)
        tiles[t * term_stride].rows[row] = split[t];
}

/* Tile row i = row i of X, 32 steps of k: the layout of A. X has k contiguous. */
SV_INLINE void pack_row_of_x(amx_tile *tiles, size_t term_stride, const amx_source *source,
                             size_t i, const size_t terms)
{
    size_t k = i < source->rows ? source->k : 0;
    const float *x = source->x + i * source->row_stride;
    __mmask16 second = k > TILE_ROWS ? v_first_mask(k - TILE_ROWS) : 0;
    store_tile_row(tiles, term_stride, i, _mm512_maskz_loadu_ps(v_first_mask(k), x),
                   _mm512_maskz_loadu_ps(second, x + TILE_ROWS), terms);
}

/* Tile row i = steps i and i + 16 of k, of 16 rows of X: the layout of B. X has its rows' elements
 * of one step of k contiguous. */
SV_INLINE void pack_steps_of_k(amx_tile *tiles, size_t term_stride, const amx_source *source,
                               size_t i, const size_t terms)
{
    __mmask16 rows = v_first_mask(source->rows);
    const float *x = source->x + i * source->k_stride;
    store_tile_row(tiles, term_stride, i, _mm512_maskz_loadu_ps(i < source->k ? rows : 0, x),
                   _mm512_maskz_loadu_ps(i + TILE_ROWS < source->k ? rows : 0,
                                         x + TILE_ROWS * source->k_stride),
                   terms);
}

/* Packs `count` rows, from `first` on, of one tile per term: 16 rows and 32 steps of k of the
 * source, to tiles[t * term_stride] for term t. Elements past the source's end are 0. The tiles get
 * the layout of B if `is_b`, else that of A. They are first packed in the layout whose rows are
 * contiguous in the source; if that is the other one, they are transposed when the last row has
 * been packed. */
SV_INLINE void bf16_pack_rows(amx_tile *tiles, size_t term_stride, const amx_source *source,
                              size_t first, size_t count, const int is_b, const size_t terms)
{
    int layout_of_b = source->k_stride != 1;
    size_t end = first + count < TILE_ROWS ? first + count : TILE_ROWS;
    for (size_t i = first; layout_of_b && i < end; i++)
        pack_steps_of_k(tiles, term_stride, source, i, terms);
    for (size_t i = first; !layout_of_b && i < end; i++)
        pack_row_of_x(tiles, term_stride, source, i, terms);
    if (layout_of_b == is_b || end < TILE_ROWS)
        return;
    for (size_t t = 0; t < terms; t++)
        transpose_tile(&tiles[t * term_stride]);
}

#endif
