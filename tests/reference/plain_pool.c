/* Attention pooling in plain loops: a learnt query attends to the tokens of an image, and a
 * residual MLP follows. Lee et al. 2019; Zhai et al. 2023.
 *   q = Wq latent + bq;  (k, v)[t] = Wkv x[t] + bkv
 *   p[h] = softmax over t of q[h] . k[t, h] / sqrt(head_dim);  o[h] = sum over t of p[h, t] v[t, h]
 *   a = Wo o + bo;  y = a + fc2(activation(fc1(norm(a)))) */
#include "plain_operations.h"

#include <math.h>
#include <string.h>

plain_pool plain_add_pool(plain_model *m, size_t tokens)
{
    const svit_model_config *c = &m->config;
    const size_t dim = c->dim, images = m->images, heads = c->pool_heads;
    plain_pool of = {.tokens = tokens, .dim = dim, .heads = heads, .head_dim = dim / heads};
    of.latent = plain_add_tensor(m, "", "attn_pool.latent", 0, dim);
    of.query = plain_add_linear(m, "", "attn_pool.q", dim, dim, 1);
    of.key_value = plain_add_linear(m, "", "attn_pool.kv", 2 * dim, dim, 1);
    of.proj = plain_add_linear(m, "", "attn_pool.proj", dim, dim, 1);
    of.norm = plain_add_norm(m, "", "attn_pool.norm", dim);
    of.fc1 = plain_add_linear(m, "", "attn_pool.mlp.fc1", c->pool_mlp_dim, dim, 1);
    of.fc2 = plain_add_linear(m, "", "attn_pool.mlp.fc2", dim, c->pool_mlp_dim, 1);
    of.q = plain_array(m, dim);
    of.dq = plain_array(m, dim);
    of.dlatent = plain_array(m, dim);
    of.kv = plain_array(m, images * tokens * 2 * dim);
    of.dkv = plain_array(m, images * tokens * 2 * dim);
    of.p = plain_array(m, images * heads * tokens);
    double **of_dim[] = {&of.o, &of.a, &of.normed, &of.branch, &of.d1, &of.d2};
    for (size_t i = 0; i < sizeof of_dim / sizeof *of_dim; i++)
        *of_dim[i] = plain_array(m, images * dim);
    double **hidden[] = {&of.fc1_y, &of.hidden, &of.dhidden};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        *hidden[i] = plain_array(m, images * c->pool_mlp_dim);
    return of;
}

/* p[tokens] and o[head_dim] of one image and head, from its first key k. */
static void head_forward(double *o, double *p, const double *q, const double *k,
                         const plain_pool *of)
{
    const size_t row = 2 * of->dim;
    double largest = -INFINITY, sum = 0;
    for (size_t t = 0; t < of->tokens; t++) {
        p[t] = 0;
        for (size_t j = 0; j < of->head_dim; j++)
            p[t] += q[j] * k[t * row + j] / sqrt((double)of->head_dim);
        largest = fmax(largest, p[t]);
    }
    for (size_t t = 0; t < of->tokens; t++)
        sum += p[t] = exp(p[t] - largest);
    memset(o, 0, of->head_dim * sizeof *o);
    for (size_t t = 0; t < of->tokens; t++) {
        p[t] /= sum;
        for (size_t j = 0; j < of->head_dim; j++)
            o[j] += p[t] * k[t * row + of->dim + j];
    }
}

/* dp[t] = do . v[t];  dv[t] = p[t] do;  ds[t] = p[t] (dp[t] - p . dp) / sqrt(head_dim)
 * dq += ds[t] k[t];  dk[t] = ds[t] q */
static void head_backward(double *dq, double *dk, const double *d_o, const double *p,
                          const double *q, const double *k, const plain_pool *of)
{
    const size_t row = 2 * of->dim;
    double average = 0;
    for (size_t t = 0; t < of->tokens; t++)
        for (size_t j = 0; j < of->head_dim; j++)
            average += p[t] * d_o[j] * k[t * row + of->dim + j];
    for (size_t t = 0; t < of->tokens; t++) {
        double dp = 0;
        for (size_t j = 0; j < of->head_dim; j++)
            dp += d_o[j] * k[t * row + of->dim + j];
        const double ds = p[t] * (dp - average) / sqrt((double)of->head_dim);
        for (size_t j = 0; j < of->head_dim; j++) {
            dq[j] += ds * k[t * row + j];
            dk[t * row + j] = ds * q[j];
            dk[t * row + of->dim + j] = p[t] * d_o[j];
        }
    }
}

void plain_pool_forward(const plain_model *m, double *y, const double *x, const plain_pool *of)
{
    const size_t images = m->images, dim = of->dim;
    plain_linear_forward(of->q, of->latent->value, &of->query, 1);
    plain_linear_forward(of->kv, x, &of->key_value, images * of->tokens);
    for (size_t i = 0; i < images * of->heads; i++) {
        const size_t n = i / of->heads, first = i % of->heads * of->head_dim;
        head_forward(of->o + n * dim + first, of->p + i * of->tokens, of->q + first,
                     of->kv + n * of->tokens * 2 * dim + first, of);
    }
    plain_linear_forward(of->a, of->o, &of->proj, images);
    plain_step(m, of->a, images, dim);
    plain_norm_forward(of->normed, of->a, &of->norm, images, dim);
    plain_linear_forward(of->fc1_y, of->normed, &of->fc1, images);
    plain_activation_forward(of->hidden, of->fc1_y, images * of->fc1.out, m->config.activation);
    plain_linear_forward(of->branch, of->hidden, &of->fc2, images);
    plain_residual_forward(y, of->a, of->branch, NULL, images, dim);
    plain_step(m, y, images, dim);
}

void plain_pool_backward(const plain_model *m, double *dx, const double *dy, const double *x,
                         const plain_pool *of)
{
    const size_t images = m->images, dim = of->dim;
    plain_linear_backward(of->dhidden, dy, of->hidden, &of->fc2, images);
    plain_activation_backward(of->dhidden, of->dhidden, of->fc1_y, images * of->fc1.out,
                              m->config.activation);
    plain_linear_backward(of->d1, of->dhidden, of->normed, &of->fc1, images);
    plain_norm_backward(of->d2, of->d1, of->a, &of->norm, images, dim);
    plain_add(of->d2, dy, images * dim);
    plain_step(m, of->d2, images, dim);
    plain_linear_backward(of->d1, of->d2, of->o, &of->proj, images);
    memset(of->dq, 0, dim * sizeof *of->dq);
    for (size_t i = 0; i < images * of->heads; i++) {
        const size_t n = i / of->heads, first = i % of->heads * of->head_dim;
        const size_t at = n * of->tokens * 2 * dim + first;
        head_backward(of->dq + first, of->dkv + at, of->d1 + n * dim + first,
                      of->p + i * of->tokens, of->q + first, of->kv + at, of);
    }
    plain_linear_backward(dx, of->dkv, x, &of->key_value, images * of->tokens);
    plain_linear_backward(of->dlatent, of->dq, of->latent->value, &of->query, 1);
    plain_add(of->latent->gradient, of->dlatent, dim);
    plain_step(m, dx, images * of->tokens, dim);
}
