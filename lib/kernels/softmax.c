/* The softmax of attention scores, with the factor of the scores before it and the dropout of the
 * weights after it, so that a row is processed while it is in L1. Vaswani et al. 2017; Lee, Lee,
 * Song 2021 (mask of the diagonal). */
#include "kernels/local.h"
#include "kernels/power.h"
#include "kernels/sums.h"

#include <float.h>

/* Rows that go through each step together, so that the reductions of one row overlap with the work
 * on the others. */
enum { ROWS = 4 };

/* e^x is computed as 2^(x log2(e)); the factor joins the scale of the scores. */
#define LOG2_E ((real)1.44269504088896340736)

/* The masked column of a row that has none. */
#define NONE SIZE_MAX

/* The lanes of columns i..i + count - 1 that are not masked; `masked_column` is the masked column.
 */
SV_INLINE vlane unmasked_lanes(size_t i, size_t count, size_t masked_column)
{
    vlane lanes = count < LANES ? v_first(count) : ~(vlane){0};
    return masked_column == NONE
               ? lanes
               : lanes & (v_lane_indices() != (sv_lane)masked_column - (sv_lane)i);
}

SV_INLINE vreal max_of(vreal max, const real *scores, real factor, size_t i, size_t count,
                       size_t masked_column)
{
    vreal v = v_load_some(scores + i, count) * v_set(factor);
    return v_max(v_select(unmasked_lanes(i, count, masked_column), v, v_set(-FLT_MAX)), max);
}

/* The maximum of factor * scores[i] over all columns but the masked one. */
SV_INLINE real row_maximum(const real *scores, real factor, size_t columns, size_t masked_column)
{
    vreal max = v_set(-FLT_MAX);
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        max = max_of(max, scores, factor, i, LANES, masked_column);
    if (i < columns)
        max = max_of(max, scores, factor, i, columns - i, masked_column);
    return v_reduce_max(max);
}

/* From this maximum on, the rounding of a product is more than 1. */
#define LARGE_MAXIMUM ((real)(1 << 24))

/* 2^(factor * scores[i] - max), which the softmax and its recomputation share. The product is not
 * rounded before the difference, unless that would leave exponents of its rounding error, of which
 * `max` has one: then the exponent of the largest score is 0 exactly. */
SV_INLINE vreal powers(const real *scores, real factor, real max, size_t i, size_t count)
{
    const vreal v = v_load_some(scores + i, count);
    if (max < LARGE_MAXIMUM && max > -LARGE_MAXIMUM)
        return v_exp2_negative(v_multiply_add(v, v_set(factor), -v_set(max)));
    /* The larger of two numbers keeps compilers from fusing the product with the difference. */
    return v_exp2_negative(v_max(v_set(-FLT_MAX), v * v_set(factor)) - v_set(max));
}

/* p[i] = 2^(factor * scores[i] - max), 0 where masked. Returns these elements. */
SV_INLINE vreal exponentials(real *p, const real *scores, real factor, real max, size_t i,
                             size_t count, size_t masked_column)
{
    vreal e =
        v_keep(unmasked_lanes(i, count, masked_column), powers(scores, factor, max, i, count));
    v_store_some(p + i, e, count);
    return e;
}

/* The same for a whole row. Returns 1 / the sum of the elements, or 0 if the sum is 0. */
SV_INLINE real row_exponentials(real *p, const real *scores, real factor, real max, size_t columns,
                                size_t masked_column)
{
    vsum sum = {0};
    size_t i = 0;
    for (; i + SUM_LANES <= columns; i += SUM_LANES)
        for (size_t part = 0; part < SUM_PARTS; part++)
            sum.part[part] +=
                exponentials(p, scores, factor, max, i + part * LANES, LANES, masked_column);
    if (i < columns)
        SV_EACH_PART (part, i, columns)
            sum.part[part] += exponentials(p, scores, factor, max, i + part * LANES,
                                           columns - i - part * LANES, masked_column);
    real total = v_total(sum);
    return total == 0 ? 0 : 1 / total;
}

/* The words of the dropout mask that hold row r, [columns], and in *bit the bit of the row. NULL:
 * no dropout. */
static const uint32_t *row_mask(const sv_attention_rows *block, size_t r, uint32_t *bit)
{
    size_t query = block->first_row + r;
    *bit = 1u << query % 32;
    return block->mask ? block->mask + query / 32 * block->columns : NULL;
}

/* The same as normalize_row for `count` elements from i on. words NULL: `dropped` is not written.
 */
