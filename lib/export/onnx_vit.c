/* The ONNX graph of a ViT or SL-ViT; models/vit/vit_layers.c has the same parts. */
#include "export/onnx_vit.h"
#include "export/onnx.h"
#include "kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* The whole name of a parameter of a block. */
typedef struct block_name {
    char text[64];
} block_name;

static block_name name_in(const sv_onnx_vit *self, size_t index, const char *name)
{
    block_name whole;
    snprintf(whole.text, sizeof whole.text, "%s%zu.%s", self->names->layer, index, name);
    return whole;
}

/* The image and its four diagonally shifted copies as channels: copy k is
 * y[h, w] = x[h + down half, w + right half], zero outside of x. */
static sv_onnx_value shifted_copies(const sv_onnx_vit *self, const sv_onnx_value *images)
{
    const svit_model_config *config = self->config;
    const int(*shifts)[2] = SV_COPY_SHIFTS[config->spt_order];
    const int64_t half = config->patch_size / 2, height = config->input_height;
    const int64_t width = config->input_width, channels = config->in_channels;
    const sv_onnx_value padded = sv_onnx_pad(self->graph, images, (size_t)half, (size_t)half);
    sv_onnx_value copies[SV_COPIES] = {*images};
    for (size_t k = 1; k < SV_COPIES; k++) {
        const int64_t top = half + shifts[k][0] * half, left = half + shifts[k][1] * half;
        const int64_t begins[3] = {top, left, 0}, ends[3] = {top + height, left + width, channels};
        copies[k] = sv_onnx_slice_box(self->graph, &padded, begins, ends);
    }
    return sv_onnx_concat(self->graph, copies, SV_COPIES, 3);
}

/* images[N, height, width, c] -> [N, patches, patch_size * patch_size * c], without the pixels
 * behind the last whole patch */
static sv_onnx_value patch_rows(const sv_onnx_vit *self, const sv_onnx_value *images)
{
    static const int64_t order[6] = {0, 1, 3, 2, 4, 5};
    const int64_t size = self->config->patch_size;
    const int64_t rows = self->config->input_height / size;
    const int64_t columns = self->config->input_width / size;
    const int64_t cut[6] = {0, rows, size, columns, size, -1};
    const int64_t row[3] = {0, rows * columns, (int64_t)sv_vit_patch_elements(self->config)};
    sv_onnx_value x = *images;
    if (self->config->input_height % size != 0)
        x = sv_onnx_slice(self->graph, &x, 1, 0, (size_t)(rows * size));
    if (self->config->input_width % size != 0)
        x = sv_onnx_slice(self->graph, &x, 2, 0, (size_t)(columns * size));
    x = sv_onnx_reshape(self->graph, &x, cut, 6);
    x = sv_onnx_transpose(self->graph, &x, order, 6);
    return sv_onnx_reshape(self->graph, &x, row, 3);
}

static sv_onnx_value add_tokens(const sv_onnx_vit *self, const sv_onnx_value *images)
{
    sv_onnx_value x = *images;
    sv_onnx_scope(self->graph, "%s", "patch_embed");
    if (self->config->tokenizer == SVIT_TOKENIZER_CONV) {
        const int64_t rows[3] = {0, (int64_t)sv_model_patches(self->config), self->config->dim};
        x = sv_onnx_conv_stem(self->graph, &x, self->config);
        return sv_onnx_reshape(self->graph, &x, rows, 3);
    }
    if (self->config->tokenizer == SVIT_TOKENIZER_SPT) {
        x = shifted_copies(self, &x);
        x = patch_rows(self, &x);
        x = sv_onnx_layer_norm(self->graph, &x, self->names->patch_norm);
    } else {
        x = patch_rows(self, &x);
    }
    return sv_onnx_linear(self->graph, &x, self->names->patch);
}

