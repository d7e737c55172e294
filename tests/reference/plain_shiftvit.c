/* ShiftViT, the specification: what the library computes from the images to the logits, and back
 * from the gradient of the logits to those of the parameters and of the images. Wang, Zhao, Tang,
 * Wang 2022.
 *
 * The order of reading: the parts of the model with their parameters, by the names of model files;
 * the operations that no other model has, each forward next to its backward; the shift block; then
 * the two functions that name every step. plain_step hands a result to a hook of tests. */
#include "plain_shiftvit.h"
#include "plain_stem.h"

#include "plain_operations.h"

#include <stdio.h>
#include <string.h>

/* A shift block: its parameters, and what its forward saves. */
typedef struct block {
    plain_shift shift;
    plain_convolution depthwise; /* in place of the shift, with SVIT_MIXER_DEPTHWISE */
    plain_norm norm;
    plain_linear fc1, fc2;
    double *mixed, *normed;    /* [rows, channels]: after the shift, after the norm */
    double *pre_gelu, *hidden; /* [rows, hidden] */
    double *y;                 /* [rows, channels] */
} block;

/* A stage: its blocks, then patch merging, but for the last stage. */
typedef struct stage {
    size_t height, width, channels;
    block *blocks;
    plain_norm merge_norm;
    plain_convolution reduction;
    double *merge_normed, *y; /* y: the input of the next stage */
} stage;

typedef struct shiftvit {
    plain_stem stem;           /* SVIT_STEM_CONV */
    plain_convolution patches; /* otherwise; with SVIT_STEM_WHITENED a linear map after it */
    plain_linear proj;
    plain_norm patch_norm, final_norm;
    stage stages[SVIT_MAX_STAGES];
    plain_linear head;
    double *pre_gelu, *hidden; /* between the two maps of the stem */
    double *embedded, *tokens; /* before and after the norm of the patch embedding */
    double *normed, *features; /* after the final norm; [images, channels] */
    double *d, *dnormed, *dhidden, *dbranch,
        *dfeatures; /* gradients, as large as the largest map */
} shiftvit;

/* A convolution whose stride is its side. SAME padding rounds up and puts half of the zero lines
 * before the map (rounded down), VALID padding drops the pixels of incomplete patches. */
static plain_convolution patches_of(size_t images, size_t height, size_t width, size_t channels,
                                    size_t size, int32_t padding, size_t out)
{
    const size_t round_up = padding == SVIT_PADDING_SAME ? size - 1 : 0;
    plain_convolution of = {.images = images,
                            .height = height,
                            .width = width,
                            .channels = channels,
                            .size = size,
                            .stride = size,
                            .out = out};
    of.rows = (height + round_up) / size;
    of.columns = (width + round_up) / size;
    of.top = round_up ? (of.rows * size - height) / 2 : 0;
    of.left = round_up ? (of.columns * size - width) / 2 : 0;
    return of;
}

/* The patch embedding: patch_embed.proj alone; whiten, GELU, proj; or the convolutional stem. */
static void init_stem(plain_model *m, shiftvit *v)
{
    const svit_model_config *c = &m->config;
    const size_t images = m->images, dim = c->dim, size = c->patch_size, in = c->in_channels;
    const int whitened = c->stem == SVIT_STEM_WHITENED;
    const size_t out = whitened ? 2 * size * size * in : dim;
    v->patches =
        patches_of(images, c->input_height, c->input_width, in, size, c->patch_padding, out);
    const size_t pixels = images * v->patches.rows * v->patches.columns;
    if (c->stem == SVIT_STEM_CONV)
        v->stem = plain_add_stem(m);
    else
        v->patches =
            plain_add_convolution(m, "patch_embed.", whitened ? "whiten" : "proj", v->patches, 1);
    if (whitened)
        v->proj = plain_add_linear(m, "patch_embed.", "proj", dim, out, 1);
    v->hidden = plain_array(m, pixels * out);
    v->pre_gelu = plain_array(m, pixels * out);
    if (c->patch_norm)
        v->patch_norm = plain_add_norm(m, "patch_embed.", "norm", dim);
    v->embedded = plain_array(m, pixels * dim);
    v->tokens = plain_array(m, pixels * dim);
    v->stages[0].height = v->patches.rows;
    v->stages[0].width = v->patches.columns;
}

