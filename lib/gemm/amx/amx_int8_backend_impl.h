/* The driver of the AMX backend of int8: packing, and the loops around the microkernel, which
 * computes 32 x 32 sums of one K block. A C file that includes this header defines its microkernel,
 * and its functions by SV_INT8_BACKEND_FUNCTIONS. The sums are exact, so the bits are those of
 * VNNI. */
#ifndef SV_AMX_INT8_BACKEND_IMPL_H
#define SV_AMX_INT8_BACKEND_IMPL_H

#include "gemm/gemm.h"
#include "gemm/low_precision/int8_pack_impl.h"

/* A micropanel of packed B: one K block of 16 columns. */
typedef struct int8_panel {
    float scales[TILE_ROWS];
    int32_t zero_points[TILE_ROWS];
    amx_tile tiles[];
} int8_panel;

/* A micropanel of packed A: one K block of MR rows, tiles[k / 64, 2]. */
typedef struct int8_packed_a {
    amx_tile tiles[2 * K_BLOCK_TILES];
    float scales[MR];
} int8_packed_a;

/* sums[32, 32] = A B for `steps` tiles along k. `a` has two tiles of 16 rows for each step, `first`
 * and `second` have one tile of 16 columns of B each. With 16 `rows` or fewer, only the first 16
 * rows of the sums are written. */
typedef void int8_microkernel(int32_t *sums, const amx_tile *a, const amx_tile *first,
                              const amx_tile *second, size_t steps, size_t rows);

/* Tiles along k that hold `depth` elements of k; a tile holds TILE_K of them. */
static size_t int8_k_tiles(size_t depth)
{
    return (depth + TILE_K - 1) / TILE_K;
}

static size_t int8_panel_bytes(size_t depth)
{
    return sizeof(int8_panel) + int8_k_tiles(depth) * sizeof(amx_tile);
}

/* Steps of the K block that starts at step p. */
static size_t int8_block_depth(size_t k, size_t p)
{
    return k - p < KC ? k - p : KC;
}

static size_t int8_panel_count(size_t columns)
{
    return (columns + TILE_ROWS - 1) / TILE_ROWS;
}

static size_t int8_packed_b_bytes(size_t k, size_t n)
{
    size_t bytes = 0;
    for (size_t p = 0; p < k; p += KC)
        bytes += int8_panel_count(n) * int8_panel_bytes(int8_block_depth(k, p));
    return bytes;
}

/* packed[k / 1024, n / 16] of int8_panel */
static void int8_pack_b(const sv_gemm_b *b)
{
    char *to = b->packed;
    for (size_t p = 0; p < b->k; p += KC)
        for (size_t j = 0; j < b->n; j += TILE_ROWS) {
            amx_source source = {b->b + j * b->column_stride + p * b->row_stride, b->column_stride,
                                 b->row_stride, b->n - j, b->k - p};
            int8_panel *panel = (int8_panel *)(void *)to;
            int8_pack_columns(panel->tiles, panel->scales, panel->zero_points, &source);
            to += int8_panel_bytes(int8_block_depth(b->k, p));
        }
}

/* Packs rows i..i+rows-1 of A, at most MR, of the K block from step p. */
static void int8_pack_row_block(int8_packed_a *packed, const sv_gemm_a *a, size_t i, size_t rows,
                                size_t p, size_t k)
{
    amx_source source = {a->a + i * a->row_stride + p * a->column_stride, a->row_stride,
                         a->column_stride, rows, k - p};
    int8_quantize(int8_tiles(packed->tiles, 2), packed->scales, &source, INT8_PLUS_128);
    if (rows <= TILE_ROWS)
        return;
    source.x += TILE_ROWS * a->row_stride;
    source.rows -= TILE_ROWS;
    int8_quantize(int8_tiles(packed->tiles + 1, 2), packed->scales + TILE_ROWS, &source,
                  INT8_PLUS_128);
}

static size_t int8_packed_a_bytes(size_t m, size_t k)
{
    return (m + MR - 1) / MR * ((k + KC - 1) / KC) * sizeof(int8_packed_a);
}

/* packed[k / 1024, m / 32] of int8_packed_a */
static void int8_pack_a(const sv_gemm_a *a, size_t m, size_t k, void *packed)
{
    int8_packed_a *to = packed;
    for (size_t p = 0; p < k; p += KC)
        for (size_t i = 0; i < m; i += MR)
            int8_pack_row_block(to++, a, i, sv_size_min(m - i, MR), p, k);
}

