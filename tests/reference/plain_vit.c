/* ViT and SL-ViT, the specification: what the library computes from the images to the logits, and
 * back from the gradient of the logits to those of the parameters and of the images. Dosovitskiy et
 * al. 2020; Lee, Lee, Song 2021.
 *
 * The order of reading: names of parameters; the parts of the model; the operations that no other
 * model has, each forward next to its backward; attention and MLP block; then the two functions
 * that name every step. plain_step hands a result to a hook of tests. */
#include "plain_attention_block.h"
#include "plain_stem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The names of model files, indexed by SVIT_NAMES_*; those of a layer follow `layer` and its index.
 */
static const struct {
    const char *position, *patch_norm, *patch[2], *layer; /* patch: indexed by SVIT_TOKENIZER_* */
    const char *norm1, *qkv, *proj, *temperature, *norm2, *fc1, *fc2, *norm, *head;
} NAMES[] = {[SVIT_NAMES_TIMM] = {"pos_embed",
                                  "patch_embed.norm",
                                  {"patch_embed.proj", "patch_embed.proj"},
                                  "blocks.",
                                  "norm1",
                                  "attn.qkv",
                                  "attn.proj",
                                  "attn.tau",
                                  "norm2",
                                  "mlp.fc1",
                                  "mlp.fc2",
                                  "norm",
                                  "head.fc"},
             [SVIT_NAMES_PAPER] = {"pos_embedding",
                                   "to_patch_embedding.merging.1",
                                   {"to_patch_embedding.1", "to_patch_embedding.merging.2"},
                                   "transformer.layers.",
                                   "0.norm",
                                   "0.fn.to_qkv",
                                   "0.fn.to_out.0",
                                   "0.fn.scale",
                                   "1.norm",
                                   "1.fn.net.0",
                                   "1.fn.net.3",
                                   "mlp_head.0",
                                   "mlp_head."}};

/* A layer: the parameters of its attention and MLP block, and what their forward saves. */
typedef struct layer {
    plain_attention_block attention;
    plain_norm norm2;
    plain_linear fc1, fc2;
    plain_norm mlp_norm;
    plain_tensor *scale2;           /* LayerScale [dim]; NULL: none */
    double *x, *y1, *normed2;       /* [rows, dim]: y1 after the attention block */
    double *fc1_y;                  /* [rows, mlp_dim], twice as wide with SwiGLU */
    double *hidden, *hidden_normed; /* [rows, mlp_dim] */
    double *fc2_y, *branch2, *y;    /* [rows, dim]: before the last GELU and LayerScale */
} layer;

typedef struct vit {
    plain_stem stem; /* SVIT_TOKENIZER_CONV; patches are cut otherwise */
    plain_patches cut;
    size_t patches, patch_elements; /* of an image; values of a patch */
    size_t prefix, positioned;      /* tokens before the patches, and how many have a position */
    size_t tokens, rows, width;     /* prefix + patches, images * tokens, heads * head_dim */
    size_t features, pooled_rows;   /* width of what is pooled; images, twice if distilled */
    plain_tensor *position, *class_token, *distillation_token, *register_tokens;
    plain_norm patch_norm, pre_norm, final_norm, head_norm;
    plain_linear embed, head[SVIT_MAX_HEAD_LAYERS + 1], distilled_head;
    plain_pool pool; /* SVIT_POOL_ATTENTION */
    layer *layers;
    double *patch_rows, *patch_normed, *embedded, *positioned_tokens, *normed, *pooled, *features_y;
    double *head_pre_gelu[SVIT_MAX_HEAD_LAYERS], *head_y[SVIT_MAX_HEAD_LAYERS], *distilled_y;
    double *d, *d1, *d2, *d3, *d4, *d5; /* gradients, as large as the largest activation */
} vit;