static void init_block(plain_model *m, block *b, const stage *s, const char *prefix)
{
    const svit_model_config *c = &m->config;
    const size_t channels = s->channels, rows = m->images * s->height * s->width;
    const size_t hidden = (size_t)(c->mlp_ratio * (double)channels);
    const size_t quotient = channels / c->num_div; /* channels of a group, or number of groups */
    b->shift = (plain_shift){m->images,
                             s->height,
                             s->width,
                             channels,
                             c->groups == SVIT_GROUPS_SECTIONS ? channels / quotient : quotient,
                             c->shift_pixel,
                             c->shift == SVIT_SHIFT_KERAS};
    if (c->mixer == SVIT_MIXER_DEPTHWISE) {
        b->depthwise = plain_taps3(m->images, s->height, s->width, 1, 1, channels);
        b->depthwise = plain_add_convolution(m, prefix, "dwconv", b->depthwise, 1);
    }
    b->norm = plain_add_norm(m, prefix, "norm2", channels);
    b->fc1 = plain_add_linear(m, prefix, "mlp.fc1", hidden, channels, 1);
    b->fc2 = plain_add_linear(m, prefix, "mlp.fc2", channels, hidden, 1);
    b->mixed = plain_array(m, rows * channels);
    b->normed = plain_array(m, rows * channels);
    b->pre_gelu = plain_array(m, rows * hidden);
    b->hidden = plain_array(m, rows * hidden);
    b->y = plain_array(m, rows * channels);
}

static void init_stage(plain_model *m, shiftvit *v, size_t index)
{
    const svit_model_config *c = &m->config;
    stage *s = &v->stages[index];
    char prefix[48];
    s->channels = (size_t)c->dim << index;
    s->blocks = plain_memory(m, c->blocks[index] * sizeof *s->blocks);
    for (size_t i = 0; i < c->blocks[index]; i++) {
        snprintf(prefix, sizeof prefix, "layers.%zu.blocks.%zu.", index, i);
        init_block(m, &s->blocks[i], s, prefix);
    }
    if (index + 1 == c->stages)
        return;
    snprintf(prefix, sizeof prefix, "layers.%zu.downsample.", index);
    s->reduction = patches_of(m->images, s->height, s->width, s->channels, 2, c->merge_padding,
                              2 * s->channels);
    s->reduction = plain_add_convolution(m, prefix, "reduction", s->reduction, 0);
    s->merge_norm = plain_add_norm(m, prefix, "norm", s->channels);
    s->merge_normed = plain_array(m, m->images * s->height * s->width * s->channels);
    s[1].height = s->reduction.rows;
    s[1].width = s->reduction.columns;
    s->y = plain_array(m, m->images * s[1].height * s[1].width * 2 * s->channels);
}

void plain_shiftvit_init(plain_model *m)
{
    const svit_model_config *c = &m->config;
    shiftvit *v = m->parts = plain_memory(m, sizeof *v);
    init_stem(m, v);
    for (size_t i = 0; i < c->stages; i++)
        init_stage(m, v, i);
    const stage *last = &v->stages[c->stages - 1];
    if (c->final_norm)
        v->final_norm = plain_add_norm(m, "", "norm", last->channels);
    if (c->classifier)
        v->head = plain_add_linear(m, "", "head", m->classes, last->channels, 1);
    v->normed = plain_array(m, m->images * last->height * last->width * last->channels);
    v->features = plain_array(m, m->images * last->channels);
    v->dfeatures = plain_array(m, m->images * last->channels);
    size_t most = m->images * v->patches.rows * v->patches.columns * v->patches.out;
    for (size_t i = 0; i < c->stages; i++) {
        const stage *s = &v->stages[i];
        const size_t elements = m->images * s->height * s->width * s->channels;
        const size_t hidden = (size_t)(c->mlp_ratio * (double)elements) + elements;
        most = hidden > most ? hidden : most;
    }
    v->d = plain_array(m, most);
    v->dnormed = plain_array(m, most);
    v->dhidden = plain_array(m, most);
    v->dbranch = plain_array(m, most);
}

/* The index in x of the element that becomes y[image, row, column, channel]; -1: it becomes zero.
 * Groups 0 to 3 move left, right, up and down; the channels after them stay. */
