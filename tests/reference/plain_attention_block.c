/* The attention block of a ViT: norm, queries, keys and values, their norms and rotation, attention
 * of all heads, the norm of their outputs, projection, LayerScale and residual. */
#include "plain_attention_block.h"

#include <string.h>

/* A linear map with adapters if there are any. */
static plain_linear add_map(plain_model *m, const char *prefix, const char *name, size_t out,
                            size_t in, int has_bias)
{
    plain_linear map = plain_add_linear(m, prefix, name, out, in, has_bias);
    if (m->config.lora_rank > 0)
        plain_add_lora(m, &map, prefix, name);
    return map;
}

/* One temperature for all heads, by which scores are divided, or one for each, which multiplies. */
static void add_temperature(plain_model *m, plain_attention_block *b, const char *prefix,
                            const char *name)
{
    const svit_model_config *c = &m->config;
    const size_t count = c->temperature == SVIT_TEMPERATURE_MULTIPLY ? c->heads : 1;
    if (c->attention == SVIT_ATTENTION_LSA)
        b->attention.temperature = plain_add_tensor(m, prefix, name, 0, count);
}

/* The norms of queries and keys, frequencies, and the norm of outputs. */
static void add_between(plain_model *m, plain_attention_block *b, const char *prefix, size_t layer)
{
    const svit_model_config *c = &m->config;
    if (c->qk_norm) {
        b->query_norm = plain_add_norm(m, prefix, "attn.q_norm", c->head_dim);
        b->key_norm = plain_add_norm(m, prefix, "attn.k_norm", c->head_dim);
    }
    if (c->rope == SVIT_ROPE_MIXED)
        b->rotary.frequencies = plain_add_tensor(m, prefix, "attn.rope", 0, b->width);
    if (c->attention == SVIT_ATTENTION_DIFFERENTIAL)
        b->differential = plain_add_differential(m, prefix, b->attention.tokens, layer);
    if (c->attention_norm)
        b->output_norm = plain_add_norm(m, prefix, "attn.norm", b->width);
}

void plain_attention_block_init(plain_attention_block *b, plain_model *m, const char *name_prefix,
                                const plain_attention_names *names, size_t layer, size_t prefix,
                                size_t tokens)
{
    const svit_model_config *c = &m->config;
    const int paper = c->names == SVIT_NAMES_PAPER;
    const size_t dim = c->dim, rows = m->images * tokens;
    b->rows = rows;
    b->width = (size_t)c->heads * c->head_dim;
    b->attention = (plain_attention){.images = m->images,
                                     .tokens = tokens,
                                     .heads = c->heads,
                                     .head_dim = c->head_dim,
                                     .masked = c->attention == SVIT_ATTENTION_LSA,
                                     .per_head = c->temperature == SVIT_TEMPERATURE_MULTIPLY};
    b->rotary = (plain_rotary){c, m->images, tokens, prefix, NULL};
    b->norm = plain_add_norm(m, name_prefix, names->norm, dim);
    if (paper)
        add_temperature(m, b, name_prefix, names->temperature);
    b->qkv = add_map(m, name_prefix, names->qkv, 3 * b->width, dim, c->qkv_bias);
    add_between(m, b, name_prefix, layer);
    /* The paper's code has no projection if there is one head and head_dim is dim. */
    if (!paper || c->heads > 1 || c->head_dim != dim)
        b->proj = add_map(m, name_prefix, names->proj, dim, b->width,
                          c->block != SVIT_BLOCK_PARALLEL_FUSED);
    if (!paper)
        add_temperature(m, b, name_prefix, names->temperature);
    if (c->layer_scale)
        b->scale = plain_add_tensor(m, name_prefix, "ls1.gamma", 0, dim);
    b->normed = plain_array(m, rows * dim);
    b->branch = plain_array(m, rows * dim);
    b->qkv_y = plain_array(m, rows * 3 * b->width);
    b->turned = plain_array(m, rows * 3 * b->width);
    b->p = plain_array(m, rows * c->heads * tokens);
    b->heads = plain_array(m, rows * b->width);
    b->normed_heads = plain_array(m, rows * b->width);
}

