/* The int8 backend of CPUs without dot products of bytes: the products of two steps of k are added
 * to a 32-bit sum at once (PMADDWD), in integers of 16 bits, to which packed B is widened. It is
 * compiled for each instruction set. The sums are exact and the scales those of int8_pack_impl.h, so
 * the bits are those of VNNI and AMX. Plain reference: tests/unit/test_int8.c. */
#ifndef SV_DOUBLE
#define SV_INTEGER_SUMS
#include "gemm/low_precision/dot_backend_impl.h"
#include "gemm/low_precision/pairs.h"

/* KC is that of int8_pack_impl.h. A K block of 16-bit products stays below 127 * 127 * 1024 < 2^24. */
enum { INTERLEAVE = 2, KC = 1024 };

TILE_MICROKERNELS(int8x2, SV_PACKED_INT8X2)
static const tile_microkernels MICROKERNELS[] = TILE_MICROKERNEL_LIST(int8x2);

/* The steps of a K block with those that are zeros: whole pairs of lanes. */
static size_t padded_steps(size_t depth)
{
    return dot_round_up(depth, 2 * INTERLEAVE);
}

/* LANES integers of 16 bits, at any address. */
typedef int16_t quantized_vector __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

/* The largest |x[p]| as the bits of a float, which are ordered like floats, and NaN above infinity. */
static int32_t largest_magnitude(const float *x, size_t count)
{
    vlane max = {0};
    for (size_t p = 0; p < count; p += LANES) {
        vlane bits = (vlane)v_abs(v_load_some(x + p, count - p));
        vlane more = bits > max;
        max = (bits & more) | (max & ~more);
    }
    int32_t largest = 0;
    for (size_t i = 0; i < LANES; i++)
        largest = max[i] > largest ? max[i] : largest;
    return largest;
}

/* 127 / the largest magnitude; 2^126 for magnitudes below 2^-119, for which it might overflow. */
static float inverse_scale(int32_t bits)
{
    float largest;
    memcpy(&largest, &bits, sizeof largest);
    return largest < 0x1p-119f ? 0x1p126f : 127 / largest;
}

/* to[padded] = round(x[count] / scale), then zeros. Returns the scale, which is not finite if an
 * element is not. */
static float quantize(char *to, const float *x, size_t count, size_t padded)
{
    const float inverse = inverse_scale(largest_magnitude(x, count));
    for (size_t p = 0; p < padded; p += LANES) {
        vreal scaled = v_load_some(x + p, p < count ? count - p : 0) * v_set(inverse);
        quantized_vector whole = __builtin_convertvector(v_to_nearest(scaled), quantized_vector);
        if (padded - p >= LANES)
            *(quantized_vector *)(void *)(to + 2 * p) = whole;
        else
            memcpy(to + 2 * p, &whole, 2 * (padded - p));
    }
    return 1 / inverse;
}

/* Packs a column of at most KC steps as bytes, two steps to a lane. */
static void store_column(int8_t *to, size_t lanes, const int16_t *quantized, size_t padded)
{
    for (size_t p = 0; p < padded; p += INTERLEAVE, to += INTERLEAVE * lanes)
        for (size_t i = 0; i < INTERLEAVE; i++)
            to[i] = (int8_t)quantized[p + i];
}

static void pack_b_panel(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p)
{
    const size_t depth = sv_size_min(b->k - p, KC), padded = padded_steps(depth);
    int8_t *bytes = (int8_t *)(panel->words + panel->lanes);
    for (size_t j = 0; j < panel->lanes; j++) {
        float column[KC];
        int16_t quantized[KC];
        const size_t count = j < panel->width ? depth : 0;
        const float *from = b->b + (first + j) * b->column_stride + p * b->row_stride;
        for (size_t i = 0; i < count; i++)
            column[i] = from[i * b->row_stride];
        panel->words[j] = quantize((char *)quantized, column, count, padded);
        store_column(bytes + j * INTERLEAVE, panel->lanes, quantized, padded);
    }
}

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
                                .lane_multiple = 2, /* so that loads of packed B are aligned */
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
