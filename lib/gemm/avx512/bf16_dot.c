/* Products in bfloat16 by the vector unit's dot products of pairs. Where the rows of a side lie
 * along memory, no number changes its lane. */
#include "gemm/avx512/bf16.h"
#include "gemm/avx512/dot_backend_impl.h"

enum { PAIR = 2, CUT_PAIRS = 192 };

TILE_MICROKERNELS(bf16x2, SV_PACKED_BF16X2)
TILE_COLUMN_MAJOR_MICROKERNELS(bf16x2, SV_PACKED_BF16X2)
static const tile_microkernels MICROKERNELS[] = TILE_MICROKERNEL_LIST(bf16x2);
static const tile_microkernels COLUMN_MAJOR[] = TILE_COLUMN_MAJOR_LIST(bf16x2);

/* Up to 16 pairs of numbers that lie along memory. */
SV_INLINE __m512i load_pairs(const float *from, size_t count)
{
    size_t second = count > LANES ? count - LANES : 0;
    return (__m512i)_mm512_cvtne2ps_pbh(v_load_some(from + LANES, second),
                                        v_load_some(from, count));
}

/* A pair of each of up to 16 lines, whose numbers lie `step` apart; with `count` 1 the second one
 * is 0. */
SV_INLINE __m512i load_lines(const float *from, size_t step, size_t lines, size_t count)
{
    return round_pairs(v_load_some(from, lines),
                       count > 1 ? v_load_some(from + step, lines) : (vreal){0});
}

/* Pairs of a panel, of b's columns along memory. */
static void pack_rows(const dot_panel *panel, const float *b, size_t row, size_t k)
{
    float *to = panel->words;
    for (size_t p = 0; p < k; p += PAIR, b += PAIR * row)
        for (size_t j = 0; j < panel->lanes; j += LANES, to += LANES) {
            size_t width = j < panel->width ? panel->width - j : 0;
            _mm512_store_si512(to, load_lines(b + j, row, width, k - p));
        }
}

/* The same of 16 columns from number `first` with k along memory: 16 pairs of each are turned at
 * once. */
static void pack_columns(const dot_panel *panel, size_t first, const float *b, size_t column,
                         size_t k)
{
    float *to = panel->words + first;
    for (size_t p = 0; p < k; p += PAIR * LANES) {
        vreal block[LANES];
        for (size_t j = 0; j < LANES; j++)
            block[j] = (vreal)(first + j < panel->width ? load_pairs(b + j * column + p, k - p)
                                                        : _mm512_setzero_si512());
        v_transpose(block);
        for (size_t i = 0; i < LANES && p + PAIR * i < k; i++, to += panel->lanes)
            v_store(to, block[i]);
    }
}

static void pack_pairs(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p)
{
    const float *from = b->b + first * b->column_stride + p * b->row_stride;
    const size_t k = sv_size_min(b->k - p, CUT_PAIRS * PAIR);
    if (b->column_stride == 1)
        pack_rows(panel, from, b->row_stride, k);
    else
        for (size_t j = 0; j < panel->lanes; j += LANES)
            pack_columns(panel, j, from + j * b->column_stride, b->column_stride, k);
}

/* As the matrix lies: whole vectors of a row's pairs, or of the rows' numbers of a pair. */
static dot_left make_pairs(float *lanes, float *factors, const sv_gemm_a *a, const dot_part *part,
                           size_t k)
{
    const float *from = a->a + part->i * a->row_stride + part->p * a->column_stride;
    const size_t pairs = (part->depth + 1) / PAIR, here = k - part->p;
    if (a->column_stride == 1) {
        dot_left left = {lanes, factors, dot_rounded(pairs, LANES), 1, 0};
        for (size_t r = 0; r < part->rows; r++, lanes += left.row, from += a->row_stride)
            for (size_t q = 0; q < pairs; q += LANES)
                _mm512_storeu_si512(lanes + q, load_pairs(from + PAIR * q, here - PAIR * q));
        return left;
    }
    dot_left left = {lanes, factors, 1, dot_rounded(part->rows, LANES), 0};
    for (size_t q = 0; q < pairs; q++, lanes += left.column, from += PAIR * a->column_stride)
        for (size_t r = 0; r < part->rows; r += LANES)
            _mm512_storeu_si512(
                lanes + r, load_lines(from + r, a->column_stride, part->rows - r, here - PAIR * q));
    return left;
}

static const dot_kind PAIRS = {.numbers = PAIR,
                               .whole = 1,
                               .cut = CUT_PAIRS,
                               .header = 0,
                               .pack = pack_pairs,
                               .make = make_pairs,
                               .microkernels = MICROKERNELS,
                               .column_major = COLUMN_MAJOR};

SV_DOT_BACKEND_FUNCTIONS(dot_bf16, PAIRS)

/* A left-hand side is made so soon that each product makes its own. */
const sv_gemm sv_gemm_dot_bf16 = {
    "dot-bf16",        dot_bf16_bytes, dot_bf16_pack, dot_bf16_multiply,
    &sv_gemm_dot_bf16, NULL,           NULL,          false};
