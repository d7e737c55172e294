/* One attention head, forward: softmax(scale q k^T) v. Vaswani et al. 2017; masked as in locality
 * self-attention: Lee, Lee, Song 2021. Compared with it: what reference_attention.c names. */
#include "reference_head.h"

#include <math.h>

/* s[tokens] -> softmax(s), in place. A masked element has the score -infinity and becomes 0; if
 * there is no other element, it stays 0. */
static void softmax(double *s, size_t tokens)
{
    double largest = -INFINITY, sum = 0;
    for (size_t u = 0; u < tokens; u++)
        largest = fmax(largest, s[u]);
    for (size_t u = 0; u < tokens; u++)
        sum += s[u] = s[u] > -INFINITY ? exp(s[u] - largest) : 0;
    for (size_t u = 0; u < tokens; u++)
        s[u] /= sum > 0 ? sum : 1;
}

/* q, k, v -> o, p
 *   s[t, u] = scale * q[t] . k[u]    (masked: -infinity where t = u)
 *   p[t] = softmax(s[t]);  o[t] = sum_u p[t, u] v[u] */
void reference_head_forward(const reference_head *a, const reference_attention_shape *shape,
                            double scale)
{
    const size_t tokens = shape->tokens, head_dim = shape->head_dim;
    for (size_t t = 0; t < tokens; t++) {
        const double *q = a->q + t * a->qkv_stride;
        double *p = a->p + t * tokens, *o = a->o + t * a->o_stride;
        for (size_t u = 0; u < tokens; u++)
            p[u] = shape->masked && t == u
                       ? -INFINITY
                       : scale * reference_dot(q, a->k + u * a->qkv_stride, head_dim);
        softmax(p, tokens);
        for (size_t i = 0; i < head_dim; i++)
            o[i] = 0;
        for (size_t u = 0; u < tokens; u++)
            reference_add_scaled(o, p[u], a->v + u * a->qkv_stride, head_dim);
    }
}
