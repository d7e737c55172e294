/* Products of units of bytes, but for the sums themselves: packing, and the walk over blocks of
 * 32 x 32 sums. A file that includes this defines the sums for its instruction set, and a backend
 * by SV_INT8_BACKEND. The sums are exact, so every instruction set gives the same bits. */
#ifndef SV_INT8_PRODUCT_H
#define SV_INT8_PRODUCT_H

#include "gemm/avx512/int8.h"
#include "gemm/gemm.h"

/* Before the units of 16 columns and one cut. */
typedef struct int8_panel {
    float factors[UNIT];
    int32_t offsets[UNIT]; /* what left's 128 adds to a sum */
    unit_rows units[];
} int8_panel;

/* A left-hand side's rows and one cut; `left` has two units of rows for each one of k. */
typedef struct int8_left {
    unit_rows units[2 * CUT_UNITS];
    float factors[BLOCK];
} int8_left;

/* sums[rows, 32] of left and of `steps` units of two panels. */
typedef void int8_sums(int32_t *sums, const unit_rows *left, const unit_rows *first,
                       const unit_rows *second, size_t steps, size_t rows);

static size_t int8_steps(size_t depth)
{
    return (depth + UNIT_BYTES - 1) / UNIT_BYTES;
}

static size_t int8_panel_bytes(size_t depth)
{
    return sizeof(int8_panel) + int8_steps(depth) * sizeof(unit_rows);
}

static size_t int8_cut(size_t k, size_t p)
{
    return k - p < CUT ? k - p : CUT;
}

static size_t int8_panels(size_t columns)
{
    return (columns + UNIT - 1) / UNIT;
}

static size_t int8_packed_bytes(size_t k, size_t n)
{
    size_t bytes = 0;
    for (size_t p = 0; p < k; p += CUT)
        bytes += int8_panels(n) * int8_panel_bytes(int8_cut(k, p));
    return bytes;
}

/* packed[k / 1024, n / 16] of panels */
static void int8_pack(const sv_gemm_b *b)
{
    char *to = b->packed;
    for (size_t p = 0; p < b->k; p += CUT)
        for (size_t j = 0; j < b->n; j += UNIT) {
            unit_source from = {b->b + j * b->column_stride + p * b->row_stride, b->column_stride,
                                b->row_stride, b->n - j, b->k - p};
            int8_panel *panel = (int8_panel *)(void *)to;
            int8_make_columns(panel->units, panel->factors, panel->offsets, &from);
            to += int8_panel_bytes(int8_cut(b->k, p));
        }
}

static void int8_make_left(int8_left *left, const sv_gemm_a *a, size_t i, size_t rows, size_t p,
                           size_t k)
{
    unit_source from = {a->a + i * a->row_stride + p * a->column_stride, a->row_stride,
                        a->column_stride, rows, k - p};
    int8_make(int8_units(left->units, 2), left->factors, &from, 0x80);
    if (rows <= UNIT)
        return;
    from.x += UNIT * a->row_stride;
    from.lines -= UNIT;
    int8_make(int8_units(left->units + 1, 2), left->factors + UNIT, &from, 0x80);
}

static size_t int8_left_bytes(size_t m, size_t k)
{
    return (m + BLOCK - 1) / BLOCK * ((k + CUT - 1) / CUT) * sizeof(int8_left);
}

/* made[k / 1024, m / 32] */
static void int8_make_lefts(const sv_gemm_a *a, size_t m, size_t k, void *made)
{
    int8_left *to = made;
    for (size_t p = 0; p < k; p += CUT)
        for (size_t i = 0; i < m; i += BLOCK)
            int8_make_left(to++, a, i, sv_size_min(m - i, BLOCK), p, k);
}

/* c[rows, j..] = bias + or += (sums - offsets) * the panel's factors * the rows' factors; at most
 * 16 columns */
