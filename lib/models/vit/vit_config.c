/* The configuration of a ViT: its fields, the sizes that follow from it, and its checks. */
#include "base/size.h"
#include "base/status.h"
#include "kernels/kernels.h"
#include "models/config_fields.h"
#include "models/parts/conv_stem.h"
#include "models/vit/vit.h"

#include <math.h>

static const sv_field FIELDS[] = {
    SV_MODEL_FIELDS_INPUT,
    SV_MODEL_SIZE(depth, 1, 1000),
    SV_MODEL_SIZE(heads, 1, 65536),
    SV_MODEL_SIZE(head_dim, 1, 65536),
    SV_MODEL_SIZE(mlp_dim, 1, 1048576),
    SV_MODEL_WORD(tokenizer, "patch", "spt", "conv"),
    SV_MODEL_WORD(spt_order, "seed", "paper"),
    SV_MODEL_WORD(attention, "global", "lsa", "differential"),
    SV_MODEL_WORD(temperature, "divide", "multiply"),
    SV_MODEL_FLAG(qkv_bias),
    SV_MODEL_FLAG(mlp_last_gelu),
    SV_MODEL_WORD(pool, "flatten", "class_token", "mean", "mean-patches", "class-mean",
                  "attention"),
    SV_MODEL_LIST(head_units, head_layers, 0, SVIT_MAX_HEAD_LAYERS, 1, 1048576),
    SV_MODEL_FIELDS_CLASSIFIER,
    SV_MODEL_RATE(attention_dropout),
    SV_MODEL_RATE(head_dropout),
    SV_MODEL_FIELDS_DROP_PATH,
    SV_MODEL_WORD(names, "seed", "paper"),
    SV_MODEL_FIELD_INIT,
    SV_MODEL_SIZE(register_tokens, 0, 1024),
    SV_MODEL_FLAG(distilled),
    SV_MODEL_WORD(position_tokens, "all", "patches", "class-patches", "none"),
    SV_MODEL_SIZE(position_height, 0, 8192),
    SV_MODEL_SIZE(position_width, 0, 8192),
    SV_MODEL_FLAG(patch_bias),
    SV_MODEL_FLAG(pre_norm),
    SV_MODEL_FLAG(layer_scale),
    SV_MODEL_WORD(activation, "gelu", "gelu-tanh", "quick-gelu"),
    SV_MODEL_WORD(mlp, "plain", "swiglu"),
    SV_MODEL_FLAG(final_norm),
    SV_MODEL_FLAG(head_norm),
    SV_MODEL_SIZE(lora_rank, 0, 65536),
    {SV_FIELD(svit_model_config, lora_alpha, REAL), .max = FLT_MAX},
    SV_MODEL_WORD(class_token, "by-pool", "none", "present"),
    SV_MODEL_WORD(rope, "none", "axial", "centred", "mixed"),
    SV_MODEL_WORD(rope_axes, "rows-first", "columns-first"),
    SV_MODEL_WORD(rope_pairs, "neighbours", "halves"),
    {SV_FIELD(svit_model_config, rope_theta, REAL), .max = FLT_MAX},
    {SV_FIELD(svit_model_config, rope_offset, REAL), .max = 8192},
    SV_MODEL_SIZE(rope_height, 0, 8192),
    SV_MODEL_SIZE(rope_width, 0, 8192),
    SV_MODEL_FLAG(no_key_bias),
    SV_MODEL_FLAG(qk_norm),
    SV_MODEL_FLAG(attention_norm),
    SV_MODEL_FLAG(mlp_norm),
    SV_MODEL_SIZE(pool_heads, 0, 65536),
    SV_MODEL_SIZE(pool_mlp_dim, 0, 1048576),
    SV_MODEL_FLAG(rms_norm),
    SV_MODEL_WORD(block, "sequential", "parallel", "parallel-fused"),
    SV_MODEL_RATE(mask_ratio),
    SV_MODEL_WORD(patch_padding, "same", "valid"),
};
_Static_assert(sizeof FIELDS / sizeof *FIELDS <= SV_VIT_MAX_FIELDS, "a ViT has more fields");
const sv_field_table sv_vit_fields = SV_MODEL_FIELD_TABLE(FIELDS);

/* The largest heads * head_dim. The limit of the field `dim` is the same. */
enum { HEADS_CHANNELS_MAX = 65536 };

size_t sv_vit_patch_elements(const svit_model_config *config)
{
    size_t copies = config->tokenizer == SVIT_TOKENIZER_SPT ? SV_COPIES : 1;
    return (size_t)config->patch_size * config->patch_size * config->in_channels * copies;
}

