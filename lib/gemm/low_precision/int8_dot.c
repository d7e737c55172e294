/* The AVX-512 backend of int8: VPDPBUSD adds the products of four steps of k to each sum. The sums
 * are exact, so the bits are those of AMX. */
#define SV_INTEGER_SUMS
#include "gemm/low_precision/dot_backend_impl.h"
#include "gemm/low_precision/int8_pack_impl.h"

enum { INTERLEAVE = 4 };

TILE_MICROKERNELS(int8x4, SV_PACKED_INT8X4)
static const tile_microkernels MICROKERNELS[] = TILE_MICROKERNEL_LIST(int8x4);

/* Stores columns first..first+15 of a micropanel, from their tiles: the header is the scales and
 * the zero points, and the rows of the tiles are the lanes of k. */
static void store_columns(const dot_panel *panel, size_t first, const amx_tile *tiles, size_t count,
                          const float scales[TILE_ROWS], const int32_t zero_points[TILE_ROWS])
{
    float *to = panel->words + first;
    memcpy(to, scales, TILE_ROWS * sizeof *scales);
    memcpy(to + panel->lanes, zero_points, TILE_ROWS * sizeof *zero_points);
    for (size_t s = 0; s < count; s++)
        for (size_t q = 0; q < TILE_ROWS; q++)
            _mm512_storeu_si512(to + (2 + s * TILE_ROWS + q) * panel->lanes, tiles[s].rows[q]);
}

static void pack_b_panel(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p)
{
    amx_tile tiles[K_BLOCK_TILES];
    float scales[TILE_ROWS];
    int32_t zero_points[TILE_ROWS];
    size_t depth = sv_size_min(b->k - p, KC), count = (depth + TILE_K - 1) / TILE_K;
    for (size_t j = 0; j < panel->lanes; j += TILE_ROWS) {
        size_t width = j < panel->width ? panel->width - j : 0;
        amx_source source = {b->b + (first + j) * b->column_stride + p * b->row_stride,
                             b->column_stride, b->row_stride, width, depth};
        int8_pack_columns(tiles, scales, zero_points, &source);
        store_columns(panel, j, tiles, count, scales, zero_points);
    }
}

/* Packs a block of A as uint8: lanes[rows, k / 4], k padded to whole tiles. */
static dot_packed_a pack_a_block(float *lanes, float *scales, const sv_gemm_a *a,
                                 const dot_a_block *block, size_t k)
{
    dot_packed_a packed = {lanes, scales, dot_round_up(block->depth, TILE_K) / INTERLEAVE, 1,
                           block->rows};
    for (size_t p = 0; p < block->depth; p += KC, scales += block->rows)
        for (size_t i = 0; i < block->rows; i += TILE_ROWS) {
            size_t step = block->p + p, count = sv_size_min(block->rows - i, TILE_ROWS);
            amx_source source = {a->a + (block->i + i) * a->row_stride + step * a->column_stride,
                                 a->row_stride, a->column_stride, count, k - step};
            int8_destination to = {(char *)(lanes + i * packed.row_stride) + p,
                                   packed.row_stride * INTERLEAVE, TILE_K};
            float row_scales[TILE_ROWS];
            int8_quantize(to, row_scales, &source, INT8_PLUS_128);
            memcpy(scales + i, row_scales, count * sizeof *row_scales);
        }
    return packed;
}

static const dot_type INT8X4 = {.interleave = INTERLEAVE,
                                .lane_multiple = TILE_ROWS,
                                .lane_bytes = 4,
                                .kc_lanes = KC / INTERLEAVE,
                                .header_words = 2,
                                .pack_b = pack_b_panel,
                                .pack_a = pack_a_block,
                                .microkernels = MICROKERNELS};

SV_DOT_BACKEND_FUNCTIONS(vnni_int8, INT8X4)
SV_DOT_PACK_A_FUNCTIONS(vnni_int8, INT8X4)

const sv_gemm sv_gemm_vnni_int8 = {
    .name = "vnni-int8",
    .packed_b_bytes = vnni_int8_packed_b_bytes,
    .pack_b = vnni_int8_pack_b,
    .matmul = vnni_int8_matmul,
    .activations = &sv_gemm_tile,
    .packed_a_bytes = vnni_int8_packed_a_bytes,
    .pack_a = vnni_int8_pack_a,
};