/* The prefix tokens [1, prefix, dim] for each image, and the patches after them. */
static sv_onnx_value add_prefix(const sv_onnx_vit *self, const sv_onnx_value *patches)
{
    const svit_model_config *config = self->config;
    const struct {
        const char *name;
        int64_t count;
    } kinds[3] = {{self->names->class_token, sv_vit_has_class_token(config)},
                  {self->names->distillation_token, config->distilled != 0},
                  {self->names->register_tokens, config->register_tokens}};
    const int64_t shape[2] = {(int64_t)sv_vit_prefix(config), config->dim};
    sv_onnx_value tokens[3], both[2];
    size_t count = 0;
    for (size_t i = 0; i < 3; i++)
        if (kinds[i].count > 0)
            tokens[count++] = sv_onnx_parameter(self->graph, kinds[i].name, "");
    both[0] = sv_onnx_concat(self->graph, tokens, count, 1);
    const sv_onnx_value target = sv_onnx_batch_shape(self->graph, patches, shape, 2);
    both[0] = sv_onnx_binary(self->graph, "Expand", &both[0], &target);
    both[1] = *patches;
    return sv_onnx_concat(self->graph, both, 2, 1);
}

/* The position embedding of all tokens, [tokens, dim]: tokens without one have zeros. */
static sv_onnx_value positions(const sv_onnx_vit *self)
{
    const size_t prefix = sv_vit_prefix(self->config);
    const size_t positioned = sv_vit_positioned_prefix(self->config);
    const size_t rows = positioned + sv_model_patches(self->config);
    const int64_t stored[2] = {(int64_t)rows, self->config->dim};
    const int64_t none[2] = {(int64_t)(prefix - positioned), self->config->dim};
    const sv_onnx_value table =
        sv_onnx_parameter_as(self->graph, self->names->position, "", stored, 2);
    if (positioned == prefix)
        return table;
    sv_onnx_value parts[3];
    size_t count = 0;
    if (positioned > 0)
        parts[count++] = sv_onnx_slice(self->graph, &table, 0, 0, positioned);
    const sv_onnx_value shape = sv_onnx_vector(self->graph, none, 2);
    parts[count++] = sv_onnx_unary(self->graph, "ConstantOfShape", &shape);
    parts[count++] = sv_onnx_slice(self->graph, &table, 0, positioned, rows);
    return sv_onnx_concat(self->graph, parts, count, 0);
}

static sv_onnx_value add_position(const sv_onnx_vit *self, const sv_onnx_value *patches)
{
    sv_onnx_value x = *patches;
    sv_onnx_scope(self->graph, "%s", "position");
    if (sv_vit_prefix(self->config) > 0)
        x = add_prefix(self, &x);
    if (sv_vit_has_positions(self->config)) {
        const sv_onnx_value table = positions(self);
        x = sv_onnx_binary(self->graph, "Add", &x, &table);
    }
    return self->config->pre_norm ? sv_onnx_layer_norm(self->graph, &x, self->names->pre_norm) : x;
}

/* A bool [tokens, tokens], true on the diagonal of the attention scores. */
static sv_onnx_value make_diagonal(sv_onnx_graph *graph, int64_t tokens)
{
    const int64_t shape[2] = {tokens, tokens};
    const sv_onnx_value vector = sv_onnx_vector(graph, shape, 2);
    sv_onnx_value x = sv_onnx_unary(graph, "ConstantOfShape", &vector);
    x = sv_onnx_unary(graph, "EyeLike", &x);
    return sv_onnx_binary_scalar(graph, "Greater", &x, 0.5);
}

/* Queries, keys or values by heads: part `which` of qkv[N, tokens, 3 heads head_dim] with the
 * dimensions [N, tokens, heads, head_dim] in another order. */
static sv_onnx_value heads_of(const sv_onnx_vit *self, const sv_onnx_value *qkv, size_t which,
                              const int64_t order[4])
{
    /* Differential attention has two maps for each head, from half of its channels. */
    const bool maps = self->config->attention == SVIT_ATTENTION_DIFFERENTIAL && which < 2;
    const int64_t shape[4] = {0, 0, self->config->heads * (maps ? 2 : 1),
                              self->config->head_dim / (maps ? 2 : 1)};
    const size_t width = (size_t)self->config->heads * self->config->head_dim;
    sv_onnx_value x = sv_onnx_slice(self->graph, qkv, 2, which * width, (which + 1) * width);
    x = sv_onnx_reshape(self->graph, &x, shape, 4);
    return sv_onnx_transpose(self->graph, &x, order, 4);
}