bool sv_vit_has_class_token(const svit_model_config *config)
{
    if (config->class_token != SVIT_CLASS_TOKEN_BY_POOL)
        return config->class_token == SVIT_CLASS_TOKEN_PRESENT;
    return config->pool == SVIT_POOL_CLASS_TOKEN || config->pool == SVIT_POOL_MEAN_PATCHES ||
           config->pool == SVIT_POOL_CLASS_MEAN;
}

bool sv_vit_has_positions(const svit_model_config *config)
{
    return config->position_tokens != SVIT_POSITION_NONE;
}

size_t sv_vit_prefix(const svit_model_config *config)
{
    return (size_t)sv_vit_has_class_token(config) + (config->distilled != 0) +
           config->register_tokens;
}

size_t sv_vit_positioned_prefix(const svit_model_config *config)
{
    switch (config->position_tokens) {
    case SVIT_POSITION_PATCHES:
    case SVIT_POSITION_NONE:
        return 0;
    case SVIT_POSITION_CLASS_PATCHES:
        return sv_vit_prefix(config) - config->register_tokens;
    default:
        return sv_vit_prefix(config);
    }
}

size_t sv_vit_sequence(const svit_model_config *config)
{
    return sv_vit_prefix(config) + sv_model_patches(config);
}

size_t sv_vit_visible(const svit_model_config *config)
{
    const size_t patches = sv_model_patches(config);
    return patches - (size_t)((double)patches * config->mask_ratio);
}

svit_model_config sv_vit_decoder(const svit_model_config *config)
{
    svit_model_config decoder = *config;
    decoder.depth = 2;
    decoder.heads = (config->heads + 1) / 2;
    decoder.dim = decoder.heads * decoder.head_dim;
    decoder.mlp_dim = 4 * decoder.dim;
    decoder.drop_path = 0;
    return decoder;
}

bool sv_vit_has_projection(const svit_model_config *config)
{
    return config->names != SVIT_NAMES_PAPER || config->heads != 1 ||
           config->head_dim != config->dim;
}

double sv_vit_lambda_init(size_t layer)
{
    return 0.8 - 0.6 * exp(-0.3 * (double)layer);
}

size_t sv_vit_features(const svit_model_config *config)
{
    if (config->mask_ratio > 0)
        return sv_model_patches(config) * sv_vit_patch_elements(config);
    if (config->pool == SVIT_POOL_FLATTEN)
        return sv_vit_sequence(config) * config->dim;
    return (size_t)config->dim * (config->pool == SVIT_POOL_CLASS_MEAN ? 2 : 1);
}

static svit_status check_heads(const svit_model_config *config, svit_error *err)
{
    if (config->head_dim > HEADS_CHANNELS_MAX / config->heads)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_dim is %u; %u heads of it are more than %d channels, so it is at most "
                       "%u",
                       config->head_dim, config->heads, HEADS_CHANNELS_MAX,
                       HEADS_CHANNELS_MAX / config->heads);
    return SVIT_OK;
}

/* Checks the head: the input of the classifier must fit memory, and hidden layers need a classifier
 * after them. */
static svit_status check_head(const svit_model_config *config, svit_error *err)
{
    size_t features;
    if (config->pool == SVIT_POOL_FLATTEN &&
        !sv_size_multiply(&features, sv_vit_sequence(config), config->dim))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "pool is 'flatten'; %zu tokens of %u channels do not fit memory; use "
                       "'mean'",
                       sv_vit_sequence(config), config->dim);
    if (config->head_layers == 0)
        return SVIT_OK;
    if (!config->classifier)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_units has %u layers; without a classifier it is []",
                       config->head_layers);
    if (config->names == SVIT_NAMES_PAPER)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_units has %u layers; with names 'paper' it is []: the paper's files "
                       "have one linear layer",
                       config->head_layers);
    return SVIT_OK;
}

/* A pooling that takes the class token needs one, and DeiT has one linear head for each of its two
 * tokens. */
static svit_status check_tokens(const svit_model_config *config, svit_error *err)
{
    const bool pools_class_token =
        config->pool == SVIT_POOL_CLASS_TOKEN || config->pool == SVIT_POOL_CLASS_MEAN;
    if (pools_class_token && !sv_vit_has_class_token(config))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "class_token is 'none'; pool must be 'flatten', 'mean', 'mean-patches' or "
                       "'attention'");
    if (config->distilled && config->pool != SVIT_POOL_CLASS_TOKEN)
        return sv_fail(err, SVIT_E_ARGUMENT, "distilled is true; pool must be 'class_token'");
    if (config->distilled && config->head_layers > 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_units has %u layers; in a distilled model it is []",
                       config->head_layers);
    return SVIT_OK;
}

