/* Quantises float32 to int8 and packs it into tiles. For instruction sets that have AVX-512.
 *
 * Each row of X (a row of A, a column of B) has one scale per K block of 1,024 steps: its largest
 * magnitude / 127. Elements are divided by the scale and rounded to nearest even.
 *
 * The dot products multiply uint8 by int8, so A is stored as uint8, 128 above its value. That adds
 * 128 times the sum of the column of B to each sum: the column's zero point, stored with it and
 * subtracted later.
 *
 * A tile covers 64 steps of k. Lane 4 i + v of a row holds steps 16 v + 4 i to 16 v + 4 i + 3, as
 * the packing instructions leave them, in A and in B alike. */
#ifndef SV_INT8_PACK_IMPL_H
#define SV_INT8_PACK_IMPL_H

#include "gemm/amx/amx_tile_impl.h"

/* Steps of k of a tile and of a K block. Packed A of a row block and one K block has 32 KiB. A sum
 * over a K block is below 255 * 127 * 1024 < 2^25, so it cannot overflow. */
enum { TILE_K = 64, K_BLOCK_TILES = 16, KC = K_BLOCK_TILES * TILE_K };

/* 16 rows of X, with k contiguous. */
typedef struct int8_rows {
    const float *x;
    size_t row_stride;
} int8_rows;

/* Transposes 64 steps of k of 16 rows, which are contiguous at each step, into space[16, 64]. */
SV_INLINE int8_rows transpose_rows(float space[TILE_ROWS * TILE_K], const amx_source *source)
{
    __mmask16 rows = v_first_mask(source->rows);
    const float *x = source->x;
    for (size_t p = 0; p < TILE_K; p += TILE_ROWS) {
        vreal block[TILE_ROWS];
        for (size_t i = 0; i < TILE_ROWS; i++, x += source->k_stride)
            block[i] = (vreal)_mm512_maskz_loadu_ps(p + i < source->k ? rows : 0, x);
        v_transpose(block);
        for (size_t i = 0; i < TILE_ROWS; i++)
            v_store(space + i * TILE_K + p, block[i]);
    }
    return (int8_rows){space, TILE_K};
}

/* The rows of tile `s` along k, in place or transposed into `space`. */
SV_INLINE int8_rows rows_of_tile(float space[TILE_ROWS * TILE_K], const amx_source *source,
                                 size_t s)
{
    amx_source tile = *source;
    tile.x += s * TILE_K * source->k_stride;
    tile.k -= s * TILE_K;
    if (source->k_stride != 1)
        return transpose_rows(space, &tile);
    return (int8_rows){tile.x, source->row_stride};
}

/* out = the 64 elements at x; 0 from element k on. */
SV_INLINE void load_row(__m512 out[4], const float *x, size_t k)
{
    SV_REGISTERS
    for (size_t v = 0; v < 4; v++)
        out[v] = _mm512_maskz_loadu_ps(k > v * TILE_ROWS ? v_first_mask(k - v * TILE_ROWS) : 0,
                                       x + v * TILE_ROWS);
}

/* max[i] = the largest |x[i, p]| of row i, lane by lane: over p of the same p % 16. Magnitudes are
 * compared as integers, which orders them like floats and puts NaN above infinity. */
SV_INLINE void find_magnitudes(__m512i max[TILE_ROWS], const amx_source *source, size_t tiles,
                               size_t rows)
{
    float space[TILE_ROWS * TILE_K] __attribute__((aligned(64)));
    for (size_t i = 0; i < TILE_ROWS; i++)
        max[i] = _mm512_setzero_si512();
    for (size_t s = 0; s < tiles; s++) {
        int8_rows tile = rows_of_tile(space, source, s);
        for (size_t i = 0; i < rows; i++) {
            __m512 x[4];
            load_row(x, tile.x + i * tile.row_stride, source->k - s * TILE_K);
            SV_REGISTERS
            for (size_t v = 0; v < 4; v++)
                max[i] = _mm512_max_epi32(max[i], _mm512_castps_si512(_mm512_abs_ps(x[v])));
        }
    }
}

/* 127 / the largest magnitude; 2^126 for magnitudes below 2^-119, for which it might overflow. NaN
 * gives NaN, and infinity gives 0, whose inverse, the scale, is not finite either. */
