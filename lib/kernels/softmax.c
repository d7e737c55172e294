/* Softmax over rows of attention scores with what stands around it, the scores' factor and the
 * dropout of the weights, so that a row is walked through while it is in the first cache. Vaswani
 * et al. 2017; Lee, Lee, Song 2021 (the diagonal left out). */
#include "kernels/local.h"
#include "kernels/normal.h"

#include <math.h>

/* p[i] = scale * scores[i]; their maximum comes back. */
static real row_scaled(real *p, const real *scores, real scale, size_t columns)
{
    vreal most = v_set(-INFINITY);
    size_t whole = columns - columns % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        vreal v = v_load(scores + i) * v_set(scale);
        v_store(p + i, v);
        most = v_select(v > most, v, most);
    }
    real largest = -INFINITY;
    for (size_t lane = 0; lane < LANES; lane++)
        largest = most[lane] > largest ? most[lane] : largest;
    for (size_t i = whole; i < columns; i++) {
        p[i] = scores[i] * scale;
        largest = p[i] > largest ? p[i] : largest;
    }
    return largest;
}

/* The same without column `own`, which is -inf after it: another column stands in for it. */
static real row_scaled_without(real *p, real *scores, real scale, size_t columns, size_t own)
{
    real kept = scores[own];
    scores[own] = scores[own ? 0 : columns - 1];
    real largest = columns > 1 ? row_scaled(p, scores, scale, columns) : -INFINITY;
    scores[own] = kept;
    p[own] = -INFINITY;
    return largest;
}

/* p[i] = exp(p[i] - most); their sum comes back. */
static real row_exponentials(real *p, real most, size_t columns)
{
    vreal sum = {0};
    size_t whole = columns - columns % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        vreal e = v_exp_negative(v_load(p + i) - v_set(most));
        v_store(p + i, e);
        sum += e;
    }
    if (whole == columns)
        return v_sum(sum);
    size_t some = columns - whole;
    vreal e = v_exp_negative(v_load_some(p + whole, some) - v_set(most));
    v_store_some(p + whole, e, some);
    real total = v_sum(sum);
    for (size_t i = whole; i < columns; i++)
        total += p[i];
    return total;
}

/* The words of dropout's mask that hold row r, and the row's bit in them. */
static const uint32_t *row_mask(const sv_attention_rows *call, size_t r, uint32_t *bit)
{
    size_t query = call->first_row + r;
    *bit = 1u << query % 32;
    return call->mask ? call->mask + query / 32 * call->columns : NULL;
}

/* p *= factor; kept = keep p where the mask has the bit. */
static void row_finish(real *p, real *kept, real factor, const sv_attention_rows *call, size_t r)
{
    uint32_t bit;
    const uint32_t *words = row_mask(call, r, &bit);
    for (size_t i = 0; i < call->columns; i += LANES) {
        size_t some = call->columns - i;
        vreal v = v_load_some(p + i, some) * v_set(factor);
        v_store_some(p + i, v, some);
        if (words)
            v_store_some(kept + i, v_keep(v_mask_some(words + i, bit, some), v * v_set(call->keep)),
                         some);
    }
}

/* p[r,:] = softmax(scale scores[r,:]), and with a mask kept[r,:] = dropout(p[r,:]), which may be p;
 * `masked`: column first_row + r of row r is left out and exactly 0, and a row that has no other
 * column is all 0. scores are as they were, unless p is scores' own memory, which it may be. */
void SV_ISA(sv_attention_softmax)(real *p, real *kept, real *scores, const sv_attention_rows *call)
{
    size_t columns = call->columns;
    for (size_t r = 0; r < call->rows; r++, p += columns, kept += columns, scores += columns) {
        real most = call->masked
                        ? row_scaled_without(p, scores, call->scale, columns, call->first_row + r)
                        : row_scaled(p, scores, call->scale, columns);
        if (most == -INFINITY)
            memset(p, 0, columns * sizeof(real));
        real sum = most == -INFINITY ? 1 : row_exponentials(p, most, columns);
        row_finish(p, kept, 1 / sum, call, r);
    }
}

/* ds[r,:] = scale p (dropout(dp) - sum(dropout(dp) p)), which may be dp; the sum of ds / scale *
 * scores, the gradient of scale, comes back. A column that is left out needs no care: p is 0. */
real SV_ISA(sv_attention_softmax_backward)(real *ds, const real *p, const real *dp,
                                           const real *scores, const sv_attention_rows *call)
{
    size_t columns = call->columns;
    real total = 0;
    for (size_t r = 0; r < call->rows;
         r++, ds += columns, p += columns, dp += columns, scores += columns) {
        uint32_t bit;
        const uint32_t *words = row_mask(call, r, &bit);
        vreal sum = {0}, dscale = {0};
        for (size_t i = 0; i < columns; i += LANES) {
            size_t some = columns - i;
            vreal g = v_load_some(dp + i, some);
            if (words)
                g = v_keep(v_mask_some(words + i, bit, some), g * v_set(call->keep));
            v_store_some(ds + i, g, some);
            sum += g * v_load_some(p + i, some);
        }
        vreal mean = v_set(v_sum(sum));
        for (size_t i = 0; i < columns; i += LANES) {
            size_t some = columns - i;
            vreal d = v_load_some(p + i, some) * (v_load_some(ds + i, some) - mean);
            dscale += d * v_load_some(scores + i, some);
            v_store_some(ds + i, d * v_set(call->scale), some);
        }
        total += v_sum(dscale);
    }
    return total;
}
