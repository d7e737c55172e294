/* The AVX-512 backend of bfloat16: VDPBF16PS adds the products of two steps of k to each sum. Lane
 * q holds steps 2 q and 2 q + 1 of k (bf16x2). */
#include "gemm/low_precision/bf16_pack_impl.h"
#include "gemm/low_precision/dot_backend_impl.h"

enum { INTERLEAVE = 2, KC_LANES = 192 };

TILE_MICROKERNELS(bf16x2, SV_PACKED_BF16X2)
TILE_COLUMN_MAJOR_MICROKERNELS(bf16x2, SV_PACKED_BF16X2)
static const tile_microkernels MICROKERNELS[] = TILE_MICROKERNEL_LIST(bf16x2);
static const tile_microkernels COLUMN_MAJOR[] = TILE_COLUMN_MAJOR_LIST(bf16x2);

/* bf16x2 of 32 contiguous steps of k; steps from `k` on are 0. */
SV_INLINE __m512i load_contiguous_k(const float *x, size_t k)
{
    size_t second = k > LANES ? k - LANES : 0;
    return (__m512i)_mm512_cvtne2ps_pbh(v_load_some(x + LANES, second), v_load_some(x, k));
}

/* bf16x2 of two steps of k, `k_stride` apart, of 16 contiguous rows of A or columns of B. Lanes
 * from `count` on are 0, and so is the second step if k is 1. */
SV_INLINE __m512i load_two_steps(const float *x, size_t k_stride, size_t count, size_t k)
{
    return round_to_bf16x2(v_load_some(x, count),
                           k > 1 ? v_load_some(x + k_stride, count) : (vreal){0});
}

/* Packs a K block of k steps of a micropanel of b, whose rows are contiguous. */
static void pack_contiguous_rows(const dot_panel *panel, const float *b, size_t row_stride,
                                 size_t k)
{
    float *to = panel->words;
    for (size_t p = 0; p < k; p += INTERLEAVE, b += INTERLEAVE * row_stride)
        for (size_t j = 0; j < panel->lanes; j += LANES, to += LANES) {
            size_t width = j < panel->width ? panel->width - j : 0;
            _mm512_store_si512(to, load_two_steps(b + j, row_stride, width, k - p));
        }
}

/* Packs columns first..first+15 of a K block of k steps of a micropanel of b, whose columns are
 * contiguous. `b` points at column `first`; columns from panel->width on are 0. Each round
 * transposes 16 columns of 32 steps, which are 16 lanes of two. */
static void pack_contiguous_columns(const dot_panel *panel, size_t first, const float *b,
                                    size_t column_stride, size_t k)
{
    float *to = panel->words + first;
    for (size_t p = 0; p < k; p += INTERLEAVE * LANES) {
        vreal block[LANES];
        for (size_t j = 0; j < LANES; j++)
            block[j] = (vreal)(first + j < panel->width
                                   ? load_contiguous_k(b + j * column_stride + p, k - p)
                                   : _mm512_setzero_si512());
        v_transpose(block);
        for (size_t i = 0; i < LANES && p + INTERLEAVE * i < k; i++, to += panel->lanes)
            v_store(to, block[i]);
    }
}

static void pack_b_panel(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p)
{
    const float *from = b->b + first * b->column_stride + p * b->row_stride;
    const size_t k = sv_size_min(b->k - p, KC_LANES * INTERLEAVE);
    if (b->column_stride == 1)
        pack_contiguous_rows(panel, from, b->row_stride, k);
    else
        for (size_t j = 0; j < panel->lanes; j += LANES)
            pack_contiguous_columns(panel, j, from + j * b->column_stride, b->column_stride, k);
}

/* Packs a block of A in the order in which A lies in memory: lanes[rows, k / 2] if k is contiguous,
 * else lanes[k / 2, rows]. */
static dot_packed_a pack_a_block(float *lanes, float *scales, const sv_gemm_a *a,
                                 const dot_a_block *block, size_t k)
{
    const float *from = a->a + block->i * a->row_stride + block->p * a->column_stride;
    const size_t k_lanes = (block->depth + 1) / INTERLEAVE, k_left = k - block->p;
    if (a->column_stride == 1) {
        dot_packed_a packed = {lanes, scales, dot_round_up(k_lanes, LANES), 1, 0};
        for (size_t i = 0; i < block->rows; i++, lanes += packed.row_stride, from += a->row_stride)
            for (size_t q = 0; q < k_lanes; q += LANES)
                _mm512_storeu_si512(
                    lanes + q, load_contiguous_k(from + INTERLEAVE * q, k_left - INTERLEAVE * q));
        return packed;
    }
    dot_packed_a packed = {lanes, scales, 1, dot_round_up(block->rows, LANES), 0};
    for (size_t q = 0; q < k_lanes;
         q++, lanes += packed.lane_stride, from += INTERLEAVE * a->column_stride)
        for (size_t i = 0; i < block->rows; i += LANES)
            _mm512_storeu_si512(lanes + i,
                                load_two_steps(from + i, a->column_stride, block->rows - i,
                                               k_left - INTERLEAVE * q));
    return packed;
}

static const dot_type BF16X2 = {.interleave = INTERLEAVE,
                                .lane_multiple = 1,
                                .lane_bytes = 4,
                                .kc_lanes = KC_LANES,
                                .header_words = 0,
                                .pack_b = pack_b_panel,
                                .pack_a = pack_a_block,
                                .microkernels = MICROKERNELS,
                                .column_major = COLUMN_MAJOR};

SV_DOT_BACKEND_FUNCTIONS(dot_bf16, BF16X2)

/* Packing A takes so little time that each matmul packs its own. */
const sv_gemm sv_gemm_dot_bf16 = {
    .name = "dot-bf16",
    .packed_b_bytes = dot_bf16_packed_b_bytes,
    .pack_b = dot_bf16_pack_b,
    .matmul = dot_bf16_matmul,
    .activations = &sv_gemm_dot_bf16,
};
