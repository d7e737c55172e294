/* Quantises float32 to int8 on vectors of any width, and packs B. The file that includes it defines
 * INTERLEAVE, the steps of k of a lane; TOGETHER, the lanes of a column that lie together; and
 * PADDING, a multiple of TOGETHER to which lanes are padded.
 *
 * The scales and the K blocks are those of int8_pack_impl.h: each row of A and each column of B has
 * one scale per K block, its largest magnitude / 127; elements are divided by it and rounded to
 * nearest even. */
#ifndef SV_INT8_COLUMNS_IMPL_H
#define SV_INT8_COLUMNS_IMPL_H

#include "gemm/low_precision/dot_backend_impl.h"

/* A sum over a K block is at most 127 * 127 * 1024 < 2^24. */
enum { KC = 1024 };

/* The steps of a K block with those that are zeros: whole groups of lanes. */
static size_t padded_steps(size_t depth)
{
    return dot_round_up(depth, PADDING * INTERLEAVE);
}

/* LANES integers of 16 bits, at any address. */
typedef int16_t quantized_vector __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

/* The largest |x[p]| as the bits of a float, which are ordered like floats, and NaN above
 * infinity. */
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

/* Stores quantised steps as bytes, in groups of `group` steps that are `stride` bytes apart. */
SV_INLINE void store_groups(int8_t *to, size_t stride, const size_t group, const int16_t *quantized,
                            size_t padded)
{
    for (size_t p = 0; p < padded; p += group, to += stride)
        for (size_t i = 0; i < group; i++)
            to[i] = (int8_t)quantized[p + i];
}

/* Packs a micropanel: groups of the steps that lie together, for one column after another. */
static void pack_b_panel(const dot_panel *panel, const sv_gemm_b *b, size_t first, size_t p)
{
    enum { GROUP = INTERLEAVE * TOGETHER };
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
        store_groups(bytes + j * GROUP, GROUP * panel->lanes, GROUP, quantized, padded);
    }
}

#endif
