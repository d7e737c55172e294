/* The names of plain ViTs in the files of timm, Hugging Face transformers and OpenCLIP. */
#include "models/load/name_map.h"

static const char *const NO_PREFIX[] = {"", NULL};

/* A rule for a parameter: its kind, and the names of its tensors. */
#define RULE(parameter, how, ...)                                                                  \
    {                                                                                              \
        .name = parameter, .kind = how, .tensors = (const char *const[]){__VA_ARGS__},             \
        .count = sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)                 \
    }

/* A rule for a parameter that is element i of `axis` of a tensor, i being the number of its
 * block. */
#define RULE_BLOCK(parameter, which, tensor)                                                       \
    {                                                                                              \
        .name = parameter, .kind = SV_RULE_BLOCK, .tensors = (const char *const[]){tensor},        \
        .count = 1, .part = {                                                                      \
            .axis = which                                                                          \
        }                                                                                          \
    }

/* A rule for a parameter that is the parts first to end - 1 of `of` equal ones on the first
 * axis. */
#define RULE_PART(parameter, tensor, first, end, of)                                               \
    {                                                                                              \
        .name = parameter, .kind = SV_RULE_PART, .tensors = (const char *const[]){tensor},         \
        .count = 1, .part = {                                                                      \
            0,                                                                                     \
            first,                                                                                 \
            end,                                                                                   \
            of                                                                                     \
        }                                                                                          \
    }

/* Rules for what a parallel block has in one linear map: the attention's share on an axis, and the
 * rest. */
#define RULE_SHARE(parameter, tensor, which, is_attention, times)                                  \
    {                                                                                              \
        .name = parameter, .kind = SV_RULE_SHARE, .tensors = (const char *const[]){tensor},        \
        .count = 1, .part = {                                                                      \
            .axis = which,                                                                         \
            .first = is_attention,                                                                 \
            .of = times                                                                            \
        }                                                                                          \
    }

/* The decoder of MAE, and the heads of DINO and its successors. */
static const char *const TIMM_IGNORED[] = {"mask_token",  "decoder_*",  "dino_head.*",
                                           "ibot_head.*", "head.mlp.*", "head.last_layer.*",
                                           NULL};
/* Only the classifier of timm's VisionTransformer has another name here, where hidden layers may
 * come before it. Then what its Eva names otherwise, which has EVA-02, DINOv3 and ViTs with rotary
 * positions: factors of LayerScale, biases without that of keys, three maps in place of qkv, the
 * gate of SwiGLU apart, and the frequencies of all blocks in one tensor. */