static ptrdiff_t shift_source(const plain_shift *shift, size_t pixel, size_t channel)
{
    static const int row_step[5] = {0, 0, 1, -1, 0}, column_step[5] = {1, -1, 0, 0, 0};
    const size_t group = channel < 4 * shift->group ? channel / shift->group : 4;
    const ptrdiff_t height = (ptrdiff_t)shift->height, width = (ptrdiff_t)shift->width;
    const ptrdiff_t row = (ptrdiff_t)pixel / width % height, column = (ptrdiff_t)pixel % width;
    const ptrdiff_t down = row_step[group] * (ptrdiff_t)shift->pixels;
    const ptrdiff_t right = column_step[group] * (ptrdiff_t)shift->pixels;
    if (row + down < 0 || row + down >= height || column + right < 0 || column + right >= width)
        return -1;
    const ptrdiff_t from = (ptrdiff_t)pixel + (shift->crop ? 0 : down * width + right);
    return from * (ptrdiff_t)shift->channels + (ptrdiff_t)channel;
}

/* With p = pixels, for the four groups and the channels after them:
 *   y[h, w] = x[h, w + p], x[h, w - p], x[h + p, w], x[h - p, w], x[h, w];  zero outside of x.
 * SVIT_SHIFT_KERAS moves no group, but the lines that a move would fill with zeros become zero. */
void plain_shift_forward(double *y, const double *x, const plain_shift *shift)
{
    for (size_t i = 0; i < shift->images * shift->height * shift->width; i++)
        for (size_t c = 0; c < shift->channels; c++) {
            const ptrdiff_t from = shift_source(shift, i, c);
            y[i * shift->channels + c] = from < 0 ? 0 : x[from];
        }
}

/* dx[source(i)] = dy[i]; an element that has no copy gets 0.
 * Derivation: docs/derivations/shift.md */
void plain_shift_backward(double *dx, const double *dy, const plain_shift *shift)
{
    const size_t pixels = shift->images * shift->height * shift->width;
    memset(dx, 0, pixels * shift->channels * sizeof *dx);
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < shift->channels; c++) {
            const ptrdiff_t from = shift_source(shift, i, c);
            if (from >= 0)
                dx[from] += dy[i * shift->channels + c];
        }
}

/* The index in x of the value of channel c that tap (ky, kx) reads for a pixel of y; -1: a zero. */
static ptrdiff_t depthwise_source(const plain_convolution *of, size_t pixel, size_t c, size_t tap)
{
    const ptrdiff_t height = (ptrdiff_t)of->height, width = (ptrdiff_t)of->width;
    const ptrdiff_t down = (ptrdiff_t)(tap / 3) - 1, right = (ptrdiff_t)(tap % 3) - 1;
    const ptrdiff_t row = (ptrdiff_t)pixel / width % height + down;
    const ptrdiff_t column = (ptrdiff_t)pixel % width + right;
    if (row < 0 || row >= height || column < 0 || column >= width)
        return -1;
    return ((ptrdiff_t)pixel + down * width + right) * (ptrdiff_t)of->out + (ptrdiff_t)c;
}

/* y[h, w, c] = x[h, w, c] + bias[c] + sum over ky, kx of
 *     x[h + ky - 1, w + kx - 1, c] weight[c, ky, kx] */
static void depthwise_forward(double *y, const double *x, const plain_convolution *of)
{
    for (size_t i = 0; i < of->images * of->height * of->width; i++)
        for (size_t c = 0; c < of->out; c++) {
            double sum = x[i * of->out + c] + of->bias->value[c];
            for (size_t tap = 0; tap < 9; tap++) {
                const ptrdiff_t from = depthwise_source(of, i, c, tap);
                sum += from < 0 ? 0 : x[from] * of->weight->value[c * 9 + tap];
            }
            y[i * of->out + c] = sum;
        }
}

/* dx[h, w, c] = dy[h, w, c];  dbias[c] += dy[h, w, c]
 *   dx[..] += dy[h, w, c] weight[c, ky, kx];  dweight[c, ky, kx] += dy[h, w, c] x[..] */
static void depthwise_backward(double *dx, const double *dy, const double *x,
                               const plain_convolution *of)
{
    plain_copy(dx, dy, of->images * of->height * of->width * of->out);
    for (size_t i = 0; i < of->images * of->height * of->width; i++)
        for (size_t c = 0; c < of->out; c++) {
            const double d = dy[i * of->out + c];
            of->bias->gradient[c] += d;
            for (size_t tap = 0; tap < 9; tap++) {
                const ptrdiff_t from = depthwise_source(of, i, c, tap);
                if (from < 0)
                    continue;
                dx[from] += d * of->weight->value[c * 9 + tap];
                of->weight->gradient[c * 9 + tap] += d * x[from];
            }
        }
}