static void add_layer(plain_model *m, const vit *v, layer *l, size_t index)
{
    const svit_model_config *c = &m->config;
    const int swiglu = c->mlp == SVIT_MLP_SWIGLU;
    const size_t rows = v->rows, dim = c->dim;
    char prefix[48];
    snprintf(prefix, sizeof prefix, "%s%zu.", NAMES[c->names].layer, index);
    const plain_attention_names names = {NAMES[c->names].norm1, NAMES[c->names].qkv,
                                         NAMES[c->names].proj, NAMES[c->names].temperature};
    const int parallel = c->block != SVIT_BLOCK_SEQUENTIAL;
    plain_attention_block_init(&l->attention, m, prefix, &names, index, v->prefix, v->tokens);
    l->norm2 = parallel ? l->attention.norm : plain_add_norm(m, prefix, NAMES[c->names].norm2, dim);
    l->fc1 =
        plain_add_linear(m, prefix, NAMES[c->names].fc1, c->mlp_dim * (swiglu ? 2u : 1u), dim, 1);
    if (c->mlp_norm)
        l->mlp_norm = plain_add_norm(m, prefix, "mlp.norm", c->mlp_dim);
    l->fc2 = plain_add_linear(m, prefix, NAMES[c->names].fc2, dim, c->mlp_dim, 1);
    if (parallel)
        l->scale2 = l->attention.scale;
    else if (c->layer_scale)
        l->scale2 = plain_add_tensor(m, prefix, "ls2.gamma", 0, dim);
    double **of_dim[] = {&l->y1, &l->normed2, &l->fc2_y, &l->branch2, &l->y};
    for (size_t i = 0; i < sizeof of_dim / sizeof *of_dim; i++)
        *of_dim[i] = plain_array(m, rows * dim);
    l->x = index > 0 ? l[-1].y : plain_array(m, rows * dim);
    l->fc1_y = plain_array(m, rows * l->fc1.out);
    l->hidden = plain_array(m, rows * c->mlp_dim);
    l->hidden_normed = plain_array(m, rows * c->mlp_dim);
}

/* Some poolings have a class token unless the configuration says otherwise. */
static int has_class_token(const svit_model_config *c)
{
    if (c->class_token != SVIT_CLASS_TOKEN_BY_POOL)
        return c->class_token == SVIT_CLASS_TOKEN_PRESENT;
    return c->pool == SVIT_POOL_CLASS_TOKEN || c->pool == SVIT_POOL_MEAN_PATCHES ||
           c->pool == SVIT_POOL_CLASS_MEAN;
}

/* Patches and the tokens before them, in the order of model files. */
static void add_tokens(plain_model *m, vit *v)
{
    const svit_model_config *c = &m->config;
    const size_t dim = c->dim;
    if (c->position_tokens != SVIT_POSITION_NONE)
        v->position = plain_add_tensor(m, "", NAMES[c->names].position, 0,
                                       (v->positioned + v->patches) * dim);
    if (has_class_token(c))
        v->class_token = plain_add_tensor(m, "", "cls_token", 0, dim);
    if (c->distilled)
        v->distillation_token = plain_add_tensor(m, "", "dist_token", 0, dim);
    if (c->register_tokens > 0)
        v->register_tokens = plain_add_tensor(m, "", "reg_token", 0, c->register_tokens * dim);
    if (c->tokenizer == SVIT_TOKENIZER_SPT)
        v->patch_norm = plain_add_norm(m, "", NAMES[c->names].patch_norm, v->patch_elements);
    if (c->tokenizer == SVIT_TOKENIZER_CONV)
        v->stem = plain_add_stem(m);
    else
        v->embed = plain_add_linear(m, "", NAMES[c->names].patch[c->tokenizer], dim,
                                    v->patch_elements, c->patch_bias);
    if (c->pre_norm)
        v->pre_norm = plain_add_norm(m, "", "norm_pre", dim);
    v->patch_rows = plain_array(m, m->images * v->patches * v->patch_elements);
    v->patch_normed = plain_array(m, m->images * v->patches * v->patch_elements);
    v->embedded = plain_array(m, m->images * v->patches * dim);
    v->positioned_tokens = plain_array(m, v->rows * dim);
}