SV_INLINE void int8_put(const sv_gemm_c *c, size_t j, const int32_t *sums, const int8_panel *panel,
                        const float *factors, size_t rows, size_t columns)
{
    float *to = c->c + j;
    __mmask16 lanes = v_first_mask(columns);
    __m512i offset = _mm512_loadu_si512(panel->offsets);
    __m512 factor = _mm512_loadu_ps(panel->factors), bias = _mm512_setzero_ps();
    if (c->bias)
        bias = _mm512_maskz_loadu_ps(lanes, c->bias + j);
    for (size_t i = 0; i < rows; i++, to += c->ldc, sums += BLOCK) {
        __m512i sum = _mm512_sub_epi32(_mm512_loadu_si512(sums), offset);
        __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), factor);
        __m512 before = c->accumulate ? _mm512_maskz_loadu_ps(lanes, to) : bias;
        _mm512_mask_storeu_ps(to, lanes,
                              _mm512_fmadd_ps(value, _mm512_set1_ps(factors[i]), before));
    }
}

/* c[rows, first..end-1] of left and the panels of these columns */
SV_INLINE void int8_add_rows(const sv_gemm_c *c, size_t rows, const int8_left *left,
                             const char *panels, size_t depth, size_t first, size_t end,
                             int8_sums *sums)
{
    int32_t made[BLOCK * BLOCK] __attribute__((aligned(64)));
    size_t bytes = int8_panel_bytes(depth), steps = int8_steps(depth);
    for (size_t j = first; j < end; j += BLOCK) {
        const int8_panel *one = (const void *)(panels + j / UNIT * bytes);
        const int8_panel *two = j + UNIT < end ? (const void *)((const char *)one + bytes) : one;
        sums(made, left->units, one->units, two->units, steps, rows);
        int8_put(c, j, made, one, left->factors, rows, end - j);
        if (two != one)
            int8_put(c, j + UNIT, made + UNIT, two, left->factors, rows, end - j - UNIT);
    }
}

/* c[m, first..first+count-1] of a[m,k] b[k, the same columns]. Every element is summed in the
 * order of k, whatever m, first and count are. */
SV_INLINE void int8_multiply(const sv_kernels *kernels, const sv_gemm_c *c, const sv_gemm_a *a,
                             const sv_gemm_b *b, size_t m, size_t first, size_t count,
                             int8_sums *sums)
{
    int8_left own;
    const int8_left *made = a->packed;
    const char *panels = b->packed;
    for (size_t p = 0; p < b->k; p += CUT) {
        size_t depth = int8_cut(b->k, p);
        for (size_t i = 0; i < m; i += BLOCK) {
            sv_gemm_c rows_of_c = {c->c + i * c->ldc, c->ldc, c->accumulate || p > 0, c->bias,
                                   NULL};
            size_t rows = m - i < BLOCK ? m - i : BLOCK;
            if (!made)
                int8_make_left(&own, a, i, rows, p, b->k);
            int8_add_rows(&rows_of_c, rows, made ? made++ : &own, panels, depth, first,
                          first + count, sums);
            if (p + depth == b->k)
                sv_gemm_apply_epilogue(kernels, c, i, rows, first, count);
        }
        panels += int8_panels(b->n) * int8_panel_bytes(depth);
    }
}

/* A backend. begin() and end() stand around its sums. */
#define SV_INT8_BACKEND(symbol, text, sums, begin, end, activations)                               \
    static size_t symbol##_bytes(const sv_kernels *kernels, size_t k, size_t n)                    \
    {                                                                                              \
        (void)kernels;                                                                             \
        return int8_packed_bytes(k, n);                                                            \
    }                                                                                              \
    static void symbol##_pack(const sv_kernels *kernels, const sv_gemm_b *operand)                 \
    {                                                                                              \
        (void)kernels;                                                                             \
        int8_pack(operand);                                                                        \
    }                                                                                              \
    static void symbol##_multiply(const sv_kernels *kernels, const sv_gemm_c *c,                   \
                                  const sv_gemm_a *a, const sv_gemm_b *b, size_t m, size_t first,  \
                                  size_t count)                                                    \
    {                                                                                              \
        begin();                                                                                   \
        int8_multiply(kernels, c, a, b, m, first, count, sums);                                    \
        end();                                                                                     \
    }                                                                                              \
    const sv_gemm symbol = {text,        symbol##_bytes,  symbol##_pack,   symbol##_multiply,      \
                            activations, int8_left_bytes, int8_make_lefts, false}

#endif
