/* Softmax over rows of attention scores with what stands around it, the scores' factor and the
 * dropout of the weights, so that a row is walked through while it is in L1. Vaswani
 * et al. 2017; Lee, Lee, Song 2021 (the diagonal left out). */
#include "kernels/local.h"
#include "kernels/power.h"

#include <float.h>

/* Rows taken through each step together, so that none waits for its own maximum or sum. */
enum { ROWS = 4 };

/* Exponentials are powers of two, of scores times scale * log2(e). */
#define LOG2_E ((real)1.44269504088896340736)

/* The number of no column. */
#define NONE SIZE_MAX

/* Which of the `some` lanes from column i on a row sees: not column `own`. */
SV_INLINE vlane seen(size_t i, size_t some, size_t own)
{
    vlane lanes = some < LANES ? v_first(some) : ~(vlane){0};
    return own == NONE ? lanes : lanes & (v_lane_numbers() != (sv_lane)(own - i));
}

SV_INLINE vreal larger_of(vreal most, const real *scores, real factor, size_t i, size_t some,
                          size_t own)
{
    vreal v = v_load_some(scores + i, some) * v_set(factor);
    return v_larger(v_select(seen(i, some, own), v, v_set(-FLT_MAX)), most);
}

/* The maximum of factor * scores[i]. */
SV_INLINE real row_most(const real *scores, real factor, size_t columns, size_t own)
{
    vreal most = v_set(-FLT_MAX);
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        most = larger_of(most, scores, factor, i, LANES, own);
    if (i < columns)
        most = larger_of(most, scores, factor, i, columns - i, own);
    return v_largest(most);
}

SV_INLINE vreal exponentials(real *p, const real *scores, real factor, real most, size_t i,
                             size_t some, size_t own)
{
    vreal e = v_exp2_negative(v_load_some(scores + i, some) * v_set(factor) - v_set(most));
    e = v_keep(seen(i, some, own), e);
    v_store_some(p + i, e, some);
    return e;
}

/* p[i] = 2^(factor * scores[i] - most); 1 / their sum comes back, or 0 where that is 0. */
SV_INLINE real row_exponentials(real *p, const real *scores, real factor, real most, size_t columns,
                                size_t own)
{
    vreal sum = {0};
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        sum += exponentials(p, scores, factor, most, i, LANES, own);
    if (i < columns)
        sum += exponentials(p, scores, factor, most, i, columns - i, own);
    real total = v_sum(sum);
    return total == 0 ? 0 : 1 / total;
}

/* The words of dropout's mask that hold row r, and the row's bit in them. */
static const uint32_t *row_mask(const sv_attention_rows *call, size_t r, uint32_t *bit)
{
    size_t query = call->first_row + r;
    *bit = 1u << query % 32;
    return call->mask ? call->mask + query / 32 * call->columns : NULL;
}

SV_INLINE void finish(real *p, real *kept, const uint32_t *words, uint32_t bit, real factor,
                      real keep, size_t i, size_t some)
{
    vreal v = v_load_some(p + i, some) * v_set(factor);
    v_store_some(p + i, v, some);
    if (words)
        v_store_some(kept + i, v_keep(v_mask_some(words + i, bit, some), v * v_set(keep)), some);
}

/* p *= factor; kept = keep p where the mask has the bit. */
static void row_finish(real *p, real *kept, real factor, const sv_attention_rows *call, size_t r)
{
    uint32_t bit;
    const uint32_t *words = row_mask(call, r, &bit);
    size_t i = 0, columns = call->columns;
    for (; i + LANES <= columns; i += LANES)
        finish(p, kept, words, bit, factor, call->keep, i, LANES);
    if (i < columns)
        finish(p, kept, words, bit, factor, call->keep, i, columns - i);
}

/* Rows first.. of the softmax. */
SV_INLINE void some_rows(real *p, real *kept, const real *scores, const sv_attention_rows *call,
                         size_t first, size_t rows, int masked)
{
    size_t columns = call->columns, at = first * columns, own = call->first_row + first;
    real factor = call->scale * LOG2_E, most[ROWS], share[ROWS];
    for (size_t r = 0; r < rows; r++)
        most[r] = row_most(scores + at + r * columns, factor, columns, masked ? own + r : NONE);
    for (size_t r = 0; r < rows; r++)
        share[r] = row_exponentials(p + at + r * columns, scores + at + r * columns, factor,
                                    most[r], columns, masked ? own + r : NONE);
    for (size_t r = 0; r < rows && !call->unscaled; r++)
        row_finish(p + at + r * columns, kept + at + r * columns, share[r], call, first + r);
    for (size_t r = 0; r < rows && call->inv_row_sum; r++) {
        call->row_max[own + r] = most[r];
        call->inv_row_sum[own + r] = share[r];
    }
}

/* p[r,:] = softmax(scale scores[r,:]), and with a mask kept[r,:] = dropout(p[r,:]), which may be p;
 * `masked`: column first_row + r of row r is left out and exactly 0, and a row that has no other
 * column is all 0. scores are as they were, unless p is scores' own memory, which it may be. */
void SV_ISA(sv_attention_softmax)(real *p, real *kept, real *scores, const sv_attention_rows *call)
{
    for (size_t first = 0; first < call->rows; first += ROWS) {
        size_t rows = call->rows - first < ROWS ? call->rows - first : ROWS;
        if (call->masked)
            some_rows(p, kept, scores, call, first, rows, 1);
        else
            some_rows(p, kept, scores, call, first, rows, 0);
    }
}