SV_INLINE float inverse_scale(__m512i max)
{
    int32_t bits = _mm512_reduce_max_epi32(max);
    float largest;
    memcpy(&largest, &bits, sizeof largest);
    return largest < 0x1p-119f ? 0x1p126f : 127 / largest;
}

/* 64 elements in int8: round(x * inverse), in the order of the packing instructions. */
SV_INLINE __m512i quantize_row(const __m512 x[4], float inverse)
{
    __m512 factor = _mm512_set1_ps(inverse);
    __m512i integers[4];
    SV_REGISTERS
    for (size_t v = 0; v < 4; v++)
        integers[v] = _mm512_cvtps_epi32(_mm512_mul_ps(x[v], factor));
    return _mm512_packs_epi16(_mm512_packs_epi32(integers[0], integers[1]),
                              _mm512_packs_epi32(integers[2], integers[3]));
}

/* Where 16 quantised rows are stored: steps 64 s to 64 s + 63 of row i at
 * to[i * row_stride + s * tile_stride], with strides in bytes. */
typedef struct int8_destination {
    char *to;
    size_t row_stride, tile_stride;
} int8_destination;

/* The form in which a quantised value q, -127..127, is stored. A dot product of VNNI multiplies
 * unsigned by signed bytes, so A is stored as q + 128, which is q with the upper bit inverted. */
enum { INT8_SIGNED = 0, INT8_PLUS_128 = 0x80 };

/* Quantises 16 rows of one K block. Elements past the source's end are 0 before they are stored in
 * the given form. */
SV_INLINE void int8_quantize(int8_destination out, float scales[TILE_ROWS],
                             const amx_source *source, const int form)
{
    float space[TILE_ROWS * TILE_K] __attribute__((aligned(64)));
    float inverses[TILE_ROWS];
    __m512i max[TILE_ROWS];
    size_t rows = source->rows < TILE_ROWS ? source->rows : TILE_ROWS;
    size_t k = source->k < KC ? source->k : KC;
    size_t tiles = (k + TILE_K - 1) / TILE_K;
    find_magnitudes(max, source, tiles, rows);
    for (size_t i = 0; i < TILE_ROWS; i++) {
        inverses[i] = inverse_scale(max[i]);
        scales[i] = 1 / inverses[i];
    }
    for (size_t s = 0; s < tiles; s++, out.to += out.tile_stride) {
        int8_rows tile = rows_of_tile(space, source, s);
        for (size_t i = 0; i < rows; i++) {
            __m512 x[4];
            load_row(x, tile.x + i * tile.row_stride, k - s * TILE_K);
            _mm512_storeu_si512(
                out.to + i * out.row_stride,
                _mm512_xor_si512(quantize_row(x, inverses[i]), _mm512_set1_epi8((char)form)));
        }
        for (size_t i = rows; i < TILE_ROWS; i++)
            _mm512_storeu_si512(out.to + i * out.row_stride, _mm512_setzero_si512());
    }
}

/* The destination that consists of every `step`-th tile of an array. */
SV_INLINE int8_destination int8_tiles(amx_tile *tiles, size_t step)
{
    return (int8_destination){(char *)tiles, sizeof *tiles->rows, step * sizeof *tiles};
}

/* 128 times the column sums of the tiles of 16 columns of B. */
SV_INLINE __m512i int8_zero_points(const amx_tile *tiles, size_t count)
{
    __m512i sum = _mm512_setzero_si512();
    for (size_t s = 0; s < count; s++)
        for (size_t i = 0; i < TILE_ROWS; i++) {
            __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), tiles[s].rows[i]);
            sum = _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
        }
    return _mm512_slli_epi32(sum, 7);
}

/* Packs one K block of 16 columns of B, with their scales and zero points. */
SV_INLINE void int8_pack_columns(amx_tile *tiles, float scales[TILE_ROWS],
                                 int32_t zero_points[TILE_ROWS], const amx_source *source)
{
    size_t k = source->k < KC ? source->k : KC;
    size_t count = (k + TILE_K - 1) / TILE_K;
    int8_quantize(int8_tiles(tiles, 1), scales, source, INT8_SIGNED);
    for (size_t s = 0; s < count; s++)
        transpose_tile(&tiles[s]);
    _mm512_storeu_si512(zero_points, int8_zero_points(tiles, count));
}

#endif
