/* The attention of all heads in plain loops: softmax(scale q k^T) v. Vaswani et al. 2017; with a
 * temperature and a mask it is locality self-attention (LSA): Lee, Lee, Song 2021. */
#include "plain_operations.h"

#include <math.h>
#include <string.h>

/* The factor of the scores of head h. */
static double score_scale(const plain_attention *of, size_t h)
{
    if (!of->temperature)
        return 1 / sqrt((double)of->head_dim);
    return of->per_head ? of->temperature->value[h] : 1 / of->temperature->value[0];
}

/* The scores s[tokens] of token t become softmax(s), in place. In LSA t does not attend to
 * itself: its weight is 0; if there is no other token, all weights are 0. */
static void softmax(double *s, size_t tokens, size_t t, int masked)
{
    double largest = -INFINITY, sum = 0;
    for (size_t u = 0; u < tokens; u++)
        largest = masked && u == t ? largest : fmax(largest, s[u]);
    for (size_t u = 0; u < tokens; u++)
        sum += s[u] = masked && u == t ? 0 : exp(s[u] - largest);
    for (size_t u = 0; u < tokens; u++)
        s[u] /= sum > 0 ? sum : 1;
}

/* qkv[rows, 3, heads, head_dim] -> heads[rows, heads, head_dim] and p[images, heads, T, T], for
 * each image and head:  p[t] = softmax over u of scale * q[t] . k[u];  o[t] = sum_u p[t, u] v[u] */
void plain_attention_forward(double *heads, double *p, const double *qkv, const plain_attention *of)
{
    const size_t tokens = of->tokens, head_dim = of->head_dim, width = of->heads * head_dim;
    const size_t row = 3 * width; /* from one token to the next in qkv */
    memset(heads, 0, of->images * tokens * width * sizeof *heads);
    for (size_t i = 0; i < of->images * of->heads * tokens; i++, p += tokens) {
        const size_t n = i / tokens / of->heads, h = i / tokens % of->heads, t = i % tokens;
        const double *q = qkv + n * tokens * row + h * head_dim; /* of the image's first token */
        const double *k = q + width, *v = k + width;
        double *o = heads + (n * tokens + t) * width + h * head_dim;
        for (size_t u = 0; u < tokens; u++) {
            p[u] = 0;
            for (size_t j = 0; j < head_dim; j++)
                p[u] += score_scale(of, h) * q[t * row + j] * k[u * row + j];
        }
        softmax(p, tokens, t, of->masked);
        for (size_t u = 0; u < tokens; u++)
            for (size_t j = 0; j < head_dim; j++)
                o[j] += p[u] * v[u * row + j];
    }
}

/* do -> dqkv and the temperatures' gradients; dp[tokens] is scratch.
 *   dp[t, u] = do[t] . v[u];  dv[u] += p[t, u] do[t];  ds[t, u] = p[t, u] (dp[t, u] - p[t] . dp[t])
 *   dscale += ds[t, u] q[t] . k[u];  dq[t] += scale ds[t, u] k[u];  dk[u] += scale ds[t, u] q[t]
 * Derivation: docs/derivations/attention.md */
void plain_attention_backward(double *dqkv, double *dp, const double *dheads, const double *p,
                              const double *qkv, const plain_attention *of)
{
    const size_t tokens = of->tokens, head_dim = of->head_dim, width = of->heads * head_dim;
    const size_t row = 3 * width;
    memset(dqkv, 0, of->images * tokens * row * sizeof *dqkv);
    for (size_t i = 0; i < of->images * of->heads * tokens; i++, p += tokens) {
        const size_t n = i / tokens / of->heads, h = i / tokens % of->heads, t = i % tokens;
        const size_t first = n * tokens * row + h * head_dim;
        const double *q = qkv + first + t * row, *k = qkv + first + width, *v = k + width;
        const double *o = dheads + (n * tokens + t) * width + h * head_dim;
        const double scale = score_scale(of, h);
        double *dq = dqkv + first + t * row, *dk = dqkv + first + width, *dv = dk + width;
        double average = 0, dscale = 0;
        for (size_t u = 0; u < tokens; u++) {
            dp[u] = 0;
            for (size_t j = 0; j < head_dim; j++) {
                dp[u] += o[j] * v[u * row + j];
                dv[u * row + j] += p[u] * o[j];
            }
            average += p[u] * dp[u];
        }
        for (size_t u = 0; u < tokens; u++)
            for (size_t j = 0; j < head_dim; j++) {
                const double ds = p[u] * (dp[u] - average);
                dscale += ds * q[j] * k[u * row + j];
                dq[j] += scale * ds * k[u * row + j];
                dk[u * row + j] += scale * ds * q[j];
            }
        if (of->temperature && of->per_head)
            of->temperature->gradient[h] += dscale;
        else if (of->temperature)
            of->temperature->gradient[0] -= dscale * scale * scale; /* of 1 / temperature */
    }
}