static void add_head(plain_model *m, vit *v)
{
    const svit_model_config *c = &m->config;
    if (c->final_norm)
        v->final_norm = plain_add_norm(m, "", NAMES[c->names].norm, c->dim);
    if (c->pool == SVIT_POOL_ATTENTION)
        v->pool = plain_add_pool(m, v->tokens);
    if (c->head_norm)
        v->head_norm = plain_add_norm(m, "", "fc_norm", v->features);
    v->normed = plain_array(m, v->rows * c->dim);
    v->pooled = plain_array(m, v->pooled_rows * v->features);
    v->features_y = plain_array(m, v->pooled_rows * v->features);
    v->distilled_y = plain_array(m, m->images * m->classes);
    for (size_t i = 0, in = v->features; c->classifier && i <= c->head_layers; i++) {
        const size_t out = i == c->head_layers ? c->num_classes : c->head_units[i];
        char name[32];
        snprintf(name, sizeof name, "%s%zu", NAMES[c->names].head, i + 1);
        v->head[i] = plain_add_linear(m, "", name, out, in, 1);
        if (i == c->head_layers)
            break;
        v->head_pre_gelu[i] = plain_array(m, m->images * out);
        v->head_y[i] = plain_array(m, m->images * out);
        in = out;
    }
    if (c->classifier && c->distilled)
        v->distilled_head = plain_add_linear(m, "", "head_dist", c->num_classes, c->dim, 1);
}

void plain_vit_init(plain_model *m)
{
    const svit_model_config *c = &m->config;
    vit *v = m->parts = plain_memory(m, sizeof *v);
    v->cut = (plain_patches){m->images,
                             c->input_height,
                             c->input_width,
                             c->in_channels,
                             c->patch_size,
                             c->tokenizer == SVIT_TOKENIZER_SPT ? 5 : 1,
                             c->spt_order == SVIT_SPT_PAPER};
    v->patches = (c->input_height / c->patch_size) * (c->input_width / c->patch_size);
    v->patch_elements = (size_t)c->patch_size * c->patch_size * v->cut.copies * c->in_channels;
    v->prefix = (has_class_token(c) ? 1u : 0u) + (c->distilled ? 1u : 0u) + c->register_tokens;
    v->positioned = c->position_tokens == SVIT_POSITION_ALL ? v->prefix
                    : c->position_tokens == SVIT_POSITION_CLASS_PATCHES
                        ? v->prefix - c->register_tokens
                        : 0;
    v->tokens = v->prefix + v->patches;
    v->rows = m->images * v->tokens;
    v->width = (size_t)c->heads * c->head_dim;
    v->features = c->pool == SVIT_POOL_FLATTEN      ? v->tokens * c->dim
                  : c->pool == SVIT_POOL_CLASS_MEAN ? 2 * c->dim
                                                    : c->dim;
    v->pooled_rows = m->images * (c->distilled ? 2 : 1);
    add_tokens(m, v);
    v->layers = plain_memory(m, c->depth * sizeof *v->layers);
    for (size_t i = 0; i < c->depth; i++)
        add_layer(m, v, &v->layers[i], i);
    add_head(m, v);
    size_t most = m->images * (v->patches * v->patch_elements + m->classes);
    const size_t of_row = 3 * v->width + 2 * c->mlp_dim + 2 * c->dim + c->pool_mlp_dim;
    for (size_t i = 0; i < c->head_layers; i++)
        most += m->images * c->head_units[i];
    double **gradients[] = {&v->d, &v->d1, &v->d2, &v->d3, &v->d4, &v->d5};
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++)
        *gradients[i] = plain_array(m, most + v->rows * of_row);
}

