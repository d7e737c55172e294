/* MLP-Mixer, the specification: what the library computes from the images to the logits, and back.
 * Tolstikhin et al. 2021. Begin with plain_vit.c. */
#include "plain_operations.h"

#include <stdio.h>
#include <string.h>

/* y = x + mlp(norm(x)), mlp = fc2(gelu(fc1(.))), which acts on the channels of each token, or, for
 * `transposed`, on the tokens of each channel. */
typedef struct half {
    int transposed;
    size_t rows; /* of the MLP: all tokens, or all channels of all images */
    plain_norm norm;
    plain_linear fc1, fc2;
    const double *x;
    double *normed, *in, *pre_gelu, *hidden, *out, *y; /* in, out: of the MLP */
} half;

typedef struct mixer {
    size_t tokens, rows, half_count; /* tokens of an image and of all images */
    plain_convolution stem;
    half *halves;
    plain_norm norm;
    plain_linear head;
    double *embedded, *normed, *features;
    double *d, *d1, *d2, *dhidden; /* gradients */
} mixer;

static void add_half(plain_model *m, const mixer *v, size_t index)
{
    const svit_model_config *c = &m->config;
    half *h = &v->halves[index];
    const size_t elements = v->rows * c->dim;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "blocks.%zu.", index / 2);
    h->transposed = index % 2 == 0;
    const size_t width = h->transposed ? v->tokens : c->dim;
    const size_t hidden = h->transposed ? c->token_mlp_dim : c->mlp_dim;
    h->rows = elements / width;
    h->norm = plain_add_norm(m, prefix, h->transposed ? "norm1" : "norm2", c->dim);
    h->fc1 = plain_add_linear(m, prefix, h->transposed ? "mlp_tokens.fc1" : "mlp_channels.fc1",
                              hidden, width, 1);
    h->fc2 = plain_add_linear(m, prefix, h->transposed ? "mlp_tokens.fc2" : "mlp_channels.fc2",
                              width, hidden, 1);
    h->x = index > 0 ? h[-1].y : v->embedded;
    h->normed = plain_array(m, elements);
    h->in = plain_array(m, elements);
    h->out = plain_array(m, elements);
    h->y = plain_array(m, elements);
    h->pre_gelu = plain_array(m, h->rows * hidden);
    h->hidden = plain_array(m, h->rows * hidden);
}

void plain_mixer_init(plain_model *m)
{
    const svit_model_config *c = &m->config;
    mixer *v = m->parts = plain_memory(m, sizeof *v);
    v->stem = (plain_convolution){.images = m->images,
                                  .height = c->input_height,
                                  .width = c->input_width,
                                  .channels = c->in_channels,
                                  .size = c->patch_size,
                                  .stride = c->patch_size,
                                  .rows = c->input_height / c->patch_size,
                                  .columns = c->input_width / c->patch_size,
                                  .out = c->dim};
    v->stem = plain_add_convolution(m, "", "stem.proj", v->stem, 1);
    v->tokens = v->stem.rows * v->stem.columns;
    v->rows = m->images * v->tokens;
    v->half_count = 2 * (size_t)c->depth;
    v->embedded = plain_array(m, v->rows * c->dim);
    v->halves = plain_memory(m, v->half_count * sizeof *v->halves);
    for (size_t i = 0; i < v->half_count; i++)
        add_half(m, v, i);
    v->norm = plain_add_norm(m, "", "norm", c->dim);
    if (c->classifier)
        v->head = plain_add_linear(m, "", "head", c->num_classes, c->dim, 1);
    v->normed = plain_array(m, v->rows * c->dim);
    v->features = plain_array(m, m->images * c->dim);
    v->d = plain_array(m, v->rows * c->dim);
    v->d1 = plain_array(m, v->rows * c->dim);
    v->d2 = plain_array(m, v->rows * c->dim);
    v->dhidden = plain_array(m, v->rows * c->mlp_dim + m->images * c->dim * c->token_mlp_dim);
}

/* y[n, j, i] = x[n, i, j] */
static void transpose(double *y, const double *x, size_t images, size_t rows, size_t columns)
{
    for (size_t i = 0; i < images * rows * columns; i++) {
        const size_t n = i / columns / rows, row = i / columns % rows, column = i % columns;
        y[(n * columns + column) * rows + row] = x[i];
    }
}