SV_INLINE void normalize_lanes(real *p, real *dropped, const uint32_t *words, uint32_t bit,
                               real factor, real keep, size_t i, size_t count)
{
    vreal v = v_load_some(p + i, count) * v_set(factor);
    v_store_some(p + i, v, count);
    if (words)
        v_store_some(dropped + i, v_keep(v_mask_some(words + i, bit, count), v * v_set(keep)),
                     count);
}

/* p[columns] *= factor;  dropped = keep * p where the mask keeps an element, otherwise 0. */
static void normalize_row(real *p, real *dropped, real factor, const sv_attention_rows *block,
                          size_t r)
{
    uint32_t bit;
    const uint32_t *words = row_mask(block, r, &bit);
    const size_t columns = block->columns;
    const real keep = block->keep;
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        normalize_lanes(p, dropped, words, bit, factor, keep, i, LANES);
    if (i < columns)
        normalize_lanes(p, dropped, words, bit, factor, keep, i, columns - i);
}

/* Up to ROWS rows of the softmax from row `first` on. `masked` is a constant, so that the code
 * without a masked diagonal has no selects. */
SV_INLINE void softmax_rows(real *p, real *dropped, const real *scores,
                            const sv_attention_rows *block, size_t first, size_t rows, int masked)
{
    size_t columns = block->columns, at = first * columns, masked_column = block->first_row + first;
    real factor = block->scale * LOG2_E, max[ROWS], inverse_sum[ROWS];
    for (size_t r = 0; r < rows; r++)
        max[r] = row_maximum(scores + at + r * columns, factor, columns,
                             masked ? masked_column + r : NONE);
    for (size_t r = 0; r < rows; r++)
        inverse_sum[r] = row_exponentials(p + at + r * columns, scores + at + r * columns, factor,
                                          max[r], columns, masked ? masked_column + r : NONE);
    for (size_t r = 0; r < rows && !block->unscaled; r++)
        normalize_row(p + at + r * columns, dropped + at + r * columns, inverse_sum[r], block,
                      first + r);
    for (size_t r = 0; r < rows && block->inv_row_sum; r++) {
        block->row_max[masked_column + r] = max[r];
        block->inv_row_sum[masked_column + r] = inverse_sum[r];
    }
}

/* p[rows, columns] = softmax(scale * scores) by rows, and if there is a dropout mask
 * dropped = dropout(p); dropped may be p. With `masked`, column first_row + r of row r is masked:
 * it is exactly 0, and a row that has no other column is all 0. scores do not change, unless p is
 * the same memory, which is allowed. */
void SV_ISA(sv_attention_softmax)(real *p, real *dropped, real *scores,
                                  const sv_attention_rows *block)
{
    for (size_t first = 0; first < block->rows; first += ROWS) {
        size_t rows = block->rows - first < ROWS ? block->rows - first : ROWS;
        if (block->masked)
            softmax_rows(p, dropped, scores, block, first, rows, 1);
        else
            softmax_rows(p, dropped, scores, block, first, rows, 0);
    }
}

SV_INLINE void recompute_lanes(real *p, real *dropped, const real *scores, const uint32_t *words,
                               uint32_t bit, real factor, real max, real inverse_sum, real keep,
                               size_t masked_column, size_t i, size_t count)
{
    vreal e = powers(scores, factor, max, i, count);
    vreal v = v_keep(unmasked_lanes(i, count, masked_column), e) * v_set(inverse_sum);
    v_store_some(p + i, v, count);
    if (words)
        v_store_some(dropped + i, v_keep(v_mask_some(words + i, bit, count), v * v_set(keep)),
                     count);
}

/* What is the same in all columns is read before the loop, as the stores might change it. */
SV_INLINE void recompute_row(real *p, real *dropped, const real *scores,
                             const sv_attention_rows *block, size_t r, size_t masked_column)
{
    uint32_t bit;
    const uint32_t *words = row_mask(block, r, &bit);
    const size_t columns = block->columns, query = block->first_row + r;
    const real factor = block->scale * LOG2_E, keep = block->keep;
    const real max = block->row_max[query], inverse_sum = block->inv_row_sum[query];
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        recompute_lanes(p, dropped, scores, words, bit, factor, max, inverse_sum, keep,
                        masked_column, i, LANES);
    if (i < columns)
        recompute_lanes(p, dropped, scores, words, bit, factor, max, inverse_sum, keep,
                        masked_column, i, columns - i);
}

/* Recomputes p and dropped of sv_attention_softmax from the same scores, the row_max and the
 * inv_row_sum that it has written, in one walk through each row. p is not scores, and block is not
 * `unscaled`. */
