/* Zero skipping: the matmuls of single spatial positions, and the correction term. */
#include "gemm/tile/tile_zero_skipping.h"

/* Each position is a matmul with one row per image, so there must be enough images for whole
 * microtiles. */
void SV_ISA(sv_zero_skipping_plan)(tile_zero_skipping *skipping, const sv_zero_skipping *zeros,
                                   size_t m, size_t first_token, bool can_skip)
{
    *skipping = (tile_zero_skipping){.zeros = zeros, .first_token = first_token};
    const size_t period = zeros->zero_groups.period;
    if (can_skip && m >= SKIPPING_IMAGES * period && m % period == 0)
        skipping->period = period;
}

/* Writes the ranges of steps p..p+depth-1, relative to p, that are in no zero channel group. Bit g
 * of `groups` marks group g as zero. Returns the number of ranges. */
static size_t find_ranges(tile_range ranges[RANGES], const sv_zero_groups *zeros, unsigned groups,
                          size_t p, size_t depth)
{
    size_t count = 0, from = p;
    const size_t end = p + depth;
    for (size_t g = 0; g < SV_ZERO_GROUPS_COUNT && groups >> g; g++) {
        const size_t start = g * zeros->width, past = start + zeros->width;
        if (!(groups >> g & 1) || past <= from || start >= end)
            continue;
        if (start > from)
            ranges[count++] = (tile_range){from - p, start - from};
        from = past;
    }
    if (from < end)
        ranges[count++] = (tile_range){from - p, end - from};
    return count;
}

void SV_ISA(sv_zero_skipping_find)(tile_zero_skipping *skipping, size_t p, size_t depth)
{
    const sv_zero_groups *zeros = &skipping->zeros->zero_groups;
    skipping->whole = 0;
    for (size_t i = 0; i < skipping->period; i++) {
        tile_position *position = &skipping->positions[i];
        const unsigned groups = zeros->groups[(skipping->first_token + i) % zeros->period];
        position->range_count = find_ranges(position->ranges, zeros, groups, p, depth);
        if (!groups)
            skipping->whole = i;
    }
}

size_t SV_ISA(sv_zero_skipping_rows)(const tile_zero_skipping *skipping, size_t rows)
{
    const size_t block = SKIPPING_IMAGES * skipping->period;
    return (2 * rows + block - 1) / block * block;
}

/* The correction term of row i is base + factor_i * slope, where factor_i = -mean_i * rstd_i is the
 * value that the norm gives to a zero of that row. `base` includes the bias of the matmul. */
typedef struct tile_correction {
    vreal base[MAX_VECTORS], slope[MAX_VECTORS];
} tile_correction;

/* The correction term of rows whose zero groups are `groups`. The terms of other groups are
 * multiplied by 0: a branch would be mispredicted, since the next row may have other groups. */
static void find_correction(tile_correction *correction, const tile_stripe *stripe,
                            const real *bias, const sv_zero_skipping *zeros, unsigned groups)
{
    const size_t n = zeros->columns;
    for (size_t j = 0, v = 0; j < stripe->width; j += LANES, v++) {
        const vsome some = v_some(stripe->width - j);
        const real *terms = zeros->correction + stripe->first + j;
        vreal base = bias ? v_load_lanes(bias + j, some) : (vreal){0}, slope = {0};
        SV_NOT_UNROLLED
        for (size_t g = 0; g < SV_ZERO_GROUPS_COUNT; g++, terms += 2 * n) {
            const vreal skipped = v_set((real)(groups >> g & 1));
            slope = v_multiply_add(skipped, v_load_lanes(terms, some), slope);
            base = v_multiply_add(skipped, v_load_lanes(terms + n, some), base);
        }
        correction->base[v] = base;
        correction->slope[v] = slope;
    }
}

/* c[rows, width] = bias + correction term. The row index increases by `step`: 1, or `period` for
 * the rows of one position, which all have the same zero groups. */
static void store_correction(const tile_zero_skipping *skipping, const tile_stripe *stripe,
                             const real *bias, size_t step)
{
    const sv_zero_skipping *zeros = skipping->zeros;
    const size_t period = zeros->zero_groups.period;
    size_t row = stripe->row, position = (skipping->first_token + row) % period;
    tile_correction correction;
    real *c = stripe->c;
    for (size_t i = 0; i < stripe->rows; i++, row += step, c += stripe->ldc) {
        if (i == 0 || step != period)
            find_correction(&correction, stripe, bias, zeros, zeros->zero_groups.groups[position]);
        const vreal factor = v_set(-zeros->mean[row] * zeros->rstd[row]);
        for (size_t j = 0, v = 0; j < stripe->width; j += LANES, v++)
            v_store_lanes(c + j, v_multiply_add(correction.slope[v], factor, correction.base[v]),
                          v_some(stripe->width - j));
        if (step != period && ++position == period)
            position = 0;
    }
}

static void multiply(const tile_microkernels *kernels, const tile_stripe *stripe,
                     const tile_operands *operands)
{
    multiply_rows(kernels, false, stripe->c, stripe->ldc, operands, stripe->rows, stripe->width,
                  stripe->before);
}

/* Computes the rows of one position. If the whole K block is zero, C keeps its value. */
static void multiply_position(const tile_zero_skipping *skipping, const tile_microkernels *kernels,
                              const tile_stripe *stripe, tile_operands *operands,
                              const tile_position *position)
{
    if (stripe->adds_correction)
        store_correction(skipping, stripe, operands->bias, skipping->period);
    if (!position->range_count && stripe->before != TILE_REPLACE && !operands->residual)
        return;
    operands->ranges = position->ranges;
    operands->range_count = position->range_count;
    multiply(kernels, stripe, operands);
}

/* A position that skips nothing comes first: it prefetches all of the micropanel. */
void SV_ISA(sv_zero_skipping_multiply)(const tile_zero_skipping *skipping,
                                       const tile_microkernels *kernels, const tile_stripe *stripe,
                                       const tile_operands *operands)
{
    const size_t period = skipping->period;
    if (!period) {
        if (stripe->adds_correction)
            store_correction(skipping, stripe, operands->bias, 1);
        multiply(kernels, stripe, operands);
        return;
    }
    for (size_t n = 0; n < period; n++) {
        const size_t i = (skipping->whole + n) % period;
        tile_stripe rows = *stripe;
        tile_operands of_position = *operands;
        rows.c += i * stripe->ldc;
        rows.ldc *= period;
        rows.row += i;
        rows.rows = (stripe->rows - i + period - 1) / period;
        of_position.a += i * operands->row_stride;
        of_position.row_stride *= period;
        if (operands->residual)
            of_position.residual += i * stripe->ldc;
        if (n > 0 && operands->prefetch != PREFETCH_A)
            of_position.prefetch = PREFETCH_NOTHING;
        multiply_position(skipping, kernels, &rows, &of_position, &skipping->positions[i]);
    }
}
