/* The layers that models are lists of. A layer's comment stands above its options, or above its
 * creator if it has none. The table of parameters is made from the same configuration as the
 * layers, so a creator finds those of its layer there. A creator returns NULL for SVIT_E_MEMORY.
 * sv_layer_free frees any layer. Equations show one image; drop_path and dropout act in training
 * only. */
#ifndef SV_LAYERS_H
#define SV_LAYERS_H

#include "autograd/layer.h"
#include "autograd/parameter.h"
#include "kernels/kernels.h"

/* Where a creator takes memory and parameters from. */
typedef struct sv_layer_source {
    svit_context *context;
    const sv_parameter_table *table;
    const char *prefix; /* before the names that a creator gets: "blocks.0." */
    svit_error *err;
} sv_layer_source;

/* y = norm(x): layer norm of each token, or group norm with one group over height, width and
 * channels. Parameters `name`.weight [c] and `name`.bias [c]. */
typedef struct sv_norm_options {
    sv_shape shape;
    const char *name;
    bool per_image; /* group norm */
    double eps;
} sv_norm_options;
sv_layer *sv_norm_create(const sv_layer_source *source, const sv_norm_options *options);

/* Names of an MLP block's parameters: `norm`.weight, `norm`.bias, `fc1`.weight and so on; and the
 * whole name of the factors of LayerScale. These and the norm of the hidden channels are used if
 * their name is not NULL and the table has them. */
typedef struct sv_mlp_names {
    const char *norm, *fc1, *fc2, *layer_scale, *hidden_norm;
} sv_mlp_names;

/* The shift of four channel groups of group_channels channels by `pixels`, in the directions left,
 * right, up and down; the other channels stay. group_channels 0: no shift. With `crop` nothing
 * moves and the border that would have been shifted in is cleared (SVIT_SHIFT_KERAS). */
typedef struct sv_shift_options {
    size_t group_channels, pixels;
    bool crop;
} sv_shift_options;

/* An MLP block with an optional shift before it, the block of ShiftViT (Wang et al. 2022) and the
 * MLP of a transformer:
 *   x = shift(x);  y = x + drop_path(layer_scale * mlp(norm(x))),  mlp(x) = fc2(gelu(fc1(x)))
 * with dropout after the GELU and after fc2. With `gated` it is SwiGLU (Shazeer 2020): fc1 has
 * 2 hidden_channels outputs u and v, and silu(u) * v takes the place of the GELU. A norm of the
 * hidden channels comes after the first dropout (Fang et al. 2023). */
typedef struct sv_mlp_options {
    sv_shape shape;
    size_t hidden_channels;
    sv_shift_options shift;
    bool norm_per_image;      /* group norm with one group; otherwise layer norm of each token */
    bool last_gelu;           /* GELU follows fc2 too; not with LayerScale */
    sv_activation activation; /* the form of the GELU after fc1 */
    bool gated;               /* SwiGLU */
    double eps, dropout, drop_path;
    sv_mlp_names names;
} sv_mlp_options;
sv_layer *sv_mlp_create(const sv_layer_source *source, const sv_mlp_options *options);

/* The token MLP of an MLP-Mixer (Tolstikhin et al. 2021), which acts on the T tokens of each
 * channel: y = x + drop_path(mlp(norm(x)^T)^T),  mlp(x) = fc2(gelu(fc1(x))) with a layer norm of
 * each token, and dropout after the GELU and after fc2. The weights are fc1 [hidden, T] and fc2 [T,
 * hidden]. */
typedef struct sv_token_mlp_options {
    sv_shape shape;
    size_t hidden;
    double eps, dropout, drop_path;
    sv_mlp_names names;
} sv_token_mlp_options;
sv_layer *sv_token_mlp_create(const sv_layer_source *source, const sv_token_mlp_options *options);

/* A convolution, y = patches W^T + b, whose stride is its kernel size unless `stride` is set.
 * Parameters `name`.weight and, if the table has it, `name`.bias. */
typedef struct sv_patch_options {
    sv_shape in;
    size_t size, channels_out;
    bool same_padding; /* otherwise VALID: pixels that fill no patch are ignored */
    const char *name;
    /* The norm of the input, which a layer of the inference graph may include: only a layer norm
     * and only with size 2. NULL: the layer has no norm. */
    const sv_norm_options *norm;
    /* Pixels from one patch to the next. 0: `size`, so that patches do not overlap. Otherwise a
     * convolution of an odd size with (size - 1) / 2 pixels of zero padding on all sides. */
    size_t stride;
} sv_patch_options;
sv_layer *sv_patch_create(const sv_layer_source *source, const sv_patch_options *options);