/* Groups of the norms of a stage: the images for group norm, the tokens for layer norm. */
static size_t groups_of(const plain_model *m, const stage *s)
{
    return m->config.norm == SVIT_NORM_GROUP ? m->images : m->images * s->height * s->width;
}

/* x[images, height, width, channels] -> y
 *   mixed = shift(x)    (or mixed = x + depthwise(x))
 *   y = mixed + fc2(gelu(fc1(norm(mixed)))) */
static void block_forward(const plain_model *m, const stage *s, const block *b, const double *x)
{
    const size_t rows = m->images * s->height * s->width, elements = rows * s->channels;
    const size_t groups = groups_of(m, s);
    if (m->config.mixer == SVIT_MIXER_DEPTHWISE) {
        depthwise_forward(b->mixed, x, &b->depthwise);
        plain_step(m, b->mixed, rows, s->channels);
    } else {
        plain_shift_forward(b->mixed, x, &b->shift);
    }
    plain_norm_forward(b->normed, b->mixed, &b->norm, groups, elements / groups);
    plain_linear_forward(b->pre_gelu, b->normed, &b->fc1, rows);
    plain_activation_forward(b->hidden, b->pre_gelu, rows * b->fc1.out, SVIT_ACTIVATION_GELU);
    plain_linear_forward(b->y, b->hidden, &b->fc2, rows);
    plain_add(b->y, b->mixed, elements);
    plain_step(m, b->y, rows, s->channels);
}

/* v->d: dy -> dx, and the parameters' gradients. */
static void block_backward(const plain_model *m, const stage *s, const block *b, const double *x)
{
    const shiftvit *v = m->parts;
    const size_t rows = m->images * s->height * s->width, elements = rows * s->channels;
    const size_t groups = groups_of(m, s);
    plain_linear_backward(v->dhidden, v->d, b->hidden, &b->fc2, rows);
    plain_activation_backward(v->dhidden, v->dhidden, b->pre_gelu, rows * b->fc1.out,
                              SVIT_ACTIVATION_GELU);
    plain_linear_backward(v->dnormed, v->dhidden, b->normed, &b->fc1, rows);
    plain_norm_backward(v->dbranch, v->dnormed, b->mixed, &b->norm, groups, elements / groups);
    plain_add(v->dbranch, v->d, elements);
    if (m->config.mixer == SVIT_MIXER_DEPTHWISE) {
        plain_step(m, v->dbranch, rows, s->channels);
        depthwise_backward(v->d, v->dbranch, x, &b->depthwise);
    } else {
        plain_shift_backward(v->d, v->dbranch, &b->shift);
    }
    plain_step(m, v->d, rows, s->channels);
}

/* m->x -> v->embedded */
static void stem_forward(const plain_model *m, const shiftvit *v)
{
    const int32_t stem = m->config.stem;
    const size_t pixels = m->images * v->patches.rows * v->patches.columns, out = v->patches.out;
    double *y = stem == SVIT_STEM_PATCH ? v->embedded : v->pre_gelu;
    if (stem == SVIT_STEM_CONV) {
        plain_stem_forward(m, v->embedded, &v->stem);
        return;
    }
    plain_convolution_forward(y, m->x, &v->patches);
    plain_step(m, y, pixels, out);
    if (stem == SVIT_STEM_PATCH)
        return;
    plain_activation_forward(v->hidden, v->pre_gelu, pixels * out, SVIT_ACTIVATION_GELU);
    plain_step(m, v->hidden, pixels, out);
    plain_linear_forward(v->embedded, v->hidden, &v->proj, pixels);
    plain_step(m, v->embedded, pixels, m->config.dim);
}

/* v->d: the gradient of v->embedded -> m->dx */
static void stem_backward(const plain_model *m, const shiftvit *v)
{
    const int32_t stem = m->config.stem;
    const size_t pixels = m->images * v->patches.rows * v->patches.columns, out = v->patches.out;
    if (stem == SVIT_STEM_CONV) {
        plain_stem_backward(m, v->d, &v->stem);
        return;
    }
    if (stem == SVIT_STEM_WHITENED) {
        plain_linear_backward(v->dhidden, v->d, v->hidden, &v->proj, pixels);
        plain_step(m, v->dhidden, pixels, out);
        plain_activation_backward(v->d, v->dhidden, v->pre_gelu, pixels * out,
                                  SVIT_ACTIVATION_GELU);
        plain_step(m, v->d, pixels, out);
    }
    plain_convolution_backward(m->dx, v->d, m->x, &v->patches);
    plain_step(m, m->dx, m->images * v->patches.height * v->patches.width, v->patches.channels);
}

