/* Layer norm and group norm, forward and backward. */
#include "kernels/local.h"
#include "kernels/sums.h"

#include <math.h>

/* Rows whose moments are computed together, so that their reductions overlap. */
enum { ROWS = 4 };

/* mean[r] and rstd[r] = 1 / sqrt(variance + eps) of the rows x[rows, elements], rows <= ROWS, with
 * the biased variance. It takes a second pass over x, because E(x^2) - E(x)^2 would cancel where
 * the mean is large. */
SV_INLINE void moments(real *mean, real *rstd, const real *x, const size_t rows, size_t elements,
                       real eps)
{
    vsum sum[ROWS], square[ROWS];
    real m[ROWS];
    size_t whole = elements - elements % SUM_LANES;
    SV_UNROLLED(ROWS)
    for (size_t r = 0; r < rows; r++)
        sum[r] = square[r] = (vsum){0};
    for (size_t i = 0; i < elements; i += SUM_LANES)
        SV_EACH_PART (p, i, elements) {
            size_t at = i + p * LANES;
            SV_UNROLLED(ROWS)
            for (size_t r = 0; r < rows; r++)
                sum[r].part[p] += v_load_some(x + r * elements + at, elements - at);
        }
    SV_UNROLLED(ROWS)
    for (size_t r = 0; r < rows; r++)
        m[r] = v_total(sum[r]) / (real)elements;
    for (size_t i = 0; i < whole; i += SUM_LANES)
        SV_EACH_PART (p, i, whole) {
            SV_UNROLLED(ROWS)
            for (size_t r = 0; r < rows; r++) {
                vreal d = v_load(x + r * elements + i + p * LANES) - v_set(m[r]);
                square[r].part[p] = v_multiply_add(d, d, square[r].part[p]);
            }
        }
    SV_UNROLLED(ROWS)
    for (size_t r = 0; r < rows; r++) {
        real rest = 0;
        for (size_t i = whole; i < elements; i++) {
            real d = x[r * elements + i] - m[r];
            rest = r_multiply_add(d, d, rest);
        }
        mean[r] = m[r];
        rstd[r] = 1 / (real)sqrt((v_total(square[r]) + rest) / (real)elements + eps);
    }
}

/* y[c] = weight[c] * (x[c] - mean) * rstd + bias[c], one row. */
static void apply_row(real *y, const real *x, real mean, real rstd, const real *weight,
                      const real *bias, size_t c)
{
    for (size_t i = 0; i < c; i += LANES) {
        size_t count = c - i;
        vreal xhat = (v_load_some(x + i, count) - v_set(mean)) * v_set(rstd);
        vreal value =
            v_multiply_add(xhat, v_load_some(weight + i, count), v_load_some(bias + i, count));
        v_store_some(y + i, value, count);
    }
}

/* y[c] = weight[c] * x[c] * rstd, one row. */
static void scale_row(real *y, const real *x, real rstd, const real *weight, size_t c)
{
    for (size_t i = 0; i < c; i += LANES)
        v_store_some(
            y + i, v_load_some(x + i, c - i) * v_set(rstd) * v_load_some(weight + i, c - i), c - i);
}

/* Root-mean-square norm: y[t,c] = weight[c] * x[t,c] * rstd[t],  rstd = 1 / sqrt(mean over c of x^2
 * + eps). Zhang, Sennrich 2019. mean is 0, so that what reads the moments is the same. */
static void rms_norm(real *y, real *mean, real *rstd, const real *x, const real *weight,
                     size_t tokens, size_t c, real eps)
{
    for (size_t t = 0; t < tokens; t++, x += c, y += c) {
        vsum squares = {0};
        for (size_t i = 0; i < c; i += SUM_LANES)
            SV_EACH_PART (p, i, c) {
                vreal v = v_load_some(x + i + p * LANES, c - i - p * LANES);
                squares.part[p] = v_multiply_add(v, v, squares.part[p]);
            }
        mean[t] = 0;
        rstd[t] = 1 / (real)sqrt(v_total(squares) / (real)c + eps);
        scale_row(y, x, rstd[t], weight, c);
    }
}

/* Layer norm: y[t,c] = weight[c] * xhat[t,c] + bias[c],  xhat = (x - mean[t]) * rstd[t]. Ba, Kiros,
 * Hinton 2016. mean and rstd are outputs that the backward reads. y may be x. Without a bias it is
 * a root-mean-square norm. */
void SV_ISA(sv_layer_norm)(real *y, real *mean, real *rstd, const real *x, const real *weight,
                           const real *bias, size_t tokens, size_t c, real eps)
{
    size_t t = 0;
    if (!bias) {
        rms_norm(y, mean, rstd, x, weight, tokens, c, eps);
        return;
    }
    for (; t + ROWS <= tokens; t += ROWS) {
        moments(mean + t, rstd + t, x + t * c, ROWS, c, eps);
        for (size_t r = t; r < t + ROWS; r++)
            apply_row(y + r * c, x + r * c, mean[r], rstd[r], weight, bias, c);
    }
    for (; t < tokens; t++) {
        moments(mean + t, rstd + t, x + t * c, 1, c, eps);
        apply_row(y + t * c, x + t * c, mean[t], rstd[t], weight, bias, c);
    }
}

/* The moments of group norm with one group: over all elements of one image x[tokens,c], repeated
 * for each of its tokens. Wu, He 2018. */