/* The fields of a rotary position embedding, and the bias of keys. */
static svit_status check_rope(const svit_model_config *config, svit_error *err)
{
    const bool rope = config->rope != SVIT_ROPE_NONE, axial = config->rope == SVIT_ROPE_AXIAL;
    if (rope != (config->rope_theta > 0))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "rope_theta is %g; %s rotary position embeddings it is %s",
                       config->rope_theta, rope ? "with" : "without", rope ? "above 0" : "0");
    if (rope && config->rope_theta < FLT_MIN)
        return sv_fail(err, SVIT_E_ARGUMENT, "rope_theta is %g; it is at least %g",
                       config->rope_theta, FLT_MIN);
    if (rope && config->head_dim % 4 != 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "head_dim is %u; with rotary position embeddings it is a multiple of 4",
                       config->head_dim);
    if (!axial && (config->rope_offset > 0 || config->rope_height > 0 || config->rope_width > 0))
        return sv_fail(
            err, SVIT_E_ARGUMENT,
            "rope_offset is %g and rope_height and rope_width are %u and %u; unless rope "
            "is 'axial' they are 0",
            config->rope_offset, config->rope_height, config->rope_width);
    if ((config->rope_height > 0) != (config->rope_width > 0))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "rope_height is %u and rope_width is %u; both are 0, or none is",
                       config->rope_height, config->rope_width);
    if (config->rope_pairs == SVIT_ROPE_PAIRS_HALVES && config->rope == SVIT_ROPE_MIXED)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "rope_pairs is 'halves'; with rope 'mixed' it is 'neighbours'");
    if (config->no_key_bias && !config->qkv_bias)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "no_key_bias is true; then qkv_bias is true, since queries have a bias");
    return SVIT_OK;
}

/* The heads' outputs have a norm already, and queries and keys are two halves. */
static svit_status check_differential(const svit_model_config *config, svit_error *err)
{
    const char *field = config->rope                        ? "rope"
                        : config->qk_norm                   ? "qk_norm"
                        : config->attention_norm            ? "attention_norm"
                        : config->names == SVIT_NAMES_PAPER ? "names"
                        : config->head_dim % 2 != 0         ? "head_dim"
                                                            : NULL;
    if (config->attention == SVIT_ATTENTION_DIFFERENTIAL && field)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "attention is 'differential', which does not go with this '%s'; with it "
                       "head_dim is even, names 'seed', rope 'none', and qk_norm and "
                       "attention_norm false",
                       field);
    return SVIT_OK;
}

static svit_status check_attention_pool(const svit_model_config *config, svit_error *err)
{
    const bool pools = config->pool == SVIT_POOL_ATTENTION;
    if (pools && (config->pool_heads == 0 || config->dim % config->pool_heads != 0))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "pool_heads is %u; with pool 'attention' it divides dim, %u",
                       config->pool_heads, config->dim);
    if (pools != (config->pool_mlp_dim > 0) || (!pools && config->pool_heads > 0))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "pool_heads is %u and pool_mlp_dim is %u; with pool 'attention' both are "
                       "above 0, otherwise both are 0",
                       config->pool_heads, config->pool_mlp_dim);
    return SVIT_OK;
}

static svit_status check_mlp(const svit_model_config *config, svit_error *err)
{
    const char *field = config->activation != SVIT_ACTIVATION_GELU ? "activation"
                        : config->mlp == SVIT_MLP_SWIGLU           ? "mlp"
                        : config->layer_scale                      ? "layer_scale"
                                                                   : NULL;
    if (config->mlp_last_gelu && field)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "mlp_last_gelu is true; with %s other than its default it is false", field);
    return SVIT_OK;
}

/* A rank above that of the smallest weight would only waste parameters. */
static svit_status check_lora(const svit_model_config *config, svit_error *err)
{
    const uint32_t width = config->heads * config->head_dim;
    const uint32_t most = width < config->dim ? width : config->dim;
    if (config->lora_rank > most)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "lora_rank is %u; with dim %u and heads of %u channels together it is at "
                       "most %u",
                       config->lora_rank, config->dim, width, most);
    if ((config->lora_rank > 0) != (config->lora_alpha > 0))
        return sv_fail(err, SVIT_E_ARGUMENT, "lora_alpha is %g; with lora_rank %u it is %s",
                       config->lora_alpha, config->lora_rank,
                       config->lora_rank > 0 ? "above 0" : "0");
    return SVIT_OK;
}