/* The prefix token t < prefix in the array that holds it: the class token, the distillation token,
 * then the registers. */
static double *prefix_token(const vit *v, size_t t, size_t dim, int gradient)
{
    const size_t before = v->prefix - (v->register_tokens ? v->register_tokens->elements / dim : 0);
    const plain_tensor *of = t >= before ? v->register_tokens
                             : t == 0    ? v->class_token /* distillation follows a class token */
                                         : v->distillation_token;
    return (gradient ? of->gradient : of->value) + (t >= before ? t - before : 0) * dim;
}

/* The row of the position embedding that token t has; -1: none. */
static ptrdiff_t position_row(const vit *v, size_t t)
{
    if (!v->position)
        return -1;
    if (t < v->prefix)
        return t < v->positioned ? (ptrdiff_t)t : -1;
    return (ptrdiff_t)(v->positioned + t - v->prefix);
}

/* x[images, patches, dim] -> y[images, tokens, dim];  y[n] = (prefix, x[n]) + position */
static void position_forward(double *y, const double *x, const vit *v, size_t images, size_t dim)
{
    for (size_t i = 0; i < images * v->tokens; i++, y += dim) {
        const size_t n = i / v->tokens, t = i % v->tokens;
        const ptrdiff_t row = position_row(v, t);
        const double *token =
            t < v->prefix ? prefix_token(v, t, dim, 0) : x + (n * v->patches + t - v->prefix) * dim;
        for (size_t c = 0; c < dim; c++)
            y[c] = token[c] + (row < 0 ? 0 : v->position->value[(size_t)row * dim + c]);
    }
}

/* dposition += dy[n];  (dprefix, dx[n]) = dy[n], where dprefix is a sum over the images. */
static void position_backward(double *dx, const double *dy, const vit *v, size_t images, size_t dim)
{
    for (size_t i = 0; i < images * v->tokens; i++, dy += dim) {
        const size_t n = i / v->tokens, t = i % v->tokens;
        const ptrdiff_t row = position_row(v, t);
        if (row >= 0)
            plain_add(v->position->gradient + (size_t)row * dim, dy, dim);
        if (t < v->prefix)
            plain_add(prefix_token(v, t, dim, 1), dy, dim);
        else
            plain_copy(dx + (n * v->patches + t - v->prefix) * dim, dy, dim);
    }
}

/* What the MLP's norm reads: in a parallel block, what that of the attention reads. */
static const double *mlp_input(const plain_model *m, const layer *l)
{
    return m->config.block == SVIT_BLOCK_SEQUENTIAL ? l->y1 : l->x;
}

/* y = y1 + scale2 * fc2(mlp_norm(gelu(fc1(norm2(y1))))), with SwiGLU in place of the GELU, or one
 * more GELU after fc2. In a parallel block norm2(x), norm2 and scale2 are the attention's. */
static void mlp_block_forward(const plain_model *m, const vit *v, const layer *l)
{
    const svit_model_config *c = &m->config;
    const size_t rows = v->rows, dim = c->dim, hidden = rows * c->mlp_dim;
    plain_norm_forward(l->normed2, mlp_input(m, l), &l->norm2, rows, dim);
    plain_linear_forward(l->fc1_y, l->normed2, &l->fc1, rows);
    if (c->mlp == SVIT_MLP_SWIGLU)
        plain_swiglu_forward(l->hidden, l->fc1_y, rows, c->mlp_dim);
    else
        plain_activation_forward(l->hidden, l->fc1_y, hidden, c->activation);
    plain_norm_forward(l->hidden_normed, l->hidden, &l->mlp_norm, rows, c->mlp_dim);
    plain_linear_forward(l->fc2_y, l->hidden_normed, &l->fc2, rows);
    if (c->mlp_last_gelu)
        plain_activation_forward(l->branch2, l->fc2_y, rows * dim, SVIT_ACTIVATION_GELU);
    else
        plain_copy(l->branch2, l->fc2_y, rows * dim);
    plain_residual_forward(l->y, l->y1, l->branch2, l->scale2, rows, dim);
    plain_step(m, l->y, rows, dim);
}

