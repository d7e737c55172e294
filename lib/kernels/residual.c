/* The end of a block: dropout, DropPath and residual in one pass; sums over rows, sums and
 * multiples of whole arrays. */
#include "kernels/local.h"

/* y[t,c] = x[t,c] + path[image] * keep * scale * branch[t,c].
 * path NULL: 1. y may be branch. Huang, Sun, Liu, Sedra, Weinberger 2016 (stochastic depth). */
void SV_ISA(sv_residual)(real *y, const real *x, const real *branch, sv_dropped dropped,
                         const real *path, size_t image_tokens, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    for (size_t t = 0; t < rows.tokens; t++, x += stride, y += stride, branch += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropped, token, stride);
        real factor = (path ? path[token / image_tokens] : 1) * (words ? dropped.scale : 1);
        for (size_t i = 0; i < c; i += LANES) {
            size_t some = c - i;
            vreal b = v_load_some(branch + i, some);
            if (words)
                b = v_keep(v_mask_some(words + i, 1u << token % 32, some), b);
            v_store_some(y + i, v_load_some(x + i, some) + v_set(factor) * b, some);
        }
    }
}

/* dbranch[t,c] = path[image] * keep * scale * dy[t,c]; the residual's gradient is dy itself. */
void SV_ISA(sv_residual_backward)(real *dbranch, const real *dy, sv_dropped dropped,
                                  const real *path, size_t image_tokens, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    for (size_t t = 0; t < rows.tokens; t++, dy += stride, dbranch += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropped, token, stride);
        real factor = (path ? path[token / image_tokens] : 1) * (words ? dropped.scale : 1);
        for (size_t i = 0; i < c; i += LANES) {
            size_t some = c - i;
            vreal g = v_set(factor) * v_load_some(dy + i, some);
            if (words)
                g = v_keep(v_mask_some(words + i, 1u << token % 32, some), g);
            v_store_some(dbranch + i, g, some);
        }
    }
}

/* sum[c] += sum_r x[r,c], rows in order: the backward of y[r,c] = ... + bias[c]. */
void SV_ISA(sv_add_rows)(real *sum, const real *x, size_t rows, size_t c)
{
    for (size_t i = 0; i < c; i += LANES) {
        size_t some = c - i;
        vreal total = v_load_some(sum + i, some);
        for (size_t r = 0; r < rows; r++)
            total += v_load_some(x + r * c + i, some);
        v_store_some(sum + i, total, some);
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