/* The scores times the inverse temperature. */
static sv_onnx_value scale_scores(const sv_onnx_vit *self, const sv_onnx_value *scores,
                                  size_t index)
{
    const svit_model_config *config = self->config;
    const bool maps = config->attention == SVIT_ATTENTION_DIFFERENTIAL;
    if (config->attention != SVIT_ATTENTION_LSA)
        return sv_onnx_binary_scalar(self->graph, "Mul", scores,
                                     1 / sqrt((double)config->head_dim / (maps ? 2 : 1)));
    const block_name name = name_in(self, index, self->names->temperature);
    const bool per_head = config->temperature == SVIT_TEMPERATURE_MULTIPLY;
    const int64_t shape[3] = {per_head ? config->heads : 1, 1, 1};
    const sv_onnx_value temperature = sv_onnx_parameter_as(self->graph, name.text, "", shape, 3);
    return sv_onnx_binary(self->graph, per_head ? "Mul" : "Div", scores, &temperature);
}

/* The weights of locality self-attention: the diagonal is 0. A token that is alone has no others,
 * so all its weights are 0. */
static sv_onnx_value masked_softmax(const sv_onnx_vit *self, const sv_onnx_value *scores)
{
    const sv_onnx_value least = sv_onnx_scalar(self->graph, -FLT_MAX);
    sv_onnx_begin(self->graph, "Where");
    sv_onnx_input(self->graph, &self->diagonal);
    sv_onnx_input(self->graph, &least);
    sv_onnx_input(self->graph, scores);
    const sv_onnx_value masked = sv_onnx_end(self->graph);
    const sv_onnx_value weights = sv_onnx_unary(self->graph, "Softmax", &masked);
    if (sv_vit_sequence(self->config) > 1)
        return weights;
    return sv_onnx_binary_scalar(self->graph, "Mul", &weights, 0);
}

/* y = x + layer_scale * branch */
static sv_onnx_value add_residual(const sv_onnx_vit *self, const sv_onnx_value *x,
                                  const sv_onnx_value *branch, size_t index, const char *scale)
{
    sv_onnx_value y = *branch;
    if (self->config->layer_scale) {
        const block_name name = name_in(self, index, scale);
        const sv_onnx_value gamma = sv_onnx_parameter(self->graph, name.text, "");
        y = sv_onnx_binary(self->graph, "Mul", &y, &gamma);
    }
    return sv_onnx_binary(self->graph, "Add", x, &y);
}

/* The cosines and sines of a block. */
static sv_onnx_rotary rotary_of(const sv_onnx_vit *self, size_t index)
{
    if (self->config->rope != SVIT_ROPE_MIXED)
        return self->rotary;
    const block_name name = name_in(self, index, self->names->frequencies);
    return sv_onnx_rotary_learnt(self->graph, self->config, name.text);
}

static const int64_t BY_HEAD[4] = {0, 2, 1, 3};

/* Queries (0) [N, heads, tokens, head_dim] or keys (1) [N, heads, head_dim, tokens], normalised and
 * rotated. */
static sv_onnx_value prepared_heads(const sv_onnx_vit *self, const sv_onnx_value *qkv, size_t which,
                                    size_t index, const sv_onnx_rotary *rotary)
{
    static const int64_t transposed[4] = {0, 2, 3, 1}, last[4] = {0, 1, 3, 2};
    const svit_model_config *config = self->config;
    if (!config->qk_norm && !config->rope)
        return heads_of(self, qkv, which, which == 0 ? BY_HEAD : transposed);
    sv_onnx_value x = heads_of(self, qkv, which, BY_HEAD);
    if (config->qk_norm) {
        const block_name name =
            name_in(self, index, which == 0 ? self->names->query_norm : self->names->key_norm);
        x = sv_onnx_layer_norm(self->graph, &x, name.text);
    }
    if (config->rope)
        x = sv_onnx_rotate(self->graph, config, rotary, &x);
    return which == 0 ? x : sv_onnx_transpose(self->graph, &x, last, 4);
}