/* The encoder sees some of the patches, which nothing before it may mix or place. */
static svit_status check_masking(const svit_model_config *config, svit_error *err)
{
    const size_t visible = sv_vit_visible(config), patches = sv_model_patches(config);
    const char *field = config->classifier                              ? "classifier"
                        : config->tokenizer != SVIT_TOKENIZER_PATCH     ? "tokenizer"
                        : config->position_tokens == SVIT_POSITION_NONE ? "position_tokens"
                        : config->rope                                  ? "rope"
                        : config->lora_rank > 0                         ? "lora_rank"
                                                                        : NULL;
    if (config->mask_ratio > 0 && (visible == 0 || visible == patches))
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "mask_ratio is %g, which leaves %zu of %zu patches visible; one at least is "
                       "visible, and one is masked",
                       config->mask_ratio, visible, patches);
    if (config->mask_ratio > 0 && field)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "mask_ratio is %g, which does not go with this '%s'; with it classifier is "
                       "false, tokenizer 'patch', rope 'none', lora_rank 0, and position_tokens "
                       "another word than 'none'",
                       config->mask_ratio, field);
    return SVIT_OK;
}

/* The paper's files have no names for these parts. */
static svit_status check_paper(const svit_model_config *config, svit_error *err)
{
    const char *field = config->tokenizer == SVIT_TOKENIZER_CONV       ? "tokenizer"
                        : config->register_tokens > 0                  ? "register_tokens"
                        : config->distilled                            ? "distilled"
                        : config->pool == SVIT_POOL_MEAN_PATCHES       ? "pool"
                        : config->pool == SVIT_POOL_CLASS_MEAN         ? "pool"
                        : !config->patch_bias                          ? "patch_bias"
                        : config->pre_norm                             ? "pre_norm"
                        : config->layer_scale                          ? "layer_scale"
                        : !config->final_norm                          ? "final_norm"
                        : config->head_norm                            ? "head_norm"
                        : config->mlp == SVIT_MLP_SWIGLU               ? "mlp"
                        : config->position_tokens != SVIT_POSITION_ALL ? "position_tokens"
                        : config->pool == SVIT_POOL_ATTENTION          ? "pool"
                        : config->class_token                          ? "class_token"
                        : config->rope                                 ? "rope"
                        : config->no_key_bias                          ? "no_key_bias"
                        : config->qk_norm                              ? "qk_norm"
                        : config->attention_norm                       ? "attention_norm"
                        : config->mlp_norm                             ? "mlp_norm"
                        : config->rms_norm                             ? "rms_norm"
                        : config->block                                ? "block"
                                                                       : NULL;
    if (config->names == SVIT_NAMES_PAPER && field)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is not its default; names 'paper' has no names for that, 'seed' has",
                       field);
    return SVIT_OK;
}

static svit_status check_tokenizer(const svit_model_config *config, svit_error *err)
{
    if (config->tokenizer != SVIT_TOKENIZER_CONV)
        return SVIT_OK;
    SVIT_TRY(sv_conv_stem_check(config, "tokenizer", err));
    if (!config->patch_bias)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "patch_bias is false; the tokenizer 'conv' has biases");
    return SVIT_OK;
}

/* Patches cover the input, or as much of it as whole ones do, which only the plain tokenizer reads
 * so, and no masked autoencoder makes again. */
static svit_status check_padding(const svit_model_config *config, svit_error *err)
{
    const char *field = config->tokenizer != SVIT_TOKENIZER_PATCH ? "tokenizer"
                        : config->mask_ratio > 0                  ? "mask_ratio"
                                                                  : NULL;
    if (config->patch_padding == SVIT_PADDING_SAME)
        return sv_model_config_check_patches(config, err);
    if (field)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "patch_padding is 'valid', which does not go with this '%s'; with it "
                       "tokenizer is 'patch' and mask_ratio 0",
                       field);
    if (sv_model_patches(config) == 0)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "input_height and input_width are %u and %u; both are at least patch_size, "
                       "%u",
                       config->input_height, config->input_width, config->patch_size);
    return SVIT_OK;
}

svit_status sv_vit_check(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(check_padding(config, err));
    SVIT_TRY(check_tokenizer(config, err));
    SVIT_TRY(check_heads(config, err));
    SVIT_TRY(check_tokens(config, err));
    SVIT_TRY(check_rope(config, err));
    SVIT_TRY(check_differential(config, err));
    SVIT_TRY(check_attention_pool(config, err));
    SVIT_TRY(check_mlp(config, err));
    SVIT_TRY(check_paper(config, err));
    SVIT_TRY(check_lora(config, err));
    SVIT_TRY(check_masking(config, err));
    return check_head(config, err);
}