static const sv_name_rule TIMM[] = {
    RULE("head.fc1", SV_RULE_PLAIN, "head"),
    /* OpenCLIP's linear map behind a model of timm, mostly without a bias. */
    RULE("head.fc1", SV_RULE_PLAIN, "head.proj"),
    RULE("head.fc1.bias", SV_RULE_ZERO, "head.proj.weight"),
    RULE("blocks.*.ls1.gamma", SV_RULE_PLAIN, "blocks.*.ls1.gamma"),
    RULE("blocks.*.ls1.gamma", SV_RULE_PLAIN, "blocks.*.gamma_1"),
    RULE("blocks.*.ls2.gamma", SV_RULE_PLAIN, "blocks.*.ls2.gamma"),
    RULE("blocks.*.ls2.gamma", SV_RULE_PLAIN, "blocks.*.gamma_2"),
    RULE("blocks.*.attn", SV_RULE_PLAIN, "blocks.*.attn"),
    RULE("blocks.*.attn.qkv.bias", SV_RULE_PLAIN, "blocks.*.attn.q_bias", "?blocks.*.attn.k_bias",
         "blocks.*.attn.v_bias"),
    RULE("blocks.*.attn.qkv.weight", SV_RULE_PLAIN, "blocks.*.attn.q_proj.weight",
         "blocks.*.attn.k_proj.weight", "blocks.*.attn.v_proj.weight"),
    RULE("blocks.*.attn.qkv.bias", SV_RULE_PLAIN, "blocks.*.attn.q_proj.bias",
         "?blocks.*.attn.k_proj.bias", "blocks.*.attn.v_proj.bias"),
    RULE_BLOCK("blocks.*.attn.rope", 1, "rope.freqs"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "blocks.*.mlp.fc1"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "blocks.*.mlp.fc1_g", "blocks.*.mlp.fc1_x"),
    /* DINOv2's own code. */
    RULE("reg_token", SV_RULE_PLAIN, "reg_token"),
    RULE("reg_token", SV_RULE_PLAIN, "register_tokens"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "blocks.*.mlp.w12"),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, "blocks.*.mlp.fc2"),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, "blocks.*.mlp.w3"),
    /* Parallel blocks, whose names have no module of the attention. */
    RULE("blocks.*.norm1", SV_RULE_PLAIN, "blocks.*.norm1"),
    RULE("blocks.*.norm1", SV_RULE_PLAIN, "blocks.*.in_norm"),
    RULE("blocks.*.ls1.gamma", SV_RULE_PLAIN, "blocks.*.ls.gamma"),
    RULE_SHARE("blocks.*.attn.qkv", "blocks.*.in_proj", 0, 1, 3),
    RULE_SHARE("blocks.*.mlp.fc1", "blocks.*.in_proj", 0, 0, 3),
    RULE("blocks.*.mlp.fc1.bias", SV_RULE_PLAIN, "blocks.*.mlp_bias"),
    RULE("blocks.*.attn.proj", SV_RULE_PLAIN, "blocks.*.attn_out_proj"),
    RULE_SHARE("blocks.*.attn.proj.weight", "blocks.*.out_proj.weight", 1, 1, 1),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, "blocks.*.mlp_out_proj"),
    RULE_SHARE("blocks.*.mlp.fc2.weight", "blocks.*.out_proj.weight", 1, 0, 1),
    RULE("blocks.*.mlp.fc2.bias", SV_RULE_PLAIN, "blocks.*.out_proj.bias"),
    RULE("blocks.*.attn", SV_RULE_PLAIN, "blocks.*"),
};

/* ViT, DeiT; DINOv2, with registers too; DINOv3; the image towers of CLIP and SigLIP, of which the
 * latter has queries, keys and values of its pooling in one tensor. */
static const char *const HUGGINGFACE_PREFIXES[] = {
    "", "vit.", "deit.", "dinov2.", "dinov2_with_registers.", "vision_model.", NULL};
static const char *const HUGGINGFACE_IGNORED[] = {
    "*mask_token", "*position_ids", "*pooler.*",         "text_model.*",
    "logit_scale", "logit_bias",    "text_projection.*", NULL};
/* What the names of a block begin with: in BERT's manner, in CLIP's, in transformers since version
 * 5, and in DINOv3. */
static const char *const HUGGINGFACE_LAYERS[] = {
    "encoder.layer.*.", "encoder.layers.*.", "layers.*.", "layer.*.", "model.layer.*.", NULL};