/* The queries (part 0) or keys (part 1) of a token, each head's channels by themselves. */
static const plain_norm *part_norm(const plain_attention_block *b, size_t part)
{
    return part == 0 ? &b->query_norm : &b->key_norm;
}

/* turned = (norm(q), norm(k), v) */
static void norm_parts(const plain_attention_block *b, const svit_model_config *c)
{
    plain_copy(b->turned, b->qkv_y, b->rows * 3 * b->width);
    for (size_t i = 0; c->qk_norm && i < 2 * b->rows; i++) {
        const size_t at = (i / 2 * 3 + i % 2) * b->width;
        plain_norm_forward(b->turned + at, b->qkv_y + at, part_norm(b, i % 2), c->heads,
                           c->head_dim);
    }
}

/* dqkv = (norm'(dq), norm'(dk), dv); row[width] is scratch. */
static void norm_parts_backward(double *dqkv, double *row, const plain_attention_block *b,
                                const svit_model_config *c)
{
    for (size_t i = 0; c->qk_norm && i < 2 * b->rows; i++) {
        const size_t at = (i / 2 * 3 + i % 2) * b->width;
        plain_norm_backward(row, dqkv + at, b->qkv_y + at, part_norm(b, i % 2), c->heads,
                            c->head_dim);
        plain_copy(dqkv + at, row, b->width);
    }
}

void plain_attention_block_forward(const plain_model *m, double *y, const double *x,
                                   const plain_attention_block *b)
{
    const size_t rows = b->rows, dim = m->config.dim;
    plain_norm_forward(b->normed, x, &b->norm, rows, dim);
    plain_linear_forward(b->qkv_y, b->normed, &b->qkv, rows);
    norm_parts(b, &m->config);
    plain_rotary_forward(b->turned, &b->rotary);
    if (b->differential.vectors[0])
        plain_differential_forward(b->heads, b->turned, &b->differential);
    else
        plain_attention_forward(b->heads, b->p, b->turned, &b->attention);
    plain_norm_forward(b->normed_heads, b->heads, &b->output_norm, rows, b->width);
    if (b->proj.weight)
        plain_linear_forward(b->branch, b->normed_heads, &b->proj, rows);
    else
        plain_copy(b->branch, b->normed_heads, rows * dim);
    plain_residual_forward(y, x, b->branch, b->scale, rows, dim);
    plain_step(m, y, rows, dim);
}

/* With no_key_bias the keys' part of qkv's bias is 0 and has no gradient. */
void plain_attention_block_backward(const plain_model *m, double *d, double *scratch[4],
                                    const double *x, const plain_attention_block *b)
{
    const size_t rows = b->rows, dim = m->config.dim;
    double *d1 = scratch[0], *d2 = scratch[1], *d3 = scratch[2], *d4 = scratch[3];
    plain_residual_backward(d1, d, b->branch, b->scale, rows, dim);
    if (b->proj.weight)
        plain_linear_backward(d2, d1, b->normed_heads, &b->proj, rows);
    else
        plain_copy(d2, d1, rows * dim);
    plain_norm_backward(d1, d2, b->heads, &b->output_norm, rows, b->width);
    if (b->differential.vectors[0])
        plain_differential_backward(d3, d4, d1, b->turned, &b->differential);
    else
        plain_attention_backward(d3, d4, d1, b->p, b->turned, &b->attention);
    plain_rotary_backward(d3, b->turned, &b->rotary);
    norm_parts_backward(d3, d4, b, &m->config);
    plain_linear_backward(d1, d3, b->normed, &b->qkv, rows);
    if (m->config.no_key_bias)
        memset(b->qkv.bias->gradient + b->width, 0, b->width * sizeof(double));
    plain_norm_backward(d2, d1, x, &b->norm, rows, dim);
    plain_add(d, d2, rows * dim);
    plain_step(m, d, rows, dim);
}