/* v->d += what follows from dy, the gradient of the sum y. */
static void mlp_block_backward(const plain_model *m, const vit *v, const layer *l, const double *dy)
{
    const svit_model_config *c = &m->config;
    const size_t rows = v->rows, dim = c->dim, hidden = rows * c->mlp_dim;
    plain_residual_backward(v->d1, dy, l->branch2, l->scale2, rows, dim);
    if (c->mlp_last_gelu)
        plain_activation_backward(v->d1, v->d1, l->fc2_y, rows * dim, SVIT_ACTIVATION_GELU);
    plain_linear_backward(v->d3, v->d1, l->hidden_normed, &l->fc2, rows);
    plain_norm_backward(v->d2, v->d3, l->hidden, &l->mlp_norm, rows, c->mlp_dim);
    if (c->mlp == SVIT_MLP_SWIGLU)
        plain_swiglu_backward(v->d3, v->d2, l->fc1_y, rows, c->mlp_dim);
    else
        plain_activation_backward(v->d3, v->d2, l->fc1_y, hidden, c->activation);
    plain_linear_backward(v->d1, v->d3, l->normed2, &l->fc1, rows);
    plain_norm_backward(v->d2, v->d1, mlp_input(m, l), &l->norm2, rows, dim);
    plain_add(v->d, v->d2, rows * dim);
    plain_step(m, v->d, rows, dim);
}

/* v->d: dy -> dx of a layer. In a parallel block both branches have the gradient dy. */
static void layer_backward(const plain_model *m, const vit *v, const layer *l)
{
    double *scratch[] = {v->d1, v->d2, v->d3, v->d4};
    if (m->config.block == SVIT_BLOCK_SEQUENTIAL)
        mlp_block_backward(m, v, l, v->d);
    else
        plain_copy(v->d5, v->d, v->rows * m->config.dim);
    plain_attention_block_backward(m, v->d, scratch, l->x, &l->attention);
    if (m->config.block != SVIT_BLOCK_SEQUENTIAL)
        mlp_block_backward(m, v, l, v->d5);
}

/* Where token t of image n goes in y[pooled_rows, features], and its factor there; -1: nowhere. */
static ptrdiff_t pool_target(const plain_model *m, const vit *v, size_t n, size_t t, double *factor)
{
    const size_t dim = m->config.dim;
    *factor = 1;
    switch (m->config.pool) {
    case SVIT_POOL_FLATTEN: /* all tokens, one after the other */
        return (ptrdiff_t)((n * v->tokens + t) * dim);
    case SVIT_POOL_CLASS_TOKEN: /* and, in rows after the last image, the distillation token */
        return t < v->pooled_rows / m->images ? (ptrdiff_t)((t * m->images + n) * dim) : -1;
    case SVIT_POOL_MEAN:
        *factor = 1 / (double)v->tokens;
        return (ptrdiff_t)(n * dim);
    default: /* the mean of the patches, after the class token with SVIT_POOL_CLASS_MEAN */
        if (t == 0 && m->config.pool == SVIT_POOL_CLASS_MEAN)
            return (ptrdiff_t)(n * 2 * dim);
        *factor = 1 / (double)v->patches;
        return t < v->prefix ? -1 : (ptrdiff_t)((n + 1) * v->features - dim);
    }
}

