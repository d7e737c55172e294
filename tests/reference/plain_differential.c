/* Differential attention in plain loops. Ye et al. 2024. Half of the channels of a head's queries
 * and keys give map m = 0, the others m = 1:
 *   p[m, t] = softmax over u of q[m, t] . k[m, u] / sqrt(head_dim / 2)
 *   lambda = exp(q1 . k1) - exp(q2 . k2) + lambda_init,  lambda_init = 0.8 - 0.6 exp(-0.3 layer)
 *   o[t] = sum_u (p[0, t, u] - lambda p[1, t, u]) v[u];  y = (1 - lambda_init) rms_norm(o) */
#include "plain_operations.h"

#include <math.h>
#include <string.h>

/* What the authors' code and timm take, whatever norm_eps is. */
static const double NORM_EPS = 1e-5;

plain_differential plain_add_differential(plain_model *m, const char *prefix, size_t tokens,
                                          size_t layer)
{
    static const char *const names[4] = {"q1", "k1", "q2", "k2"};
    const svit_model_config *c = &m->config;
    const size_t width = (size_t)c->heads * c->head_dim;
    plain_differential of = {.images = m->images,
                             .tokens = tokens,
                             .heads = c->heads,
                             .half = c->head_dim / 2,
                             .lambda_init = 0.8 - 0.6 * exp(-0.3 * (double)layer)};
    for (size_t i = 0; i < 4; i++)
        of.vectors[i] = plain_add_part(m, prefix, "attn.lambda_", names[i], 0, of.half);
    of.norm = (plain_norm){.channels = c->head_dim, .eps = NORM_EPS};
    of.norm.weight = plain_add_part(m, prefix, "attn.sub_norm", ".weight", 0, c->head_dim);
    of.o = plain_array(m, m->images * tokens * width);
    of.d = plain_array(m, m->images * tokens * width);
    of.p = plain_array(m, m->images * tokens * 2 * c->heads * tokens);
    return of;
}

/* exp of the product of vectors 2 i and 2 i + 1. */
static double exponential(const plain_differential *of, size_t i)
{
    double sum = 0;
    for (size_t j = 0; j < of->half; j++)
        sum += of->vectors[2 * i]->value[j] * of->vectors[2 * i + 1]->value[j];
    return exp(sum);
}

/* The factor of map m. */
static double factor(const plain_differential *of, size_t m)
{
    return m == 0 ? 1 : -(exponential(of, 0) - exponential(of, 1) + of->lambda_init);
}

/* One row of a map: of token t of image n, in map `map` of 2 heads. */
typedef struct map_row {
    size_t q, k, v,
        o; /* indices of its query, and of the first token's key and value in qkv; of its
                          output */
} map_row;

static map_row row_of(const plain_differential *of, size_t n, size_t map, size_t t)
{
    const size_t width = 2 * of->heads * of->half, first = n * of->tokens * 3 * width;
    const size_t at = first + map * of->half, head = map / 2 * 2 * of->half;
    return (map_row){at + t * 3 * width, at + width, first + 2 * width + head,
                     (n * of->tokens + t) * width + head};
}

void plain_differential_forward(double *heads, const double *qkv, const plain_differential *of)
{
    const size_t tokens = of->tokens, maps = 2 * of->heads, width = maps * of->half;
    double *p = of->p;
    memset(of->o, 0, of->images * tokens * width * sizeof *of->o);
    for (size_t i = 0; i < of->images * maps * tokens; i++, p += tokens) {
        const map_row row = row_of(of, i / tokens / maps, i / tokens % maps, i % tokens);
        const double share = factor(of, i / tokens % 2);
        double largest = -INFINITY, sum = 0;
        for (size_t u = 0; u < tokens; u++) {
            p[u] = 0;
            for (size_t j = 0; j < of->half; j++)
                p[u] += qkv[row.q + j] * qkv[row.k + u * 3 * width + j] / sqrt((double)of->half);
            largest = fmax(largest, p[u]);
        }
        for (size_t u = 0; u < tokens; u++)
            sum += p[u] = exp(p[u] - largest);
        for (size_t u = 0; u < tokens; u++) {
            p[u] /= sum;
            for (size_t j = 0; j < 2 * of->half; j++)
                of->o[row.o + j] += share * p[u] * qkv[row.v + u * 3 * width + j];
        }
    }
    plain_norm_forward(heads, of->o, &of->norm, of->images * tokens * of->heads, 2 * of->half);
    for (size_t i = 0; i < of->images * tokens * width; i++)
        heads[i] *= 1 - of->lambda_init;
}

/* Of lambda = e1 - e2 + lambda_init, e = exp(q . k):  dq += e dlambda k;  dk += e dlambda q */
static void lambda_backward(const plain_differential *of, double dlambda)
{
    for (size_t i = 0; i < 2; i++) {
        const plain_tensor *q = of->vectors[2 * i], *k = of->vectors[2 * i + 1];
        const double d = (i == 0 ? dlambda : -dlambda) * exponential(of, i);
        for (size_t j = 0; j < of->half; j++) {
            q->gradient[j] += d * k->value[j];
            k->gradient[j] += d * q->value[j];
        }
    }
}

/* With f the factor of the map and do the gradient of o:
 *   dp[u] = f do . v[u];  dv[u] += f p[u] do;  df += sum_u p[u] do . v[u]
 *   ds[u] = p[u] (dp[u] - p . dp);  dq += ds[u] k[u] / root;  dk[u] += ds[u] q / root */
void plain_differential_backward(double *dqkv, double *dp, const double *dheads, const double *qkv,
                                 const plain_differential *of)
{
    const size_t tokens = of->tokens, maps = 2 * of->heads, width = maps * of->half;
    const size_t elements = of->images * tokens * width;
    const double *p = of->p, root = sqrt((double)of->half);
    double dlambda = 0;
    memset(dqkv, 0, 3 * elements * sizeof *dqkv);
    for (size_t i = 0; i < elements; i++)
        dqkv[i] = (1 - of->lambda_init) * dheads[i];
    plain_norm_backward(of->d, dqkv, of->o, &of->norm, elements / 2 / of->half, 2 * of->half);
    memset(dqkv, 0, elements * sizeof *dqkv);
    for (size_t i = 0; i < of->images * maps * tokens; i++, p += tokens) {
        const map_row row = row_of(of, i / tokens / maps, i / tokens % maps, i % tokens);
        const double f = factor(of, i / tokens % 2), *d = of->d + row.o;
        double average = 0, df = 0;
        for (size_t u = 0; u < tokens; u++) {
            dp[u] = 0;
            for (size_t j = 0; j < 2 * of->half; j++) {
                dp[u] += f * d[j] * qkv[row.v + u * 3 * width + j];
                dqkv[row.v + u * 3 * width + j] += f * p[u] * d[j];
                df += p[u] * d[j] * qkv[row.v + u * 3 * width + j];
            }
            average += p[u] * dp[u];
        }
        if (i / tokens % 2 == 1)
            dlambda -= df;
        for (size_t u = 0; u < tokens; u++)
            for (size_t j = 0; j < of->half; j++) {
                const double ds = p[u] * (dp[u] - average) / root;
                dqkv[row.q + j] += ds * qkv[row.k + u * 3 * width + j];
                dqkv[row.k + u * 3 * width + j] += ds * qkv[row.q + j];
            }
    }
    lambda_backward(of, dlambda);
}
