/* Softmax over rows of attention scores, forward and backward. */
#include "kernels/local.h"
#include "kernels/normal.h"

#include <math.h>

/* Lanes past the row's end count as -inf: they never win, and their exponential is 0. */
static real row_maximum(const real *scores, size_t columns)
{
    vreal most = v_set(-INFINITY);
    size_t whole = columns - columns % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        vreal v = v_load(scores + i);
        most = v_select(v > most, v, most);
    }
    real largest = -INFINITY;
    for (size_t lane = 0; lane < LANES; lane++)
        largest = most[lane] > largest ? most[lane] : largest;
    for (size_t i = whole; i < columns; i++)
        largest = scores[i] > largest ? scores[i] : largest;
    return largest;
}

/* p[i] = exp(s[i] - most); their sum comes back. */
static real row_exponentials(real *p, const real *scores, real most, size_t columns)
{
    vreal sum = {0};
    size_t whole = columns - columns % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        vreal e = v_exp_negative(v_load(scores + i) - v_set(most));
        v_store(p + i, e);
        sum += e;
    }
    if (whole == columns)
        return v_sum(sum);
    size_t some = columns - whole;
    vreal e = v_exp_negative(v_load_some(scores + whole, some) - v_set(most));
    v_store_some(p + whole, e, some);
    real total = v_sum(sum);
    for (size_t i = whole; i < columns; i++)
        total += p[i];
    return total;
}

/* p[r,:] = softmax(scores[r,:]); with `masked`, column first_row + r of row r is left out and
 * exactly 0 after it, and a row that has no other column is all 0. scores may be p; scores are
 * changed. Vaswani et al. 2017; Lee, Lee, Song 2021 (the mask). */
void SV_ISA(sv_attention_softmax)(real *p, real *scores, size_t rows, size_t columns, int masked,
                                  size_t first_row)
{
    for (size_t r = 0; r < rows; r++, p += columns, scores += columns) {
        if (masked)
            scores[first_row + r] = -INFINITY;
        real most = row_maximum(scores, columns);
        if (most == -INFINITY) {
            memset(p, 0, columns * sizeof(real));
            continue;
        }
        real scale = 1 / row_exponentials(p, scores, most, columns);
        for (size_t i = 0; i < columns; i += LANES)
            v_store_some(p + i, v_load_some(p + i, columns - i) * v_set(scale), columns - i);
    }
}

/* ds[r,:] = p * (dp - sum(dp * p)).  ds may be dp. The mask needs no care: p is 0 there. */
void SV_ISA(sv_attention_softmax_backward)(real *ds, const real *p, const real *dp, size_t rows,
                                           size_t columns)
{
    for (size_t r = 0; r < rows; r++, ds += columns, p += columns, dp += columns) {
        vreal sum = {0};
        for (size_t i = 0; i < columns; i += LANES)
            sum += v_load_some(dp + i, columns - i) * v_load_some(p + i, columns - i);
        real dot = v_sum(sum);
        for (size_t i = 0; i < columns; i += LANES) {
            size_t some = columns - i;
            v_store_some(ds + i,
                         v_load_some(p + i, some) * (v_load_some(dp + i, some) - v_set(dot)), some);
        }
    }
}

/* y[i] *= factor */
void SV_ISA(sv_scale)(real *y, real factor, size_t elements)
{
    for (size_t i = 0; i < elements; i += LANES)
        v_store_some(y + i, v_load_some(y + i, elements - i) * v_set(factor), elements - i);
}

/* sum_i a[i] * b[i] */
real SV_ISA(sv_dot)(const real *a, const real *b, size_t elements)
{
    vreal sum = {0};
    for (size_t i = 0; i < elements; i += LANES)
        sum += v_load_some(a + i, elements - i) * v_load_some(b + i, elements - i);
    return v_sum(sum);
}