/* exp(q . k) of two of the vectors of lambda. */
static sv_onnx_value lambda_part(const sv_onnx_vit *self, size_t index, const char *q,
                                 const char *k)
{
    const block_name name = name_in(self, index, self->names->lambda);
    const sv_onnx_value vectors[2] = {sv_onnx_parameter(self->graph, name.text, q),
                                      sv_onnx_parameter(self->graph, name.text, k)};
    const sv_onnx_value product = sv_onnx_binary(self->graph, "MatMul", &vectors[0], &vectors[1]);
    return sv_onnx_unary(self->graph, "Exp", &product);
}

/* The first map minus lambda times the second one, of p[N, 2 heads, tokens, tokens]. */
static sv_onnx_value subtract_maps(const sv_onnx_vit *self, const sv_onnx_value *p, size_t index)
{
    const int64_t heads = self->config->heads, tokens = (int64_t)sv_vit_sequence(self->config);
    const int64_t pairs[5] = {0, heads, 2, tokens, tokens}, joined[4] = {0, heads, tokens, tokens};
    const sv_onnx_value parts[2] = {lambda_part(self, index, "q1", "k1"),
                                    lambda_part(self, index, "q2", "k2")};
    sv_onnx_value lambda = sv_onnx_binary(self->graph, "Sub", &parts[0], &parts[1]);
    lambda = sv_onnx_binary_scalar(self->graph, "Add", &lambda, sv_vit_lambda_init(index));
    const sv_onnx_value maps = sv_onnx_reshape(self->graph, p, pairs, 5);
    const sv_onnx_value first = sv_onnx_slice(self->graph, &maps, 2, 0, 1);
    sv_onnx_value second = sv_onnx_slice(self->graph, &maps, 2, 1, 2);
    second = sv_onnx_binary(self->graph, "Mul", &second, &lambda);
    second = sv_onnx_binary(self->graph, "Sub", &first, &second);
    return sv_onnx_reshape(self->graph, &second, joined, 4);
}

/* The norm of each head's output in differential attention. */
static sv_onnx_value norm_heads(const sv_onnx_vit *self, const sv_onnx_value *x, size_t index)
{
    const block_name name = name_in(self, index, self->names->output_norm);
    const sv_onnx_value y = sv_onnx_rms_norm(self->graph, x, name.text, SV_VIT_OUTPUT_EPS);
    return sv_onnx_binary_scalar(self->graph, "Mul", &y, 1 - sv_vit_lambda_init(index));
}

/* softmax(q k^T / temperature) v, [N, tokens, heads * head_dim] */
static sv_onnx_value attend(const sv_onnx_vit *self, const sv_onnx_value *qkv, size_t index)
{
    const int64_t joined[3] = {0, 0, (int64_t)self->config->heads * self->config->head_dim};
    const sv_onnx_rotary rotary = rotary_of(self, index);
    const sv_onnx_value q = prepared_heads(self, qkv, 0, index, &rotary);
    const sv_onnx_value k = prepared_heads(self, qkv, 1, index, &rotary);
    const sv_onnx_value v = heads_of(self, qkv, 2, BY_HEAD);
    sv_onnx_value x = sv_onnx_binary(self->graph, "MatMul", &q, &k);
    x = scale_scores(self, &x, index);
    x = self->config->attention == SVIT_ATTENTION_LSA ? masked_softmax(self, &x)
                                                      : sv_onnx_unary(self->graph, "Softmax", &x);
    const bool differential = self->config->attention == SVIT_ATTENTION_DIFFERENTIAL;
    if (differential)
        x = subtract_maps(self, &x, index);
    x = sv_onnx_binary(self->graph, "MatMul", &x, &v);
    if (differential)
        x = norm_heads(self, &x, index);
    x = sv_onnx_transpose(self->graph, &x, BY_HEAD, 4);
    return sv_onnx_reshape(self->graph, &x, joined, 3);
}

/* The branch of the attention from the norm of x. */
static sv_onnx_value attention_branch(const sv_onnx_vit *self, const sv_onnx_value *x, size_t index)
{
    const block_name qkv = name_in(self, index, self->names->qkv);
    const block_name projection = name_in(self, index, self->names->projection);
    sv_onnx_value y = sv_onnx_linear(self->graph, x, qkv.text);
    y = attend(self, &y, index);
    if (self->config->attention_norm) {
        const block_name inner = name_in(self, index, self->names->attention_norm);
        y = sv_onnx_layer_norm(self->graph, &y, inner.text);
    }
    return sv_vit_has_projection(self->config) ? sv_onnx_linear(self->graph, &y, projection.text)
                                               : y;
}