void SV_ISA(sv_attention_softmax_recompute)(real *p, real *dropped, const real *scores,
                                            const sv_attention_rows *block)
{
    for (size_t r = 0; r < block->rows; r++) {
        size_t at = r * block->columns;
        if (block->masked)
            recompute_row(p + at, dropped + at, scores + at, block, r, block->first_row + r);
        else
            recompute_row(p + at, dropped + at, scores + at, block, r, NONE);
    }
}

/* sum over the columns of dropped * dp: the mean of dp, weighted by the attention weights of the
 * row. */
static real row_mean(const real *dropped, const real *dp, size_t columns)
{
    vreal sum = {0};
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        sum += v_load(dropped + i) * v_load(dp + i);
    if (i < columns)
        sum += v_load_some(dropped + i, columns - i) * v_load_some(dp + i, columns - i);
    return v_reduce_sum(sum);
}

/* `count` elements of row_gradients. */
SV_INLINE vreal gradient_lanes(real *ds, const real *p, const real *dropped, const real *dp,
                               const real *scores, real mean, real scale, size_t i, size_t count)
{
    vreal d = v_load_some(dropped + i, count) * v_load_some(dp + i, count) -
              v_load_some(p + i, count) * v_set(mean);
    v_store_some(ds + i, d * v_set(scale), count);
    return scores ? d * v_load_some(scores + i, count) : d;
}

/* ds[columns] = scale (dropped * dp - p * mean). Returns the lanes of the sum of
 * ds / scale * scores, whose total is the gradient of scale. */
SV_INLINE vreal row_gradients(real *ds, const real *p, const real *dropped, const real *dp,
                              const real *scores, real mean, real scale, size_t columns)
{
    vreal sum = {0};
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        sum += gradient_lanes(ds, p, dropped, dp, scores, mean, scale, i, LANES);
    if (i < columns)
        sum += gradient_lanes(ds, p, dropped, dp, scores, mean, scale, i, columns - i);
    return sum;
}

/* ds[r,:] = scale (dropped dp - p sum(dropped dp)): the gradient of the scores; ds may be dp.
 * dropped is p where there is no dropout. Returns the gradient of scale, the sum of
 * ds / scale * scores; scores NULL: it is not wanted. Masked columns need no care, since p is 0. */
real SV_ISA(sv_attention_softmax_backward)(real *ds, const real *p, const real *dropped,
                                           const real *dp, const real *scores,
                                           const sv_attention_rows *block)
{
    size_t columns = block->columns;
    vreal dscale = {0};
    for (size_t first = 0; first < block->rows; first += ROWS) {
        size_t rows = block->rows - first < ROWS ? block->rows - first : ROWS;
        real mean[ROWS];
        for (size_t r = 0; r < rows; r++)
            mean[r] =
                row_mean(dropped + (first + r) * columns, dp + (first + r) * columns, columns);
        for (size_t r = 0; r < rows; r++) {
            size_t at = (first + r) * columns;
            dscale += row_gradients(ds + at, p + at, dropped + at, dp + at,
                                    scores ? scores + at : NULL, mean[r], block->scale, columns);
        }
    }
    return v_reduce_sum(dscale);
}

/* `count` channels from i on of: bias + sum over the heads of inv_row_sum * o, for row r. */
SV_INLINE vreal heads_sum(const sv_head_sum *sum, const real *o, size_t r, size_t i, size_t count)
{
    vreal total = sum->bias ? v_load_some(sum->bias + i, count) : (vreal){0};
    for (size_t head = 0; head < sum->heads; head++) {
        real inverse_sum = sum->inv_row_sum ? sum->inv_row_sum[head * sum->tokens + r] : 1;
        total =
            v_multiply_add(v_set(inverse_sum), v_load_some(o + head * sum->c + i, count), total);
    }
    return total;
}

/* y[r,c] = x[r,c] + drop_path_scale (bias[c] + sum over h of inv_row_sum[h,r] o[r,h,c]), the heads
 * in index order. */
void SV_ISA(sv_attention_sum)(real *y, const real *x, const sv_head_sum *sum)
{
    const real *o = sum->o;
    for (size_t r = 0; r < sum->rows; r++, o += sum->heads * sum->c, x += sum->c, y += sum->c)
        for (size_t i = 0; i < sum->c; i += LANES) {
            size_t count = sum->c - i;
            vreal branch = heads_sum(sum, o, r, i, count), before = v_load_some(x + i, count);
            v_store_some(y + i, v_multiply_add(v_set(sum->drop_path_scale), branch, before), count);
        }
}