SV_INLINE void weights_again(real *p, real *kept, const real *scores, const uint32_t *words,
                             uint32_t bit, const sv_attention_rows *call, size_t query, size_t own,
                             size_t i, size_t some)
{
    vreal score = v_load_some(scores + i, some) * v_set(call->scale * LOG2_E);
    vreal e = v_exp2_negative(score - v_set(call->row_max[query]));
    vreal v = v_keep(seen(i, some, own), e) * v_set(call->inv_row_sum[query]);
    v_store_some(p + i, v, some);
    if (words)
        v_store_some(kept + i, v_keep(v_mask_some(words + i, bit, some), v * v_set(call->keep)),
                     some);
}

SV_INLINE void row_again(real *p, real *kept, const real *scores, const sv_attention_rows *call,
                         size_t r, size_t own)
{
    uint32_t bit;
    const uint32_t *words = row_mask(call, r, &bit);
    size_t i = 0, columns = call->columns, query = call->first_row + r;
    for (; i + LANES <= columns; i += LANES)
        weights_again(p, kept, scores, words, bit, call, query, own, i, LANES);
    if (i < columns)
        weights_again(p, kept, scores, words, bit, call, query, own, i, columns - i);
}

/* What sv_attention_softmax has made of the same scores, not unscaled, by the most and share that
 * it has left: one walk through each row. p is not scores. */
void SV_ISA(sv_attention_softmax_again)(real *p, real *kept, const real *scores,
                                        const sv_attention_rows *call)
{
    for (size_t r = 0; r < call->rows; r++) {
        size_t at = r * call->columns;
        if (call->masked)
            row_again(p + at, kept + at, scores + at, call, r, call->first_row + r);
        else
            row_again(p + at, kept + at, scores + at, call, r, NONE);
    }
}

/* sum(kept dp) */
static real row_mean(const real *kept, const real *dp, size_t columns)
{
    vreal sum = {0};
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        sum += v_load(kept + i) * v_load(dp + i);
    if (i < columns)
        sum += v_load_some(kept + i, columns - i) * v_load_some(dp + i, columns - i);
    return v_sum(sum);
}

SV_INLINE vreal gradients(real *ds, const real *p, const real *kept, const real *dp,
                          const real *scores, real mean, real scale, size_t i, size_t some)
{
    vreal d = v_load_some(kept + i, some) * v_load_some(dp + i, some) -
              v_load_some(p + i, some) * v_set(mean);
    v_store_some(ds + i, d * v_set(scale), some);
    return scores ? d * v_load_some(scores + i, some) : d;
}

/* ds = scale (kept dp - p mean); the lanes of sum(ds / scale * scores) come back. */
SV_INLINE vreal row_gradients(real *ds, const real *p, const real *kept, const real *dp,
                              const real *scores, real mean, real scale, size_t columns)
{
    vreal sum = {0};
    size_t i = 0;
    for (; i + LANES <= columns; i += LANES)
        sum += gradients(ds, p, kept, dp, scores, mean, scale, i, LANES);
    if (i < columns)
        sum += gradients(ds, p, kept, dp, scores, mean, scale, i, columns - i);
    return sum;
}

/* ds[r,:] = scale (kept dp - p sum(kept dp)), which may be dp; the sum of ds / scale * scores, the
 * gradient of scale, comes back; scores NULL: nobody wants it. kept is p where there is no dropout.
 * A column that is left out needs no care: p is 0. */
real SV_ISA(sv_attention_softmax_backward)(real *ds, const real *p, const real *kept,
                                           const real *dp, const real *scores,
                                           const sv_attention_rows *call)
{
    size_t columns = call->columns;
    vreal dscale = {0};
    for (size_t first = 0; first < call->rows; first += ROWS) {
        size_t rows = call->rows - first < ROWS ? call->rows - first : ROWS;
        real mean[ROWS];
        for (size_t r = 0; r < rows; r++)
            mean[r] = row_mean(kept + (first + r) * columns, dp + (first + r) * columns, columns);
        for (size_t r = 0; r < rows; r++) {
            size_t at = (first + r) * columns;
            dscale += row_gradients(ds + at, p + at, kept + at, dp + at,
                                    scores ? scores + at : NULL, mean[r], call->scale, columns);
        }
    }
    return v_sum(dscale);
}

/* The weighted sum of the heads' outputs of one row, from channel i on. */
SV_INLINE vreal heads_sum(const sv_head_sum *sum, const real *o, size_t r, size_t i, size_t some)
{
    vreal total = sum->bias ? v_load_some(sum->bias + i, some) : (vreal){0};
    for (size_t head = 0; head < sum->heads; head++) {
        real share = sum->inv_row_sum ? sum->inv_row_sum[head * sum->tokens + r] : 1;
        total += v_set(share) * v_load_some(o + head * sum->c + i, some);
    }
    return total;
}

/* y[r,c] = x[r,c] + path (bias[c] + sum_h share[h,r] o[r,h,c]), heads in order. */
void SV_ISA(sv_attention_sum)(real *y, const real *x, const sv_head_sum *sum)
{
    const real *o = sum->o;
    for (size_t r = 0; r < sum->rows; r++, o += sum->heads * sum->c, x += sum->c, y += sum->c)
        for (size_t i = 0; i < sum->c; i += LANES) {
            size_t some = sum->c - i;
            vreal branch = v_set(sum->drop_path_scale) * heads_sum(sum, o, r, i, some);
            v_store_some(y + i, v_load_some(x + i, some) + branch, some);
        }
}