sv_onnx_value sv_onnx_activation(const sv_onnx_vit *self, const sv_onnx_value *x)
{
    const double root = 2 * sqrt(2 / acos(-1));
    switch (self->config->activation) {
    case SVIT_ACTIVATION_GELU_TANH: /* (1 + tanh(u)) / 2 is sigmoid(2 u) */
        return sv_onnx_sigmoid_gate(self->graph, x, root, 0.044715 * root);
    case SVIT_ACTIVATION_QUICK_GELU:
        return sv_onnx_sigmoid_gate(self->graph, x, 1.702, 0);
    default:
        return sv_onnx_gelu(self->graph, x);
    }
}

/* The activation of u, or with SwiGLU silu(u) * v of the halves u and v. */
static sv_onnx_value activate(const sv_onnx_vit *self, const sv_onnx_value *x)
{
    const size_t hidden = self->config->mlp_dim;
    if (self->config->mlp != SVIT_MLP_SWIGLU)
        return sv_onnx_activation(self, x);
    const sv_onnx_value u = sv_onnx_slice(self->graph, x, 2, 0, hidden);
    const sv_onnx_value v = sv_onnx_slice(self->graph, x, 2, hidden, 2 * hidden);
    const sv_onnx_value silu = sv_onnx_sigmoid_gate(self->graph, &u, 1, 0);
    return sv_onnx_binary(self->graph, "Mul", &silu, &v);
}

static sv_onnx_value mlp_branch(const sv_onnx_vit *self, const sv_onnx_value *x, size_t index)
{
    const block_name fc1 = name_in(self, index, self->names->fc1);
    const block_name hidden_norm = name_in(self, index, self->names->mlp_norm);
    const block_name fc2 = name_in(self, index, self->names->fc2);
    sv_onnx_value y = sv_onnx_linear(self->graph, x, fc1.text);
    y = activate(self, &y);
    if (self->config->mlp_norm)
        y = sv_onnx_layer_norm(self->graph, &y, hidden_norm.text);
    y = sv_onnx_linear(self->graph, &y, fc2.text);
    return self->config->mlp_last_gelu ? sv_onnx_gelu(self->graph, &y) : y;
}

static sv_onnx_value add_block(const sv_onnx_vit *self, const sv_onnx_value *x, size_t index)
{
    const block_name norm1 = name_in(self, index, self->names->norm1);
    const block_name norm2 = name_in(self, index, self->names->norm2);
    sv_onnx_scope(self->graph, "blocks.%zu.attention", index);
    const sv_onnx_value normed = sv_onnx_layer_norm(self->graph, x, norm1.text);
    sv_onnx_value branch = attention_branch(self, &normed, index);
    if (self->config->block != SVIT_BLOCK_SEQUENTIAL) {
        sv_onnx_scope(self->graph, "blocks.%zu.mlp", index);
        const sv_onnx_value other = mlp_branch(self, &normed, index);
        branch = sv_onnx_binary(self->graph, "Add", &branch, &other);
        return add_residual(self, x, &branch, index, self->names->scale1);
    }
    const sv_onnx_value y = add_residual(self, x, &branch, index, self->names->scale1);
    sv_onnx_scope(self->graph, "blocks.%zu.mlp", index);
    branch = sv_onnx_layer_norm(self->graph, &y, norm2.text);
    branch = mlp_branch(self, &branch, index);
    return add_residual(self, &y, &branch, index, self->names->scale2);
}

