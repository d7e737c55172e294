/* Activations of the form x sigmoid(u(x)): GELU by its tanh approximation, quick GELU and SiLU; and
 * SwiGLU, which multiplies a SiLU by other channels. Hendrycks, Gimpel 2016; Shazeer 2020. */
#include "kernels/local.h"
#include "kernels/power.h"

#define LOG2_E ((real)1.4426950408889634)

/* sigmoid(u), and sigmoid(u) * (1 - sigmoid(u)) in *slope. Neither cancels for a large |u|. */
SV_INLINE vreal sigmoid(vreal u, vreal *slope)
{
    vreal e = v_exp2_negative(v_abs(u) * v_set(-LOG2_E));
    vreal larger = v_set(1) / (v_set(1) + e), smaller = e * larger;
    *slope = larger * smaller;
    return v_where_positive(u, larger, smaller);
}

/* u = a x + b x^3,  with x * du/dx in *rise. Beyond +-1024 the sigmoid is exactly 0 or 1 and its
 * slope 0, in float and in double, so that the rise has no effect; it is kept finite there. */
SV_INLINE vreal gate_input(vreal x, sv_sigmoid_gate gate, vreal *rise)
{
    vreal a = v_set(gate.a), b = v_set(gate.b);
    vreal near = v_max(v_set(-1024), v_min(v_set(1024), x)), square = near * near;
    *rise = near * (a + v_set(3) * b * square);
    return near * v_multiply_add(b, square, a);
}

/* y[t,c] = dropout(x sigmoid(a x + b x^3)). y may be x. x is also copied to saved_x unless that
 * is NULL. */
void SV_ISA(sv_sigmoid_gate)(real *y, real *saved_x, const real *x, sv_sigmoid_gate gate,
                             sv_dropout dropout, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    const vreal scale = v_set(dropout.scale);
    for (size_t t = 0; t < rows.tokens; t++, x += stride, y += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, stride);
        for (size_t i = 0; i < c; i += LANES) {
            size_t count = c - i;
            vreal v = v_load_some(x + i, count), slope, rise;
            if (saved_x)
                v_store_some(saved_x + t * stride + i, v, count);
            vreal value = v * sigmoid(gate_input(v, gate, &rise), &slope);
            if (words)
                value = v_keep(v_mask_some(words + i, 1u << token % 32, count), value * scale);
            v_store_some(y + i, value, count);
        }
    }
}

/* dx[t,c] = keep * scale * (s + s (1 - s) x (a + 3 b x^2)) * dx[t,c],  s = sigmoid(a x + b x^3),
 * where dx holds the gradient of y on entry and keep is the bit of the dropout mask.
 * y[t,c] = dropout(x s) is recomputed for the weight gradient of the next matmul, unless y is NULL.
 */
void SV_ISA(sv_sigmoid_gate_backward)(real *y, real *dx, const real *x, sv_sigmoid_gate gate,
                                      sv_dropout dropout, sv_rows rows)
{
    const size_t c = rows.columns, stride = rows.stride;
    const vreal scale = v_set(dropout.scale);
    for (size_t t = 0; t < rows.tokens; t++, x += stride, dx += stride) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, stride);
        for (size_t i = 0; i < c; i += LANES) {
            size_t count = c - i;
            vreal v = v_load_some(x + i, count), g = v_load_some(dx + i, count), slope, rise;
            vreal s = sigmoid(gate_input(v, gate, &rise), &slope);
            vreal value = v * s, dy = g * (s + slope * rise);
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

static const sv_sigmoid_gate SILU = {1, 0};

/* y[t,c] = dropout(silu(x[t,c]) * x[t,m+c]),  x[t,2m], m = rows.columns = rows.stride. */
void SV_ISA(sv_swiglu)(real *y, const real *x, sv_dropout dropout, sv_rows rows)
{
    const size_t m = rows.columns;
    const vreal scale = v_set(dropout.scale);
    for (size_t t = 0; t < rows.tokens; t++, x += 2 * m, y += m) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, m);
        for (size_t i = 0; i < m; i += LANES) {
            size_t count = m - i;
            vreal v = v_load_some(x + i, count), slope, rise;
            vreal value =
                v * sigmoid(gate_input(v, SILU, &rise), &slope) * v_load_some(x + m + i, count);
            if (words)
                value = v_keep(v_mask_some(words + i, 1u << token % 32, count), value * scale);
            v_store_some(y + i, value, count);
        }
    }
}

/* dx[t,c] = g x[t,m+c] (s + s (1 - s) x[t,c]),  dx[t,m+c] = g silu(x[t,c]),
 * with s = sigmoid(x[t,c]) and g = keep * scale * y[t,c], where y holds its own gradient on entry
 * and keep is the bit of the dropout mask; then y[t,c] = dropout(silu(x[t,c]) * x[t,m+c]) is
 * recomputed for the weight gradient of the next matmul. */
void SV_ISA(sv_swiglu_backward)(real *y, real *dx, const real *x, sv_dropout dropout, sv_rows rows)
{
    const size_t m = rows.columns;
    const vreal scale = v_set(dropout.mask ? dropout.scale : 1);
    for (size_t t = 0; t < rows.tokens; t++, x += 2 * m, dx += 2 * m, y += m) {
        size_t token = rows.first_token + t;
        const uint32_t *words = mask_words(dropout, token, m);
        for (size_t i = 0; i < m; i += LANES) {
            size_t count = m - i;
            vreal v = v_load_some(x + i, count), other = v_load_some(x + m + i, count);
            vreal slope, rise, factor = scale;
            vreal s = sigmoid(gate_input(v, SILU, &rise), &slope);
            if (words)
                factor = v_keep(v_mask_some(words + i, 1u << token % 32, count), scale);
            vreal g = v_load_some(y + i, count) * factor, silu = v * s;
            v_store_some(y + i, silu * other * factor, count);
            v_store_some(dx + i, g * other * (s + slope * rise), count);
            v_store_some(dx + m + i, g * silu, count);
        }
    }
}
