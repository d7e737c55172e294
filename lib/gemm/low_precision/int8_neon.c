/* The int8 backends of 64-bit Arm, compiled twice: SDOT adds the products of four steps of k to
 * each sum; SMMLA, where the file is compiled for it, those of eight steps to 2 x 2 sums. The sums
 * are exact, so the bits are those of every int8 backend. */
#define SV_INTEGER_SUMS
#if defined(__ARM_FEATURE_MATMUL_INT8)
enum { INTERLEAVE = 4, TOGETHER = 2, PADDING = 2 };
#else
enum { INTERLEAVE = 4, TOGETHER = 1, PADDING = 1 };
#endif
#include "gemm/low_precision/int8_columns_impl.h"

#if defined(__ARM_FEATURE_MATMUL_INT8)
#define GEMM sv_gemm_i8mm_int8
#define NAME "i8mm-int8"
TILE_MATRIX_MICROKERNELS(int8, SV_PACKED_INT8X8)
static const tile_microkernels MICROKERNELS[] = TILE_MATRIX_LIST(int8);
#else
#define GEMM sv_gemm_dotprod_int8
#define NAME "dotprod-int8"
TILE_MICROKERNELS(int8, SV_PACKED_INT8X4_SIGNED)
static const tile_microkernels MICROKERNELS[] = TILE_MICROKERNEL_LIST(int8);
#endif

/* Packs row i of a block of A, `depth` steps of one K block, in groups of the steps that lie
 * together; those of TOGETHER rows alternate. Returns the row's scale. */
static float pack_row(int8_t *to, const float *x, size_t depth)
{
    enum { GROUP = INTERLEAVE * TOGETHER };
    int16_t quantized[KC];
    const size_t padded = padded_steps(depth);
    const float scale = quantize((char *)quantized, x, depth, padded);
    store_groups(to, GROUP * TOGETHER, GROUP, quantized, padded);
    return scale;
}

/* Packs a block of A: lanes[rows, k / 4], an odd last row beside zeros if two rows lie together. */
static dot_packed_a pack_a_block(float *lanes, float *scales, const sv_gemm_a *a,
                                 const dot_a_block *block, size_t k)
{
    const size_t width = sv_size_min(block->depth, k - block->p);
    const size_t stride = padded_steps(width) / INTERLEAVE;
    const dot_packed_a packed = {lanes, scales, stride, TOGETHER, block->rows};
    const size_t odd = block->rows % TOGETHER;
    if (odd)
        memset(lanes + (block->rows - odd) * stride, 0, TOGETHER * stride * sizeof *lanes);
    for (size_t p = 0; p < width; p += KC, scales += block->rows)
        for (size_t i = 0; i < block->rows; i++) {
            const float *from = a->a + (block->i + i) * a->row_stride + block->p + p;
            const size_t before = i / TOGETHER * TOGETHER, within = i % TOGETHER;
            float *to = lanes + before * stride + (p / INTERLEAVE + within) * TOGETHER;
            scales[i] = pack_row((int8_t *)to, from, sv_size_min(width - p, KC));
        }
    return packed;
}

static const dot_type INT8 = {.interleave = INTERLEAVE,
                              .lane_multiple = PADDING,
                              .lane_bytes = 4,
                              .kc_lanes = KC / INTERLEAVE,
                              .header_words = 1,
                              .pack_b = pack_b_panel,
                              .pack_a = pack_a_block,
                              .microkernels = MICROKERNELS};

SV_DOT_BACKEND_FUNCTIONS(neon_int8, INT8)
SV_DOT_PACK_A_FUNCTIONS(neon_int8, INT8)

const sv_gemm GEMM = {
    .name = NAME,
    .packed_b_bytes = neon_int8_packed_b_bytes,
    .pack_b = neon_int8_pack_b,
    .matmul = neon_int8_matmul,
    .activations = &sv_gemm_tile,
    .packed_a_bytes = neon_int8_packed_a_bytes,
    .pack_a = neon_int8_pack_a,
};