static const sv_name_rule HUGGINGFACE[] = {
    RULE("pos_embed", SV_RULE_PLAIN, "embeddings.position_embeddings"),
    RULE("pos_embed", SV_RULE_PLAIN, "embeddings.position_embedding.weight"),
    RULE("cls_token", SV_RULE_PLAIN, "embeddings.cls_token"),
    RULE("cls_token", SV_RULE_PLAIN, "embeddings.class_embedding"),
    RULE("dist_token", SV_RULE_PLAIN, "embeddings.distillation_token"),
    RULE("reg_token", SV_RULE_PLAIN, "embeddings.register_tokens"),
    RULE("reg_token", SV_RULE_PLAIN, "embeddings.distillation_token"),
    RULE("patch_embed.proj", SV_RULE_PLAIN, "embeddings.patch_embeddings.projection"),
    RULE("patch_embed.proj", SV_RULE_PLAIN, "embeddings.patch_embedding"),
    RULE("patch_embed.proj", SV_RULE_PLAIN, "embeddings.patch_embeddings"),
    RULE("norm_pre", SV_RULE_PLAIN, "pre_layrnorm"),
    RULE("blocks.*.norm1", SV_RULE_PLAIN, "~layernorm_before"),
    RULE("blocks.*.norm1", SV_RULE_PLAIN, "~norm1"),
    RULE("blocks.*.norm1", SV_RULE_PLAIN, "~layer_norm1"),
    RULE("blocks.*.attn.qkv", SV_RULE_PLAIN, "~attention.attention.query",
         "~attention.attention.key", "~attention.attention.value"),
    RULE("blocks.*.attn.qkv.bias", SV_RULE_PLAIN, "~attention.q_proj.bias",
         "?~attention.k_proj.bias", "~attention.v_proj.bias"),
    RULE("blocks.*.attn.qkv", SV_RULE_PLAIN, "~attention.q_proj", "~attention.k_proj",
         "~attention.v_proj"),
    RULE("blocks.*.attn.qkv", SV_RULE_PLAIN, "~self_attn.q_proj", "~self_attn.k_proj",
         "~self_attn.v_proj"),
    RULE("blocks.*.attn.proj", SV_RULE_PLAIN, "~attention.output.dense"),
    RULE("blocks.*.attn.proj", SV_RULE_PLAIN, "~attention.o_proj"),
    RULE("blocks.*.attn.proj", SV_RULE_PLAIN, "~self_attn.out_proj"),
    RULE("blocks.*.ls1.gamma", SV_RULE_PLAIN, "~layer_scale1.lambda1"),
    RULE("blocks.*.norm2", SV_RULE_PLAIN, "~layernorm_after"),
    RULE("blocks.*.norm2", SV_RULE_PLAIN, "~norm2"),
    RULE("blocks.*.norm2", SV_RULE_PLAIN, "~layer_norm2"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "~intermediate.dense"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "~mlp.fc1"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "~mlp.weights_in"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "~mlp.gate_proj", "~mlp.up_proj"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, "~mlp.up_proj"),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, "~output.dense"),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, "~mlp.fc2"),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, "~mlp.weights_out"),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, "~mlp.down_proj"),
    RULE("blocks.*.ls2.gamma", SV_RULE_PLAIN, "~layer_scale2.lambda1"),
    RULE("norm", SV_RULE_PLAIN, "layernorm"),
    RULE("norm", SV_RULE_PLAIN, "post_layernorm"),
    RULE("norm", SV_RULE_PLAIN, "norm"),
    RULE("head.fc1", SV_RULE_PLAIN, "classifier"),
    RULE("head.fc1", SV_RULE_PLAIN, "cls_classifier"),
    RULE("head.fc1.weight", SV_RULE_PLAIN, "visual_projection.weight"),
    RULE("head.fc1.bias", SV_RULE_ZERO, "visual_projection.weight"),
    RULE("head_dist", SV_RULE_PLAIN, "distillation_classifier"),
    RULE("attn_pool.latent", SV_RULE_PLAIN, "head.probe"),
    RULE_PART("attn_pool.q.weight", "head.attention.in_proj_weight", 0, 1, 3),
    RULE_PART("attn_pool.q.bias", "head.attention.in_proj_bias", 0, 1, 3),
    RULE_PART("attn_pool.kv.weight", "head.attention.in_proj_weight", 1, 3, 3),
    RULE_PART("attn_pool.kv.bias", "head.attention.in_proj_bias", 1, 3, 3),
    RULE("attn_pool.proj", SV_RULE_PLAIN, "head.attention.out_proj"),
    RULE("attn_pool.norm", SV_RULE_PLAIN, "head.layernorm"),
    RULE("attn_pool.mlp", SV_RULE_PLAIN, "head.mlp"),
};

/* transformers interpolates bicubically without antialiasing, but not in DINOv2 with registers, and
 * not in SigLIP 2, whose patches are flat. */
static const sv_interpolation_rule HUGGINGFACE_INTERPOLATIONS[] = {
    {"embeddings.register_tokens", 3, SV_BICUBIC_ANTIALIASED},
    {"embeddings.patch_embedding.weight", 2, SV_BILINEAR_ANTIALIASED},
    {.tensor = NULL}};