/* y[target of n, t] += factor * x[n, t], from 0. */
static void pool_forward(const plain_model *m, const vit *v, double *y, const double *x)
{
    if (m->config.pool == SVIT_POOL_ATTENTION) {
        plain_pool_forward(m, y, x, &v->pool);
        return;
    }
    memset(y, 0, v->pooled_rows * v->features * sizeof *y);
    for (size_t i = 0; i < v->rows; i++, x += m->config.dim) {
        double factor;
        const ptrdiff_t to = pool_target(m, v, i / v->tokens, i % v->tokens, &factor);
        for (size_t c = 0; to >= 0 && c < m->config.dim; c++)
            y[to + (ptrdiff_t)c] += factor * x[c];
    }
    if (m->config.pool != SVIT_POOL_FLATTEN)
        plain_step(m, y, v->pooled_rows, v->features);
}

/* dx[n, t] = factor * dy[target of n, t] */
static void pool_backward(const plain_model *m, const vit *v, double *dx, const double *dy)
{
    if (m->config.pool == SVIT_POOL_ATTENTION) {
        plain_pool_backward(m, dx, dy, v->normed, &v->pool);
        return;
    }
    const size_t dim = m->config.dim;
    for (size_t i = 0; i < v->rows * dim; i++) {
        double factor;
        const ptrdiff_t to = pool_target(m, v, i / dim / v->tokens, i / dim % v->tokens, &factor);
        dx[i] = to < 0 ? 0 : factor * dy[to + (ptrdiff_t)(i % dim)];
    }
    if (m->config.pool != SVIT_POOL_FLATTEN)
        plain_step(m, dx, v->rows, dim);
}

/* v->features_y -> logits: linear maps with a GELU between them. In a distilled model the logits
 * are the mean of those of two heads, or of two tokens if there is no classifier. */
static void head_forward(const plain_model *m, const vit *v)
{
    const svit_model_config *c = &m->config;
    const size_t images = m->images, logits = images * m->classes;
    const double *x = v->features_y, *other = x + images * v->features;
    for (size_t i = 0; i < c->head_layers; i++) {
        const size_t out = v->head[i].out;
        plain_linear_forward(v->head_pre_gelu[i], x, &v->head[i], images);
        plain_activation_forward(v->head_y[i], v->head_pre_gelu[i], images * out,
                                 SVIT_ACTIVATION_GELU);
        plain_step(m, v->head_y[i], images, out);
        x = v->head_y[i];
    }
    if (c->classifier)
        plain_linear_forward(m->logits, x, &v->head[c->head_layers], images);
    else
        plain_copy(m->logits, x, logits);
    if (c->distilled && c->classifier)
        plain_linear_forward(v->distilled_y, other, &v->distilled_head, images);
    else if (c->distilled)
        plain_copy(v->distilled_y, other, logits);
    for (size_t i = 0; c->distilled && i < logits; i++)
        m->logits[i] = (m->logits[i] + v->distilled_y[i]) / 2;
    if (c->classifier || c->distilled)
        plain_step(m, m->logits, images, m->classes);
}

/* dlogits -> v->d, the gradient of v->features_y. */
static void head_backward(const plain_model *m, const vit *v)
{
    const svit_model_config *c = &m->config;
    const size_t images = m->images, logits = images * m->classes, pooled = images * v->features;
    for (size_t i = 0; i < logits; i++)
        v->d1[i] = m->dlogits[i] / (c->distilled ? 2 : 1);
    plain_copy(v->d, v->d1, logits);
    if (c->distilled && c->classifier)
        plain_linear_backward(v->d + pooled, v->d1, v->features_y + pooled, &v->distilled_head,
                              images);
    else if (c->distilled)
        plain_copy(v->d + pooled, v->d1, logits);
    for (size_t i = c->head_layers + 1; c->classifier && i-- > 0;) {
        if (i < c->head_layers)
            plain_activation_backward(v->d1, v->d, v->head_pre_gelu[i], images * v->head[i].out,
                                      SVIT_ACTIVATION_GELU);
        plain_linear_backward(v->d2, v->d1, i > 0 ? v->head_y[i - 1] : v->features_y, &v->head[i],
                              images);
        plain_copy(v->d, v->d2, images * v->head[i].in);
        plain_step(m, v->d, images, v->head[i].in);
    }
    if (c->distilled)
        plain_step(m, v->d + pooled, images, v->features);
}

