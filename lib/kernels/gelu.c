/* GELU in its exact form, x Phi(x), and dropout in the same pass. Hendrycks, Gimpel 2016. */
#include "kernels/local.h"
#include "kernels/normal/normal.h"

/* y[t,c] = dropout(gelu(x[t,c])),  gelu(x) = x Phi(x). y may be x. x is also copied to saved_x
 * unless that is NULL; the copy costs little, since its stores overlap with the arithmetic of GELU.
 */
void SV_ISA(sv_gelu)(real *y, real *saved_x, const real *x, sv_dropout dropout, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    const vreal scale = v_set(dropout.scale);
    for (size_t t = 0; t < rows.tokens; t++, x += stride, y += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, stride);
        for (size_t i = 0; i < c; i += LANES) {
            size_t count = c - i;
            vreal v = v_load_some(x + i, count);
            if (saved_x)
                v_store_some(saved_x + t * stride + i, v, count);
            vreal value = gelu_from_tail(v, upper_tail(v_abs(v)));
            if (words)
                value = v_keep(v_mask_some(words + i, 1u << token % 32, count), value * scale);
            v_store_some(y + i, value, count);
        }
    }
}

/* dx[t,c] = keep * scale * (Phi(x) + x phi(x)) * dx[t,c], where dx holds the gradient of y on entry
 * and keep is the bit of the dropout mask. y[t,c] = dropout(gelu(x)) is recomputed for the weight
 * gradient of the next matmul, unless y is NULL. */
void SV_ISA(sv_gelu_backward)(real *y, real *dx, const real *x, sv_dropout dropout, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    const vreal scale = v_set(dropout.scale);
    for (size_t t = 0; t < rows.tokens; t++, x += stride, dx += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, stride);
        for (size_t i = 0; i < c; i += LANES) {
            size_t count = c - i;
            vreal v = v_load_some(x + i, count), g = v_load_some(dx + i, count);
            vreal tail = upper_tail(v_abs(v)), density = normal_density(v_abs(v));
            vreal value = gelu_from_tail(v, tail);
            vreal dy = g * (cdf_from_tail(v, tail) + v * density);
            if (words) {
                vlane keep = v_mask_some(words + i, 1u << token % 32, count);
                value = v_keep(keep, value * scale);
                dy = v_keep(keep, dy * scale);
            }
            if (y)
                v_store_some(y + t * stride + i, value, count);
            v_store_some(dx + i, dy, count);
        }
    }
}