static const char *const OPENCLIP_PREFIXES[] = {"visual.", "", NULL};
static const char *const OPENCLIP_BESIDE[] = {
    "transformer.*", "token_embedding.*", "positional_embedding", "ln_final.*", "text_projection",
    "text.*",        "logit_scale",       "logit_bias",           "attn_mask",  NULL};
#define LAYER "transformer.resblocks.*."
static const sv_name_rule OPENCLIP[] = {
    RULE("pos_embed", SV_RULE_PLAIN, "positional_embedding"),
    RULE("cls_token", SV_RULE_PLAIN, "class_embedding"),
    RULE("patch_embed.proj", SV_RULE_PLAIN, "conv1"),
    RULE("norm_pre", SV_RULE_PLAIN, "ln_pre"),
    RULE("blocks.*.norm1", SV_RULE_PLAIN, LAYER "ln_1"),
    RULE("blocks.*.attn.qkv.weight", SV_RULE_PLAIN, LAYER "attn.in_proj_weight"),
    RULE("blocks.*.attn.qkv.bias", SV_RULE_PLAIN, LAYER "attn.in_proj_bias"),
    RULE("blocks.*.attn.proj", SV_RULE_PLAIN, LAYER "attn.out_proj"),
    RULE("blocks.*.ls1.gamma", SV_RULE_PLAIN, LAYER "ls_1.gamma"),
    RULE("blocks.*.norm2", SV_RULE_PLAIN, LAYER "ln_2"),
    RULE("blocks.*.mlp.fc1", SV_RULE_PLAIN, LAYER "mlp.c_fc"),
    RULE("blocks.*.mlp.fc2", SV_RULE_PLAIN, LAYER "mlp.c_proj"),
    RULE("blocks.*.ls2.gamma", SV_RULE_PLAIN, LAYER "ls_2.gamma"),
    RULE("norm", SV_RULE_PLAIN, "ln_post"),
    RULE("fc_norm", SV_RULE_PLAIN, "ln_post"), /* a model has one of the two */
    RULE("head.fc1.weight", SV_RULE_TRANSPOSED, "proj"),
    RULE("head.fc1.bias", SV_RULE_ZERO, "proj"),
};

static const char *const TIMM_ANCHORS[] = {"patch_embed.proj.weight", NULL};
static const char *const HUGGINGFACE_ANCHORS[] = {"embeddings.patch_embeddings.projection.weight",
                                                  "embeddings.patch_embeddings.weight",
                                                  "embeddings.patch_embedding.weight", NULL};
/* Convolutional networks have a conv1, too. */
static const char *const OPENCLIP_ANCHORS[] = {"conv1.weight", NULL};
static const char OPENCLIP_WITNESS[] = "transformer.resblocks.0.ln_1.weight";

#define RULES(list) .rules = list, .rule_count = sizeof(list) / sizeof *(list)

static const sv_name_map MAPS[] = {
    {.name = "timm",
     RULES(TIMM),
     .prefixes = NO_PREFIX,
     .ignored = TIMM_IGNORED,
     .anchors = TIMM_ANCHORS},
    {.name = "huggingface",
     RULES(HUGGINGFACE),
     .prefixes = HUGGINGFACE_PREFIXES,
     .layers = HUGGINGFACE_LAYERS,
     .ignored = HUGGINGFACE_IGNORED,
     .interpolation = SV_BICUBIC,
     .interpolations = HUGGINGFACE_INTERPOLATIONS,
     .anchors = HUGGINGFACE_ANCHORS},
    {.name = "openclip",
     RULES(OPENCLIP),
     .prefixes = OPENCLIP_PREFIXES,
     .beside = OPENCLIP_BESIDE,
     .anchors = OPENCLIP_ANCHORS,
     .witness = OPENCLIP_WITNESS},
};

const sv_name_map *sv_builtin_name_map(size_t index)
{
    return index < sizeof MAPS / sizeof *MAPS ? &MAPS[index] : NULL;
}