/* Images, patch embedding, stages with a patch merging between them, mean, classifier. */
void plain_shiftvit_forward(plain_model *m)
{
    const svit_model_config *c = &m->config;
    const shiftvit *v = m->parts;
    const stage *s = v->stages;
    size_t tokens = s->height * s->width, groups = groups_of(m, s);
    stem_forward(m, v);
    plain_norm_step(m, v->tokens, v->embedded, &v->patch_norm, groups,
                    m->images * tokens * s->channels / groups);
    const double *x = v->tokens;
    for (size_t i = 0; i < c->stages; i++) {
        s = &v->stages[i];
        tokens = s->height * s->width;
        groups = groups_of(m, s);
        for (size_t j = 0; j < c->blocks[i]; j++) {
            block_forward(m, s, &s->blocks[j], x);
            x = s->blocks[j].y;
        }
        if (i + 1 == c->stages)
            break;
        plain_norm_step(m, s->merge_normed, x, &s->merge_norm, groups,
                        m->images * tokens * s->channels / groups);
        plain_convolution_forward(s->y, s->merge_normed, &s->reduction);
        plain_step(m, s->y, m->images * s->reduction.rows * s->reduction.columns, 2 * s->channels);
        x = s->y;
    }
    plain_norm_step(m, v->normed, x, &v->final_norm, groups,
                    m->images * tokens * s->channels / groups);
    plain_mean_forward(v->features, v->normed, m->images, tokens, s->channels);
    plain_step(m, v->features, m->images, s->channels);
    if (c->classifier) {
        plain_linear_forward(m->logits, v->features, &v->head, m->images);
        plain_step(m, m->logits, m->images, m->classes);
    } else {
        plain_copy(m->logits, v->features, m->images * m->classes);
    }
}

/* The input of block j of stage i; for j = blocks, of the patch merging or the final norm. */
static const double *input_of(const plain_model *m, size_t i, size_t j)
{
    const shiftvit *v = m->parts;
    if (j > 0)
        return v->stages[i].blocks[j - 1].y;
    return i > 0 ? v->stages[i - 1].y : v->tokens;
}

/* The same steps in the opposite order; v->d is the gradient of what the next one reads. */
void plain_shiftvit_backward(plain_model *m)
{
    const svit_model_config *c = &m->config;
    const shiftvit *v = m->parts;
    const stage *s = &v->stages[c->stages - 1];
    const size_t last_tokens = s->height * s->width;
    size_t groups = groups_of(m, s);
    if (c->classifier) {
        plain_linear_backward(v->dfeatures, m->dlogits, v->features, &v->head, m->images);
        plain_step(m, v->dfeatures, m->images, s->channels);
    } else {
        plain_copy(v->dfeatures, m->dlogits, m->images * m->classes);
    }
    plain_mean_backward(v->dnormed, v->dfeatures, m->images, last_tokens, s->channels);
    plain_step(m, v->dnormed, m->images * last_tokens, s->channels);
    plain_norm_step_backward(m, v->d, v->dnormed,
                             input_of(m, c->stages - 1, c->blocks[c->stages - 1]), &v->final_norm,
                             groups, m->images * last_tokens * s->channels / groups);
    for (size_t i = c->stages; i-- > 0;) {
        s = &v->stages[i];
        const size_t elements = m->images * s->height * s->width * s->channels;
        groups = groups_of(m, s);
        if (i + 1 < c->stages) {
            plain_convolution_backward(v->dnormed, v->d, s->merge_normed, &s->reduction);
            plain_step(m, v->dnormed, elements / s->channels, s->channels);
            plain_norm_step_backward(m, v->d, v->dnormed, input_of(m, i, c->blocks[i]),
                                     &s->merge_norm, groups, elements / groups);
        }
        for (size_t j = c->blocks[i]; j-- > 0;)
            block_backward(m, s, &s->blocks[j], input_of(m, i, j));
    }
    plain_copy(v->dnormed, v->d, m->images * s->height * s->width * s->channels);
    plain_norm_step_backward(m, v->d, v->dnormed, v->embedded, &v->patch_norm, groups,
                             m->images * s->height * s->width * s->channels / groups);
    stem_backward(m, v);
}