/* The end of a ShiftViT for the inference graph: the last block, which has no last GELU, the mean
 * over its tokens and the classifier `head`.weight H and `head`.bias h, whose names have no prefix,
 * in one layer:
 *   y[n, classes] = mean(block(x)) H^T + h */
sv_layer *sv_mlp_head_create(const sv_layer_source *source, const sv_mlp_options *block,
                             size_t classes, const char *head);

/* Names of an attention block's parameters: `norm`.weight, `norm`.bias, `qkv`.weight and so on; but
 * temperature, layer_scale, the factors of LayerScale, and frequencies are whole names. qkv's bias,
 * proj, temperature, the factors, the adapters of LoRA of qkv and proj (.lora_a and .lora_b) and
 * what the last four name are used if the table has them; these may be NULL. */
typedef struct sv_attention_names {
    const char *norm, *qkv, *proj, *temperature, *layer_scale;
    const char *query_norm, *key_norm; /* layer norms of each head's queries and keys */
    const char *attention_norm;        /* a layer norm of the heads' outputs before proj */
    const char *frequencies;           /* [2, heads, head_dim / 2], with SV_ROTARY_MIXED */
    /* Of differential attention, which the block has if the table has them: vectors [head_dim / 2]
     * with q1, k1, q2 and k2 after this, and the norm [head_dim] of each head's output. */
    const char *lambda, *output_norm;
} sv_attention_names;

/* Which rotary position embedding an attention block has: svit_model_config.rope says what each
 * one computes. */
typedef enum sv_rotary_kind {
    SV_ROTARY_NONE,
    SV_ROTARY_AXIAL,
    SV_ROTARY_CENTRED,
    SV_ROTARY_MIXED
} sv_rotary_kind;

/* The grid of rows x columns patches is the end of the tokens; those before are not rotated. */
typedef struct sv_rotary_options {
    sv_rotary_kind kind;
    size_t rows, columns;
    bool
        columns_first; /* the first half of the angles is that of columns, with mixed the first half
                           of the frequencies */
    bool halves;       /* pairs are the channels j and j + head_dim / 2, otherwise neighbours */
    double theta;
    double offset;            /* of places, with SV_ROTARY_AXIAL */
    size_t reference_rows;    /* of the grid to which places are scaled; 0: rows */
    size_t reference_columns; /* likewise */
} sv_rotary_options;

/* y = x + drop_path(layer_scale * proj(attention(norm(x)))) (Vaswani et al. 2017), with dropout of
 * the attention weights. With `masked` and a temperature it is locality self-attention (Lee, Lee,
 * Song 2021). Differential attention (Ye et al. 2024) is not rotated and has no other norms. */
typedef struct sv_attention_options {
    sv_shape shape;
    size_t heads, head_dim;
    bool per_head; /* the temperature is one factor per head; otherwise one divisor of all scores */
    bool masked;   /* masks the diagonal of the attention scores */
    bool no_key_bias; /* the keys' part of qkv's bias is 0 and has no gradient */
    double eps, dropout, drop_path;
    double lora_alpha;  /* lora_alpha / rank is the factor of the adapters' product */
    double lambda_init; /* of differential attention, as is output_eps, of its output_norm */
    double output_eps;
    sv_rotary_options rotary;
    sv_attention_names names;
} sv_attention_options;
sv_layer *sv_attention_create(const sv_layer_source *source, const sv_attention_options *options);

/* A parallel block: y = x + drop_path(layer_scale * (attention(norm(x)) + mlp(norm(x)))). The names
 * of the norm and of the factors and the rate of DropPath are those of both options; the MLP has no
 * shift. */
sv_layer *sv_parallel_create(const sv_layer_source *source, const sv_attention_options *attention,
                             const sv_mlp_options *mlp);

/* Shifted patch tokenization: y = norm(patches) W^T + b, of patches [tokens, size * size * 5
 * channels] of the image and of its four diagonally shifted copies. `norm` and `projection` are
 * prefixes of .weight and .bias. */
