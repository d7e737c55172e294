/* The int8 backend of CPUs without dot products of bytes: the products of two steps of k are added
 * to a 32-bit sum at once (PMADDWD), in integers of 16 bits, to which packed B is widened. It is
 * compiled for each instruction set. The sums are exact and the scales those of int8_pack_impl.h,
 * so the bits are those of VNNI and AMX. Plain reference: tests/unit/gemm/test_int8.c. */
#ifndef SV_DOUBLE
#define SV_INTEGER_SUMS
enum { INTERLEAVE = 2, TOGETHER = 1, PADDING = 2 }; /* padding keeps loads of packed B aligned */
#include "gemm/low_precision/int8_columns_impl.h"
#include "gemm/low_precision/pairs.h"

TILE_MICROKERNELS(int8x2, SV_PACKED_INT8X2)
static const tile_microkernels MICROKERNELS[] = TILE_MICROKERNEL_LIST(int8x2);

/* Packs a block of A: lanes[rows, k / 2], the last step of an odd k beside a zero. */
static dot_packed_a pack_a_block(float *lanes, float *scales, const sv_gemm_a *a,
                                 const dot_a_block *block, size_t k)
{
    const size_t width = sv_size_min(block->depth, k - block->p);
    const size_t stride = padded_steps(width) / INTERLEAVE;
    const dot_packed_a packed = {lanes, scales, stride, 1, block->rows};
    for (size_t p = 0; p < width; p += KC, scales += block->rows)
        for (size_t i = 0; i < block->rows; i++) {
            const size_t depth = sv_size_min(width - p, KC);
            scales[i] = quantize((char *)(lanes + i * stride + p / INTERLEAVE),
                                 a->a + (block->i + i) * a->row_stride + block->p + p, depth,
                                 padded_steps(depth));
        }
    return packed;
}

static const dot_type INT8X2 = {.interleave = INTERLEAVE,
                                .lane_multiple = PADDING,
                                .lane_bytes = 2,
                                .kc_lanes = KC / INTERLEAVE,
                                .header_words = 1,
                                .pack_b = pack_b_panel,
                                .pack_a = pack_a_block,
                                .microkernels = MICROKERNELS};

SV_DOT_BACKEND_FUNCTIONS(pairs_int8, INT8X2)
SV_DOT_PACK_A_FUNCTIONS(pairs_int8, INT8X2)

const sv_gemm SV_ISA(sv_gemm_pairs_int8) = {
    .name = "pairs-int8",
    .packed_b_bytes = pairs_int8_packed_b_bytes,
    .pack_b = pairs_int8_pack_b,
    .matmul = pairs_int8_matmul,
    .activations = &sv_gemm_tile,
    .packed_a_bytes = pairs_int8_packed_a_bytes,
    .pack_a = pairs_int8_pack_a,
};
#else
typedef int no_int8_in_double; /* a file has a declaration */
#endif
