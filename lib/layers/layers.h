/* The layers that models are lists of. Each creator allocates its layer from the context;
 * parameters are found by name in the model's table. */
#ifndef SV_LAYERS_H
#define SV_LAYERS_H

#include "autograd/layer.h"
#include "autograd/parameter.h"
#include "kernels/kernels.h"

/* y = norm(x) over each token (layer) or each image (group): parameters `name`.weight, .bias. */
typedef struct sv_norm_options {
    sv_shape shape;
    const char *name;
    int per_image; /* 1: one group over height, width, channels */
    double eps;
} sv_norm_options;
svit_status sv_norm_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                           const sv_norm_options *options, svit_error *err);

/* Where an MLP's parameters are: `norm`.weight, `fc1`.weight and so on. */
typedef struct sv_mlp_names {
    char norm[64], fc1[64], fc2[64];
} sv_mlp_names;

/* A ShiftViT block, and with group 0 the MLP of a transformer: x = shift(x);
 * y = x + droppath(mlp(norm(x))). */
typedef struct sv_shift_options {
    sv_shape shape;
    size_t hidden, group_channels, pixels;
    int crop;           /* SVIT_SHIFT_KERAS */
    int norm_per_image; /* as sv_norm_options.group */
    int last_gelu;      /* GELU after the second product too */
    double eps, dropout, drop_path;
    sv_mlp_names names;
} sv_shift_options;
svit_status sv_shift_block_create(sv_layer **out, svit_context *context,
                                  const sv_parameter_table *table, const sv_shift_options *options,
                                  svit_error *err);

/* A convolution whose kernel is its stride, as patches times a weight: `name`.weight, and
 * `name`.bias where there is one. */
typedef struct sv_patch_options {
    sv_shape in;
    size_t size, channels_out;
    int same_padding;
    const char *name;
    const sv_norm_options *norm; /* to infer, patches of 2 x 2 of norm(x), a layer norm; or NULL */
} sv_patch_options;
svit_status sv_patch_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                            const sv_patch_options *options, svit_error *err);

/* To infer, what a ShiftViT ends with, in one: a block without a last GELU, the mean over its
 * tokens, and `head`.weight, .bias: y[n, classes] = mean(block(x)) H^T + h. */
svit_status sv_shift_head_create(sv_layer **out, svit_context *context,
                                 const sv_parameter_table *table, const sv_shift_options *block,
                                 size_t classes, const char *head, svit_error *err);

/* Where attention's parameters are; qkv's bias, proj and temperature only where the table has them.
 */
typedef struct sv_attention_names {
    char norm[64], qkv[64], proj[64], temperature[64];
} sv_attention_names;

/* y = x + droppath(proj(attention(norm(x)))). Vaswani et al. 2017; with `masked` and a temperature
 * of its own locality self-attention (Lee, Lee, Song 2021). */
typedef struct sv_attention_options {
    sv_shape shape;
    size_t heads, head_dim;
    int per_head; /* the temperature: a factor for each head; 0: one divisor */
    int masked;   /* a token does not see itself */
    double eps, dropout, drop_path;
    sv_attention_names names;
} sv_attention_options;
svit_status sv_attention_create(sv_layer **out, svit_context *context,
                                const sv_parameter_table *table,
                                const sv_attention_options *options, svit_error *err);

/* Heads and tokens of an attention block; false for any other layer. */
bool sv_layer_attends(const sv_layer *layer, size_t *heads, size_t *tokens);

/* Shifted patch tokenization: y = norm(patches) W^T + b, of patches [tokens, size * size * 5
 * channels] of the image and of its four diagonally shifted copies: only as the first layer, for
 * the image gets no gradient. `norm`, `projection`: prefixes of .weight and .bias. */
typedef struct sv_shifted_options {
    sv_shape in;
    size_t size, channels_out;
    int paper_order; /* as SVIT_SPT_PAPER */
    double eps;
    const char *norm, *projection;
} sv_shifted_options;
svit_status sv_shifted_tokens_create(sv_layer **out, svit_context *context,
                                     const sv_parameter_table *table,
                                     const sv_shifted_options *options, svit_error *err);

/* y[n, T, c] = x + `position`[T, c]; with `class_token` y[n, T + 1, c] begins with that token. */
svit_status sv_position_create(sv_layer **out, svit_context *context,
                               const sv_parameter_table *table, sv_shape in, const char *position,
                               const char *class_token, svit_error *err);

/* y[n, c] = the first token of x[n, T, c]. */
svit_status sv_first_token_create(sv_layer **out, svit_context *context, sv_shape in,
                                  svit_error *err);

/* y = gelu(x), and y = dropout(x), the latter in training only. */
svit_status sv_gelu_create(sv_layer **out, svit_context *context, sv_shape map, svit_error *err);
svit_status sv_dropout_create(sv_layer **out, svit_context *context, sv_shape map, double rate,
                              svit_error *err);

/* y[n, c] = the mean of x[n, h, w, c] over its tokens. */
svit_status sv_mean_create(sv_layer **out, svit_context *context, sv_shape in, svit_error *err);

/* y = x W^T + b on every token: `name`.weight, .bias. */
svit_status sv_dense_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                            sv_shape in, size_t channels_out, const char *name, svit_error *err);

/* Frees any of them; NULL allowed. */
void sv_layer_free(svit_context *context, sv_layer *layer);

#endif