/* m->x -> v->embedded: patches, a norm with SPT, a linear map. */
static void embed_forward(const plain_model *m, const vit *v)
{
    const size_t patches = m->images * v->patches;
    plain_patches_forward(v->patch_rows, m->x, &v->cut);
    plain_step(m, v->patch_rows, patches, v->patch_elements);
    plain_norm_step(m, v->patch_normed, v->patch_rows, &v->patch_norm, patches, v->patch_elements);
    plain_linear_forward(v->embedded, v->patch_normed, &v->embed, patches);
    plain_step(m, v->embedded, patches, m->config.dim);
}

/* v->d2, the gradient of v->embedded -> m->dx */
static void embed_backward(const plain_model *m, const vit *v)
{
    const size_t patches = m->images * v->patches;
    plain_linear_backward(v->d1, v->d2, v->patch_normed, &v->embed, patches);
    plain_step(m, v->d1, patches, v->patch_elements);
    plain_norm_step_backward(m, v->d, v->d1, v->patch_rows, &v->patch_norm, patches,
                             v->patch_elements);
    plain_patches_backward(m->dx, v->d, &v->cut);
    plain_step(m, m->dx, m->images * v->cut.height * v->cut.width, v->cut.channels);
}

/* Patches, tokens with positions, layers, pooling, head. A norm that the configuration has not
 * leaves its input as it is. */
void plain_vit_forward(plain_model *m)
{
    const svit_model_config *c = &m->config;
    const vit *v = m->parts;
    const size_t dim = c->dim;
    if (c->tokenizer == SVIT_TOKENIZER_CONV)
        plain_stem_forward(m, v->embedded, &v->stem);
    else
        embed_forward(m, v);
    position_forward(v->positioned_tokens, v->embedded, v, m->images, dim);
    plain_step(m, v->positioned_tokens, v->rows, dim);
    plain_norm_step(m, v->layers[0].x, v->positioned_tokens, &v->pre_norm, v->rows, dim);
    for (size_t i = 0; i < c->depth; i++) {
        plain_attention_block_forward(m, v->layers[i].y1, v->layers[i].x, &v->layers[i].attention);
        mlp_block_forward(m, v, &v->layers[i]);
    }
    plain_norm_step(m, v->normed, v->layers[c->depth - 1].y, &v->final_norm, v->rows, dim);
    pool_forward(m, v, v->pooled, v->normed);
    plain_norm_step(m, v->features_y, v->pooled, &v->head_norm, v->pooled_rows, v->features);
    head_forward(m, v);
}

/* The same steps in the opposite order. v->d is the gradient of the last step's input. */
void plain_vit_backward(plain_model *m)
{
    const svit_model_config *c = &m->config;
    const vit *v = m->parts;
    const size_t dim = c->dim;
    head_backward(m, v);
    plain_norm_step_backward(m, v->d1, v->d, v->pooled, &v->head_norm, v->pooled_rows, v->features);
    pool_backward(m, v, v->d2, v->d1);
    plain_norm_step_backward(m, v->d, v->d2, v->layers[c->depth - 1].y, &v->final_norm, v->rows,
                             dim);
    for (size_t i = c->depth; i-- > 0;)
        layer_backward(m, v, &v->layers[i]);
    plain_norm_step_backward(m, v->d1, v->d, v->positioned_tokens, &v->pre_norm, v->rows, dim);
    position_backward(v->d2, v->d1, v, m->images, dim);
    plain_step(m, v->d2, m->images * v->patches, dim);
    if (c->tokenizer == SVIT_TOKENIZER_CONV)
        plain_stem_backward(m, v->d2, &v->stem);
    else
        embed_backward(m, v);
}
