/* The bfloat16 backend of 64-bit Arm: BFMMLA adds the products of four steps of k to 2 x 2 sums.
 * Two lanes of a column, and of two rows of A, lie together (bf16x4). */
#include "gemm/low_precision/dot_backend_impl.h"
#include "kernels/transpose.h"

/* Lanes of two steps, of which two are one group of BFMMLA. */
enum { INTERLEAVE = 2, TOGETHER = 2, STEPS = INTERLEAVE * TOGETHER, GROUP_BYTES = 2 * STEPS };
enum { KC_LANES = 192 };

TILE_MATRIX_MICROKERNELS(bf16x4, SV_PACKED_BF16X4)
static const tile_microkernels MICROKERNELS[] = TILE_MATRIX_LIST(bf16x4);

/* Rows of A or columns of B: element (i, p) at x[i * row_stride + p * k_stride]. */
typedef struct bf16_source {
    const float *x;
    size_t row_stride, k_stride, rows, k;
} bf16_source;

/* block[i] = STEPS steps of row i, of LANES rows from row i and step p on; 0 past the source's
 * end. */
static void load_block(vreal block[LANES], const bf16_source *from, size_t i, size_t p)
{
    const float *x = from->x + i * from->row_stride + p * from->k_stride;
    const size_t rows = i < from->rows ? from->rows - i : 0, k = from->k - p;
    for (size_t lane = 0; lane < LANES; lane++)
        if (from->k_stride == 1)
            block[lane] = lane < rows ? v_load_some(x + lane * from->row_stride, k) : (vreal){0};
        else
            block[lane] = lane < k ? v_load_some(x + lane * from->k_stride, rows) : (vreal){0};
    if (from->k_stride != 1)
        v_transpose(block);
}

/* Packs LANES rows from row i on, but none past `packed_rows`. The groups of two rows lie together;
 * from one pair of rows to the next are pair_stride bytes, and from one group of steps to the next
 * group_stride. */
static void pack_rows(char *to, size_t pair_stride, size_t group_stride, const bf16_source *from,
                      size_t i, size_t packed_rows)
{
    const size_t rows = sv_size_min(packed_rows - i, LANES);
    for (size_t p = 0; p < from->k; p += STEPS, to += group_stride) {
        vreal block[LANES];
        load_block(block, from, i, p);
        for (size_t row = 0; row < rows; row++)
            vst1_bf16((bfloat16_t *)(void *)(to + row / 2 * pair_stride + row % 2 * GROUP_BYTES),
                      vcvt_bf16_f32((float32x4_t)block[row]));
    }
}

static void pack_b_panel(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p)
{
    const bf16_source from = {b->b + first * b->column_stride + p * b->row_stride, b->column_stride,
                              b->row_stride, panel->width,
                              sv_size_min(b->k - p, KC_LANES * INTERLEAVE)};
    for (size_t j = 0; j < panel->lanes; j += LANES)
        pack_rows((char *)panel->words + j * GROUP_BYTES, 2 * GROUP_BYTES,
                  panel->lanes * GROUP_BYTES, &from, j, panel->lanes);
}

/* Packs a block of A: lanes[rows, k / 2], an odd last row beside zeros. */
static dot_packed_a pack_a_block(float *lanes, float *scales, const sv_gemm_a *a,
                                 const dot_a_block *block, size_t k)
{
    const size_t width = sv_size_min(block->depth, k - block->p);
    const size_t stride = dot_round_up(width, STEPS) / INTERLEAVE;
    const dot_packed_a packed = {lanes, scales, stride, TOGETHER, 0};
    const bf16_source from = {a->a + block->i * a->row_stride + block->p * a->column_stride,
                              a->row_stride, a->column_stride, block->rows, width};
    for (size_t i = 0; i < block->rows; i += LANES)
        pack_rows((char *)(lanes + i * stride), 2 * stride * sizeof *lanes, 2 * GROUP_BYTES, &from,
                  i, dot_round_up(block->rows, 2));
    return packed;
}

static const dot_type BF16X4 = {.interleave = INTERLEAVE,
                                .lane_multiple = TOGETHER,
                                .lane_bytes = 4,
                                .kc_lanes = KC_LANES,
                                .header_words = 0,
                                .pack_b = pack_b_panel,
                                .pack_a = pack_a_block,
                                .microkernels = MICROKERNELS};

SV_DOT_BACKEND_FUNCTIONS(neon_bf16, BF16X4)

/* Packing A takes so little time that each matmul packs its own. */
const sv_gemm sv_gemm_neon_bf16 = {
    .name = "neon-bf16",
    .packed_b_bytes = neon_bf16_packed_b_bytes,
    .pack_b = neon_bf16_pack_b,
    .matmul = neon_bf16_matmul,
    .activations = &sv_gemm_neon_bf16,
};
