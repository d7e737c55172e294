/* GELU in its exact form, with dropout in the same pass. Hendrycks, Gimpel 2016. */
#include "kernels/local.h"
#include "kernels/normal.h"

/* a[t,c] = gelu(u) * keep * scale,  gelu(u) = u * Phi(u);  kept[t,c] = u, unless kept is NULL.
 * a may be u. Memory that is far away takes what is kept while GELU is computed. */
void SV_ISA(sv_gelu)(real *a, real *kept, const real *u, sv_dropped dropped, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    const vreal scale = v_set(dropped.scale);
    for (size_t t = 0; t < rows.tokens; t++, u += stride, a += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropped, token, stride);
        for (size_t i = 0; i < c; i += LANES) {
            size_t some = c - i;
            vreal v = v_load_some(u + i, some);
            if (kept)
                v_store_some(kept + t * stride + i, v, some);
            vreal density, y = gelu_by_tail(v, upper_tail(tail_magnitude(v), &density));
            if (words)
                y = v_keep(v_mask_some(words + i, 1u << token % 32, some), y * scale);
            v_store_some(a + i, y, some);
        }
    }
}

/* du[t,c] = du * keep * scale * (Phi(u) + u * phi(u)),  du coming in as the gradient of a;
 * a[t,c] = gelu(u) * keep * scale once more, which the next product's weight gradient reads. */
void SV_ISA(sv_gelu_backward)(real *a, real *du, const real *u, sv_dropped dropped, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    const vreal scale = v_set(dropped.scale);
    for (size_t t = 0; t < rows.tokens; t++, u += stride, du += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropped, token, stride);
        for (size_t i = 0; i < c; i += LANES) {
            size_t some = c - i;
            vreal v = v_load_some(u + i, some), g = v_load_some(du + i, some), density;
            vreal tail = upper_tail(tail_magnitude(v), &density);
            vreal y = gelu_by_tail(v, tail);
            vreal dy = g * (cdf_by_tail(v, tail) + v * density);
            if (words) {
                vlane keep = v_mask_some(words + i, 1u << token % 32, some);
                y = v_keep(keep, y * scale);
                dy = v_keep(keep, dy * scale);
            }
            if (a)
                v_store_some(a + t * stride + i, y, some);
            v_store_some(du + i, dy, some);
        }
    }
}