void SV_ISA(sv_norm_moments)(real *mean, real *rstd, const real *x, size_t tokens, size_t c,
                             real eps)
{
    moments(mean, rstd, x, 1, tokens * c, eps);
    for (size_t t = 1; t < tokens; t++) {
        mean[t] = mean[0];
        rstd[t] = rstd[0];
    }
}

/* y[t,c] = weight[c] * (x[t,c] - mean[t]) * rstd[t] + bias[c]; without a bias mean is 0. */
void SV_ISA(sv_norm_apply)(real *y, const real *x, const real *mean, const real *rstd,
                           const real *weight, const real *bias, size_t tokens, size_t c)
{
    for (size_t t = 0; t < tokens; t++)
        if (bias)
            apply_row(y + t * c, x + t * c, mean[t], rstd[t], weight, bias, c);
        else
            scale_row(y + t * c, x + t * c, rstd[t], weight, c);
}

/* dweight[c] += sum_t dy[t,c] * xhat[t,c];  dbias[c] += sum_t dy[t,c] unless it is
 * NULL. */
void SV_ISA(sv_norm_backward_parameters)(real *dweight, real *dbias, const real *dy, const real *x,
                                         const real *mean, const real *rstd, size_t tokens,
                                         size_t c)
{
    for (size_t i = 0; i < c; i += LANES) {
        size_t count = c - i;
        vreal dw = v_load_some(dweight + i, count);
        vreal db = dbias ? v_load_some(dbias + i, count) : (vreal){0};
        for (size_t t = 0; t < tokens; t++) {
            vreal g = v_load_some(dy + t * c + i, count);
            dw += g * ((v_load_some(x + t * c + i, count) - v_set(mean[t])) * v_set(rstd[t]));
            db += g;
        }
        v_store_some(dweight + i, dw, count);
        if (dbias)
            v_store_some(dbias + i, db, count);
    }
}

/* Adds the lanes of one row: sums[0] += g, sums[1] += g * xhat, with g = dy * weight. Lanes past c
 * add 0, since dy and weight are loaded as 0 there. */
SV_INLINE void row_sums(vreal sums[2], const real *dy, const real *x, real mean, real rstd,
                        const real *weight, size_t c)
{
    for (size_t i = 0; i < c; i += LANES) {
        size_t count = c - i;
        vreal g = v_load_some(dy + i, count) * v_load_some(weight + i, count);
        sums[0] += g;
        sums[1] += g * ((v_load_some(x + i, count) - v_set(mean)) * v_set(rstd));
    }
}

/* dx[c] = rstd * (g - g_mean - xhat * gx_mean),  g = dy * weight, one row. g_mean and gx_mean are
 * the means of g and of g * xhat. */
SV_INLINE void row_gradient(real *dx, const real *dy, const real *x, real mean, real rstd,
                            const real *weight, real g_mean, real gx_mean, size_t c)
{
    for (size_t i = 0; i < c; i += LANES) {
        size_t count = c - i;
        vreal g = v_load_some(dy + i, count) * v_load_some(weight + i, count);
        vreal xhat = (v_load_some(x + i, count) - v_set(mean)) * v_set(rstd);
        v_store_some(dx + i, v_set(rstd) * (g - v_set(g_mean) - xhat * v_set(gx_mean)), count);
    }
}

/* dx[t,c] = rstd * (g - mean over c of g - xhat * mean over c of g * xhat),  g = dy * weight. dx
 * may be dy. Derivation: docs/derivations/layer-norm.md */
void SV_ISA(sv_layer_norm_backward)(real *dx, const real *dy, const real *x, const real *mean,
                                    const real *rstd, const real *weight, size_t tokens, size_t c)
{
    for (size_t t = 0; t < tokens; t++, dx += c, dy += c, x += c) {
        vreal sums[2] = {{0}, {0}};
        row_sums(sums, dy, x, mean[t], rstd[t], weight, c);
        row_gradient(dx, dy, x, mean[t], rstd[t], weight, v_reduce_sum(sums[0]) / (real)c,
                     v_reduce_sum(sums[1]) / (real)c, c);
    }
}

/* Of a root-mean-square norm, whose mean is 0:  dx = rstd * (g - xhat * mean over c of g * xhat) */
void SV_ISA(sv_rms_norm_backward)(real *dx, const real *dy, const real *x, const real *mean,
                                  const real *rstd, const real *weight, size_t tokens, size_t c)
{
    for (size_t t = 0; t < tokens; t++, dx += c, dy += c, x += c) {
        vreal sums[2] = {{0}, {0}};
        row_sums(sums, dy, x, mean[t], rstd[t], weight, c);
        row_gradient(dx, dy, x, mean[t], rstd[t], weight, 0, v_reduce_sum(sums[1]) / (real)c, c);
    }
}

/* The same as layer norm's for group norm of one image x[tokens,c]: both means run over all its
 * elements. dx may be dy. */
void SV_ISA(sv_group_norm_backward)(real *dx, const real *dy, const real *x, const real *mean,
                                    const real *rstd, const real *weight, size_t tokens, size_t c)
{
    vreal sums[2] = {{0}, {0}};
    for (size_t t = 0; t < tokens; t++)
        row_sums(sums, dy + t * c, x + t * c, mean[0], rstd[0], weight, c);
    real count = (real)(tokens * c);
    real g_mean = v_reduce_sum(sums[0]) / count, gx_mean = v_reduce_sum(sums[1]) / count;
    for (size_t t = 0; t < tokens; t++)
        row_gradient(dx + t * c, dy + t * c, x + t * c, mean[0], rstd[0], weight, g_mean, gx_mean,
                     c);
}