/* c[rows, j..] = bias + (or c +) (sums - zero point) * scale of the column * scale of the row, for
 * the columns of one micropanel of B, at most 16. */
SV_INLINE void int8_dequantize(const sv_gemm_c *c, size_t j, const int32_t *sums,
                               const int8_panel *panel, const float *row_scales, size_t rows,
                               size_t columns)
{
    float *to = c->c + j;
    __mmask16 lanes = v_first_mask(columns);
    __m512i zero_point = _mm512_loadu_si512(panel->zero_points);
    __m512 scale = _mm512_loadu_ps(panel->scales), bias = _mm512_setzero_ps();
    if (c->bias)
        bias = _mm512_maskz_loadu_ps(lanes, c->bias + j);
    for (size_t i = 0; i < rows; i++, to += c->ldc, sums += NR) {
        __m512i sum = _mm512_sub_epi32(_mm512_loadu_si512(sums), zero_point);
        __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
        __m512 before = c->accumulate ? _mm512_maskz_loadu_ps(lanes, to) : bias;
        _mm512_mask_storeu_ps(to, lanes,
                              _mm512_fmadd_ps(value, _mm512_set1_ps(row_scales[i]), before));
    }
}

/* Computes c[rows, first..end-1] for one K block of `depth` steps, whose micropanels of B start at
 * `panels`. */
SV_INLINE void int8_multiply_row_block(const sv_gemm_c *c, size_t rows, const int8_packed_a *a,
                                       const char *panels, size_t depth, size_t first, size_t end,
                                       int8_microkernel *microkernel)
{
    int32_t sums[MR * NR] __attribute__((aligned(64)));
    size_t bytes = int8_panel_bytes(depth), steps = int8_k_tiles(depth);
    for (size_t j = first; j < end; j += NR) {
        const int8_panel *one = (const void *)(panels + j / TILE_ROWS * bytes);
        const int8_panel *two =
            j + TILE_ROWS < end ? (const void *)((const char *)one + bytes) : one;
        microkernel(sums, a->tiles, one->tiles, two->tiles, steps, rows);
        int8_dequantize(c, j, sums, one, a->scales, rows, end - j);
        if (two != one)
            int8_dequantize(c, j + TILE_ROWS, sums + TILE_ROWS, two, a->scales, rows,
                            end - j - TILE_ROWS);
    }
}

/* c[m, first..first+count-1] = bias + (or c +) a[m, k] b[k, the same columns]. Each element is
 * summed in the order of k, whatever m, first and count are. */
SV_INLINE void int8_matmul(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                           const sv_gemm_b *b, size_t m, size_t first, size_t count,
                           int8_microkernel *microkernel)
{
    int8_packed_a local;
    const int8_packed_a *packed = a->packed;
    const char *panels = b->packed;
    for (size_t p = 0; p < b->k; p += KC) {
        size_t depth = int8_block_depth(b->k, p);
        for (size_t i = 0; i < m; i += MR) {
            sv_gemm_c rows_of_c = {c->c + i * c->ldc, c->ldc, c->accumulate || p > 0, c->bias,
                                   NULL};
            size_t rows = m - i < MR ? m - i : MR;
            if (!packed)
                int8_pack_row_block(&local, a, i, rows, p, b->k);
            int8_multiply_row_block(&rows_of_c, rows, packed ? packed++ : &local, panels, depth,
                                    first, first + count, microkernel);
            if (p + depth == b->k)
                sv_gemm_apply_epilogue(kernels, c, i, rows, first, count);
        }
        panels += int8_panel_count(b->n) * int8_panel_bytes(depth);
    }
}

/* Defines the functions of a backend. start() and stop() enclose its microkernel's calls. */
#define SV_INT8_BACKEND_FUNCTIONS(symbol, microkernel, start, stop)                                \
    static size_t symbol##_packed_b_bytes(const sv_kernels *kernels, size_t k, size_t n)           \
    {                                                                                              \
        (void)kernels;                                                                             \
        return int8_packed_b_bytes(k, n);                                                          \
    }                                                                                              \
    static void symbol##_pack_b(const sv_kernels *kernels, const sv_gemm_b *b)                     \
    {                                                                                              \
        (void)kernels;                                                                             \
        int8_pack_b(b);                                                                            \
    }                                                                                              \
    static void symbol##_matmul(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a, \
                                const sv_gemm_b *b, size_t m, size_t first, size_t count)          \
    {                                                                                              \
        start();                                                                                   \
        int8_matmul(kernels, c, a, b, m, first, count, microkernel);                               \
        stop();                                                                                    \
    }

#endif
