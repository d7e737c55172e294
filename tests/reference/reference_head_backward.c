/* One attention head, backward. Derivation: docs/derivations/attention.md. Compared with it: what
 * reference_attention.c names. */
#include "reference_head.h"

/* do -> dq, dk, dv, and the gradient of scale is returned.  Of
 *   o[t] = sum_u p[t, u] v[u]:               dp[t, u] = do[t] . v[u];  dv[u] += p[t, u] do[t]
 *   p[t] = softmax(s[t]):                    ds[t] = p[t] * (dp[t] - p[t] . dp[t])
 *   s[t, u] = scale * q[t] . k[u]:           dq[t] += scale ds[t, u] k[u];  dk[u] likewise */
double reference_head_backward(const reference_head *d, const reference_head *a,
                               const reference_attention_shape *shape, double scale)
{
    const size_t tokens = shape->tokens, head_dim = shape->head_dim;
    double dscale = 0;
    for (size_t t = 0; t < tokens; t++) {
        const double *p = a->p + t * tokens, *dout = d->o + t * d->o_stride;
        const double *q = a->q + t * a->qkv_stride;
        double *dp = d->p + t * tokens;
        for (size_t u = 0; u < tokens; u++) {
            dp[u] = reference_dot(dout, a->v + u * a->qkv_stride, head_dim);
            reference_add_scaled(d->v + u * d->qkv_stride, p[u], dout, head_dim);
        }
        const double average = reference_dot(p, dp, tokens);
        for (size_t u = 0; u < tokens; u++) {
            const double ds = p[u] * (dp[u] - average), *k = a->k + u * a->qkv_stride;
            dscale += ds * reference_dot(q, k, head_dim);
            reference_add_scaled(d->q + t * d->qkv_stride, scale * ds, k, head_dim);
            reference_add_scaled(d->k + u * d->qkv_stride, scale * ds, q, head_dim);
        }
    }
    return dscale;
}