/* normed = norm(x);  in = normed, or normed^T
 *   out = fc2(gelu(fc1(in)));  y = x + out, or x + out^T */
static void half_forward(const plain_model *m, const mixer *v, const half *h)
{
    const size_t dim = m->config.dim, elements = v->rows * dim;
    plain_norm_forward(h->normed, h->x, &h->norm, v->rows, dim);
    if (h->transposed)
        transpose(h->in, h->normed, m->images, v->tokens, dim);
    else
        plain_copy(h->in, h->normed, elements);
    plain_linear_forward(h->pre_gelu, h->in, &h->fc1, h->rows);
    plain_activation_forward(h->hidden, h->pre_gelu, h->rows * h->fc1.out, SVIT_ACTIVATION_GELU);
    plain_linear_forward(h->out, h->hidden, &h->fc2, h->rows);
    if (h->transposed)
        transpose(h->y, h->out, m->images, dim, v->tokens);
    else
        plain_copy(h->y, h->out, elements);
    plain_add(h->y, h->x, elements);
    plain_step(m, h->y, v->rows, dim);
}

/* v->d: dy -> dx */
static void half_backward(const plain_model *m, const mixer *v, const half *h)
{
    const size_t dim = m->config.dim, elements = v->rows * dim;
    if (h->transposed)
        transpose(v->d1, v->d, m->images, v->tokens, dim);
    else
        plain_copy(v->d1, v->d, elements);
    plain_linear_backward(v->dhidden, v->d1, h->hidden, &h->fc2, h->rows);
    plain_activation_backward(v->dhidden, v->dhidden, h->pre_gelu, h->rows * h->fc1.out,
                              SVIT_ACTIVATION_GELU);
    plain_linear_backward(v->d1, v->dhidden, h->in, &h->fc1, h->rows);
    if (h->transposed)
        transpose(v->d2, v->d1, m->images, dim, v->tokens);
    else
        plain_copy(v->d2, v->d1, elements);
    plain_norm_backward(v->d1, v->d2, h->x, &h->norm, v->rows, dim);
    plain_add(v->d, v->d1, elements);
    plain_step(m, v->d, v->rows, dim);
}

/* Patches, blocks of a token MLP and a channel MLP, norm, mean over the tokens, classifier. */
void plain_mixer_forward(plain_model *m)
{
    const mixer *v = m->parts;
    const size_t dim = m->config.dim;
    plain_convolution_forward(v->embedded, m->x, &v->stem);
    plain_step(m, v->embedded, v->rows, dim);
    for (size_t i = 0; i < v->half_count; i++)
        half_forward(m, v, &v->halves[i]);
    plain_norm_step(m, v->normed, v->halves[v->half_count - 1].y, &v->norm, v->rows, dim);
    plain_mean_forward(v->features, v->normed, m->images, v->tokens, dim);
    plain_step(m, v->features, m->images, dim);
    if (m->config.classifier) {
        plain_linear_forward(m->logits, v->features, &v->head, m->images);
        plain_step(m, m->logits, m->images, m->classes);
    } else {
        plain_copy(m->logits, v->features, m->images * dim);
    }
}

/* The same steps in the opposite order. */
void plain_mixer_backward(plain_model *m)
{
    const svit_model_config *c = &m->config;
    const mixer *v = m->parts;
    const size_t dim = c->dim;
    if (c->classifier) {
        plain_linear_backward(v->d2, m->dlogits, v->features, &v->head, m->images);
        plain_step(m, v->d2, m->images, dim);
    } else {
        plain_copy(v->d2, m->dlogits, m->images * dim);
    }
    plain_mean_backward(v->d1, v->d2, m->images, v->tokens, dim);
    plain_step(m, v->d1, v->rows, dim);
    plain_norm_step_backward(m, v->d, v->d1, v->halves[v->half_count - 1].y, &v->norm, v->rows,
                             dim);
    for (size_t i = v->half_count; i-- > 0;)
        half_backward(m, v, &v->halves[i]);
    plain_convolution_backward(m->dx, v->d, m->x, &v->stem);
    plain_step(m, m->dx, m->images * c->input_height * c->input_width, c->in_channels);
}