typedef struct sv_shifted_options {
    sv_shape in;
    size_t size, channels_out;
    bool paper_order; /* the order of the copies: SVIT_SPT_PAPER; otherwise SVIT_SPT_KERAS */
    double eps;
    const char *norm, *projection;
} sv_shifted_options;
sv_layer *sv_shifted_tokens_create(const sv_layer_source *source,
                                   const sv_shifted_options *options);

/* y[n, P + T, c]: P prefix tokens, then the patches x[n, T, c], all plus their positions. Names are
 * those of whole parameters; `position` NULL: no token has a position. The first positioned_prefix
 * of the prefix tokens have positions, which are the first rows of `position`; the patches have the
 * T rows after them. */
typedef struct sv_position_options {
    sv_shape in;
    const char *position;
    const char *class_token, *distillation_token; /* one token each; NULL: none */
    const char *register_tokens;                  /* register_count tokens; NULL: none */
    size_t register_count;
    size_t positioned_prefix;
} sv_position_options;
sv_layer *sv_position_create(const sv_layer_source *source, const sv_position_options *options);

/* The layers of masked autoencoding (He et al. 2021). */
typedef enum sv_masking_kind {
    SV_MASKING_HIDE,    /* y = the first `prefix` tokens of x and the visible ones of the patches */
    SV_MASKING_RESTORE, /* y = all patches, of such an x, the mask token in place of the others */
    SV_MASKING_SILENCE  /* y = the patches x, but 0 where they were visible */
} sv_masking_kind;
typedef struct sv_masking_options {
    sv_masking_kind kind;
    sv_shape in;
    size_t prefix, patches, visible;
    const char *token; /* a whole name, of SV_MASKING_RESTORE */
} sv_masking_options;
sv_layer *sv_masking_create(const sv_layer_source *source, const sv_masking_options *options);

/* y[n, H, W, c] = x + conv(x): a convolution of each channel by itself with the 3 x 3 taps
 * `name`.weight [c, 1, 3, 3], zero padding, plus `name`.bias [c]. */
sv_layer *sv_depthwise_create(const sv_layer_source *source, sv_shape shape, const char *name);

/* y[n, count, c]: the first tokens of x[n, T, c]. */
sv_layer *sv_first_tokens_create(const sv_layer_source *source, sv_shape in, size_t count);

/* y[n, c] = the mean of x[n, t, c] over t >= prefix; with class_token y[n, 2 c], the first token
 * and that mean. */
sv_layer *sv_patch_mean_create(const sv_layer_source *source, sv_shape in, size_t prefix,
                               bool class_token);

/* Attention pooling of x[n, T, c] to y[n, c] (Lee et al. 2019; Zhai et al. 2023): the query of each
 * head is a linear map of the parameter `latent` [c], keys and values are linear maps of the
 * tokens:
 *   y = proj(softmax(q k^T / sqrt(c / heads)) v)
 * `query`, `key_value` and `proj` are prefixes of .weight and .bias; the rows of the keys are the
 * first half of `key_value`. */
typedef struct sv_attention_pool_options {
    sv_shape in;
    size_t heads; /* divides the channels */
    const char *latent, *query, *key_value, *proj;
} sv_attention_pool_options;
sv_layer *sv_attention_pool_create(const sv_layer_source *source,
                                   const sv_attention_pool_options *options);

/* y[n, classes] = the mean of two linear maps, `head` of x[n, 0, c] and `distilled` of x[n, 1, c].
 * Parameters are the names with .weight and .bias. */
sv_layer *sv_distilled_head_create(const sv_layer_source *source, sv_shape in, size_t classes,
                                   const char *head, const char *distilled);

/* y = gelu(x) */
sv_layer *sv_gelu_create(const sv_layer_source *source, sv_shape shape);

/* y = dropout(x), in training only. */
sv_layer *sv_dropout_create(const sv_layer_source *source, sv_shape shape, double rate);

/* y[n, c] = the mean of x[n, h, w, c] over its tokens. */
sv_layer *sv_mean_create(const sv_layer_source *source, sv_shape in);

/* y = x W^T + b on every token. Parameters `name`.weight and `name`.bias. */
sv_layer *sv_dense_create(const sv_layer_source *source, sv_shape in, size_t channels_out,
                          const char *name);

/* Frees a layer; NULL is allowed. */
void sv_layer_free(svit_context *context, sv_layer *layer);

#endif
