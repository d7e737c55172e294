/* The end of a residual branch: dropout, DropPath and the residual in one pass. And sums of rows,
 * of arrays, and scaling. */
#include "kernels/local.h"

/* y[t,c] = x[t,c] + drop_path_scale[image] * dropout(branch[t,c]). drop_path_scale NULL: 1. y may
 * be branch. Huang, Sun, Liu, Sedra, Weinberger 2016 (stochastic depth). */
void SV_ISA(sv_residual)(real *y, const real *x, const real *branch, sv_dropout dropout,
                         const real *drop_path_scale, size_t image_tokens, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    for (size_t t = 0; t < rows.tokens; t++, x += stride, y += stride, branch += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, stride);
        real factor = (drop_path_scale ? drop_path_scale[token / image_tokens] : 1) *
                      (words ? dropout.scale : 1);
        for (size_t i = 0; i < c; i += LANES) {
            size_t count = c - i;
            vreal b = v_load_some(branch + i, count);
            if (words)
                b = v_keep(v_mask_some(words + i, 1u << token % 32, count), b);
            v_store_some(y + i, v_multiply_add(v_set(factor), b, v_load_some(x + i, count)), count);
        }
    }
}

/* dbranch[t,c] = drop_path_scale[image] * keep * scale * dy[t,c], where keep is the bit of the
 * dropout mask. The gradient of the residual x is dy itself. */
void SV_ISA(sv_residual_backward)(real *dbranch, const real *dy, sv_dropout dropout,
                                  const real *drop_path_scale, size_t image_tokens, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    for (size_t t = 0; t < rows.tokens; t++, dy += stride, dbranch += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, stride);
        real factor = (drop_path_scale ? drop_path_scale[token / image_tokens] : 1) *
                      (words ? dropout.scale : 1);
        for (size_t i = 0; i < c; i += LANES) {
            size_t count = c - i;
            vreal g = v_set(factor) * v_load_some(dy + i, count);
            if (words)
                g = v_keep(v_mask_some(words + i, 1u << token % 32, count), g);
            v_store_some(dbranch + i, g, count);
        }
    }
}

/* sum[c] += sum over r of x[r,c], rows in index order: the gradient of a bias. */
void SV_ISA(sv_add_rows)(real *sum, const real *x, size_t rows, size_t c)
{
    for (size_t i = 0; i < c; i += LANES) {
        size_t count = c - i;
        vreal total = v_load_some(sum + i, count);
        for (size_t r = 0; r < rows; r++)
            total += v_load_some(x + r * c + i, count);
        v_store_some(sum + i, total, count);
    }
}

/* y[i] += x[i] */
void SV_ISA(sv_add)(real *y, const real *x, size_t elements)
{
    for (size_t i = 0; i < elements; i += LANES)
        v_store_some(y + i, v_load_some(y + i, elements - i) + v_load_some(x + i, elements - i),
                     elements - i);
}

/* y[i] *= factor */
void SV_ISA(sv_scale)(real *y, real factor, size_t elements)
{
    for (size_t i = 0; i < elements; i += LANES)
        v_store_some(y + i, v_load_some(y + i, elements - i) * v_set(factor), elements - i);
}

/* y[i] -= factor * x[i] */
void SV_ISA(sv_subtract_scaled)(real *y, const real *x, real factor, size_t elements)
{
    for (size_t i = 0; i < elements; i += LANES)
        v_store_some(y + i,
                     v_load_some(y + i, elements - i) -
                         v_load_some(x + i, elements - i) * v_set(factor),
                     elements - i);
}