/* x[N, tokens, dim] -> [N, features]; in a distilled model [N, 2, dim]. */
static sv_onnx_value add_pooling(const sv_onnx_vit *self, const sv_onnx_value *tokens)
{
    const svit_model_config *config = self->config;
    const int64_t row[2] = {0, (int64_t)sv_vit_features(config)};
    const size_t prefix = sv_vit_prefix(config), all = sv_vit_sequence(config);
    sv_onnx_value x = *tokens, parts[2];
    sv_onnx_scope(self->graph, "%s", "pool");
    if (config->pool == SVIT_POOL_CLASS_TOKEN)
        x = sv_onnx_slice(self->graph, &x, 1, 0, config->distilled ? 2 : 1);
    if (config->final_norm)
        x = sv_onnx_layer_norm(self->graph, &x, self->names->norm);
    switch (config->pool) {
    case SVIT_POOL_MEAN:
        return sv_onnx_mean_tokens(self->graph, &x);
    case SVIT_POOL_MEAN_PATCHES:
        x = sv_onnx_slice(self->graph, &x, 1, prefix, all);
        return sv_onnx_mean_tokens(self->graph, &x);
    case SVIT_POOL_ATTENTION:
        return sv_onnx_attention_pool(self, &x);
    case SVIT_POOL_CLASS_MEAN:
        parts[0] = sv_onnx_slice(self->graph, &x, 1, 0, 1);
        parts[0] = sv_onnx_mean_tokens(self->graph, &parts[0]);
        parts[1] = sv_onnx_slice(self->graph, &x, 1, prefix, all);
        parts[1] = sv_onnx_mean_tokens(self->graph, &parts[1]);
        return sv_onnx_concat(self->graph, parts, 2, 1);
    default:
        return config->distilled ? x : sv_onnx_reshape(self->graph, &x, row, 2);
    }
}

/* The mean of the logits of two heads, of the class token and of the distillation token. */
static sv_onnx_value distilled_head(const sv_onnx_vit *self, const sv_onnx_value *x,
                                    const char *head)
{
    sv_onnx_value logits[2];
    for (size_t i = 0; i < 2; i++) {
        const sv_onnx_value one = sv_onnx_slice(self->graph, x, 1, i, i + 1);
        const sv_onnx_value token = sv_onnx_mean_tokens(self->graph, &one);
        logits[i] =
            sv_onnx_linear(self->graph, &token, i == 0 ? head : self->names->distilled_head);
    }
    const sv_onnx_value sum = sv_onnx_binary(self->graph, "Add", &logits[0], &logits[1]);
    return sv_onnx_binary_scalar(self->graph, "Mul", &sum, 0.5);
}

static sv_onnx_value add_head(const sv_onnx_vit *self, const sv_onnx_value *features)
{
    const svit_model_config *config = self->config;
    sv_onnx_value x = *features;
    char name[64];
    sv_onnx_scope(self->graph, "%s", "head");
    if (config->head_norm)
        x = sv_onnx_layer_norm(self->graph, &x, self->names->head_norm);
    if (!config->classifier)
        return config->distilled ? sv_onnx_mean_tokens(self->graph, &x) : x;
    for (size_t i = 0; i < config->head_layers; i++) {
        snprintf(name, sizeof name, "%s%zu", self->names->head, i + 1);
        x = sv_onnx_linear(self->graph, &x, name);
        x = sv_onnx_gelu(self->graph, &x);
    }
    snprintf(name, sizeof name, "%s%zu", self->names->head, (size_t)config->head_layers + 1);
    return config->distilled ? distilled_head(self, &x, name)
                             : sv_onnx_linear(self->graph, &x, name);
}

sv_onnx_value sv_vit_onnx(sv_onnx_graph *graph, const sv_onnx_value *images)
{
    /* Without a position embedding the input may have another size than the configuration says. */
    svit_model_config of_graph = graph->model->config, *config = &of_graph;
    config->input_height = (uint32_t)graph->height;
    config->input_width = (uint32_t)graph->width;
    sv_onnx_vit self = {.graph = graph, .config = config, .names = sv_vit_names_of(config)};
    sv_onnx_scope(graph, "%s", "attention"); /* constants of all blocks */
    if (config->rope == SVIT_ROPE_AXIAL || config->rope == SVIT_ROPE_CENTRED)
        self.rotary = sv_onnx_rotary_fixed(graph, config);
    if (config->attention == SVIT_ATTENTION_LSA)
        self.diagonal = make_diagonal(graph, (int64_t)sv_vit_sequence(config));
    sv_onnx_value x = add_tokens(&self, images);
    x = add_position(&self, &x);
    for (size_t i = 0; i < config->depth; i++)
        x = add_block(&self, &x, i);
    x = add_pooling(&self, &x);
    return add_head(&self, &x);
}
