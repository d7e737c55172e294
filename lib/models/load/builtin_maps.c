/* The names of plain ViTs in the files of timm, Hugging Face transformers and OpenCLIP. */
#include "models/load/name_map.h"

static const char *const NONE[] = {NULL};
static const char *const NO_PREFIX[] = {"", NULL};

/* Only the classifier has another name: a ViT of this library may have hidden layers before it. */
static const sv_name_rule TIMM[] = {{"head.fc1", {"head"}, SV_RULE_PLAIN}};

/* ViT, DeiT; DINOv2, with registers too; CLIP's image tower. */
static const char *const HUGGINGFACE_PREFIXES[] = {
    "", "vit.", "deit.", "dinov2.", "dinov2_with_registers.", "vision_model.", NULL};
static const char *const HUGGINGFACE_IGNORED[] = {
    "*mask_token", "*position_ids",     "*pooler.*", "text_model.*",
    "logit_scale", "text_projection.*", NULL};
#define LAYER "encoder.layer.*."
#define CLIP_LAYER "encoder.layers.*."
static const sv_name_rule HUGGINGFACE[] = {
    {"pos_embed", {"embeddings.position_embeddings"}, SV_RULE_PLAIN},
    {"pos_embed", {"embeddings.position_embedding.weight"}, SV_RULE_PLAIN},
    {"cls_token", {"embeddings.cls_token"}, SV_RULE_PLAIN},
    {"cls_token", {"embeddings.class_embedding"}, SV_RULE_PLAIN},
    {"dist_token", {"embeddings.distillation_token"}, SV_RULE_PLAIN},
    {"reg_token", {"embeddings.register_tokens"}, SV_RULE_PLAIN},
    {"patch_embed.proj", {"embeddings.patch_embeddings.projection"}, SV_RULE_PLAIN},
    {"patch_embed.proj", {"embeddings.patch_embedding"}, SV_RULE_PLAIN},
    {"norm_pre", {"pre_layrnorm"}, SV_RULE_PLAIN},
    {"blocks.*.norm1", {LAYER "layernorm_before"}, SV_RULE_PLAIN},
    {"blocks.*.norm1", {LAYER "norm1"}, SV_RULE_PLAIN},
    {"blocks.*.norm1", {CLIP_LAYER "layer_norm1"}, SV_RULE_PLAIN},
    {"blocks.*.attn.qkv",
     {LAYER "attention.attention.query", LAYER "attention.attention.key",
      LAYER "attention.attention.value"},
     SV_RULE_PLAIN},
    {"blocks.*.attn.qkv",
     {CLIP_LAYER "self_attn.q_proj", CLIP_LAYER "self_attn.k_proj", CLIP_LAYER "self_attn.v_proj"},
     SV_RULE_PLAIN},
    {"blocks.*.attn.proj", {LAYER "attention.output.dense"}, SV_RULE_PLAIN},
    {"blocks.*.attn.proj", {CLIP_LAYER "self_attn.out_proj"}, SV_RULE_PLAIN},
    {"blocks.*.ls1.gamma", {LAYER "layer_scale1.lambda1"}, SV_RULE_PLAIN},
    {"blocks.*.norm2", {LAYER "layernorm_after"}, SV_RULE_PLAIN},
    {"blocks.*.norm2", {LAYER "norm2"}, SV_RULE_PLAIN},
    {"blocks.*.norm2", {CLIP_LAYER "layer_norm2"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc1", {LAYER "intermediate.dense"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc1", {LAYER "mlp.fc1"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc1", {LAYER "mlp.weights_in"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc1", {CLIP_LAYER "mlp.fc1"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc2", {LAYER "output.dense"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc2", {LAYER "mlp.fc2"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc2", {LAYER "mlp.weights_out"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc2", {CLIP_LAYER "mlp.fc2"}, SV_RULE_PLAIN},
    {"blocks.*.ls2.gamma", {LAYER "layer_scale2.lambda1"}, SV_RULE_PLAIN},
    {"norm", {"layernorm"}, SV_RULE_PLAIN},
    {"norm", {"post_layernorm"}, SV_RULE_PLAIN},
    {"head.fc1", {"classifier"}, SV_RULE_PLAIN},
    {"head.fc1", {"cls_classifier"}, SV_RULE_PLAIN},
    {"head.fc1.weight", {"visual_projection.weight"}, SV_RULE_PLAIN},
    {"head.fc1.bias", {"visual_projection.weight"}, SV_RULE_ZERO},
    {"head_dist", {"distillation_classifier"}, SV_RULE_PLAIN},
};

static const char *const OPENCLIP_PREFIXES[] = {"visual.", "", NULL};
static const char *const OPENCLIP_IGNORED[] = {
    "transformer.*", "token_embedding.*", "positional_embedding", "ln_final.*", "text_projection",
    "text.*",        "logit_scale",       "logit_bias",           "attn_mask",  NULL};
#undef LAYER
#define LAYER "transformer.resblocks.*."
static const sv_name_rule OPENCLIP[] = {
    {"pos_embed", {"positional_embedding"}, SV_RULE_PLAIN},
    {"cls_token", {"class_embedding"}, SV_RULE_PLAIN},
    {"patch_embed.proj", {"conv1"}, SV_RULE_PLAIN},
    {"norm_pre", {"ln_pre"}, SV_RULE_PLAIN},
    {"blocks.*.norm1", {LAYER "ln_1"}, SV_RULE_PLAIN},
    {"blocks.*.attn.qkv.weight", {LAYER "attn.in_proj_weight"}, SV_RULE_PLAIN},
    {"blocks.*.attn.qkv.bias", {LAYER "attn.in_proj_bias"}, SV_RULE_PLAIN},
    {"blocks.*.attn.proj", {LAYER "attn.out_proj"}, SV_RULE_PLAIN},
    {"blocks.*.ls1.gamma", {LAYER "ls_1.gamma"}, SV_RULE_PLAIN},
    {"blocks.*.norm2", {LAYER "ln_2"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc1", {LAYER "mlp.c_fc"}, SV_RULE_PLAIN},
    {"blocks.*.mlp.fc2", {LAYER "mlp.c_proj"}, SV_RULE_PLAIN},
    {"blocks.*.ls2.gamma", {LAYER "ls_2.gamma"}, SV_RULE_PLAIN},
    {"norm", {"ln_post"}, SV_RULE_PLAIN},
    {"head.fc1.weight", {"proj"}, SV_RULE_TRANSPOSED},
    {"head.fc1.bias", {"proj"}, SV_RULE_ZERO},
};

#define RULES(list) .rules = list, .rule_count = sizeof(list) / sizeof *(list)

static const sv_name_map MAPS[] = {
    {.name = "timm", RULES(TIMM), .prefixes = NO_PREFIX, .ignored = NONE},
    {.name = "huggingface",
     RULES(HUGGINGFACE),
     .prefixes = HUGGINGFACE_PREFIXES,
     .ignored = HUGGINGFACE_IGNORED},
    {.name = "openclip",
     RULES(OPENCLIP),
     .prefixes = OPENCLIP_PREFIXES,
     .ignored = OPENCLIP_IGNORED},
};

const sv_name_map *sv_builtin_name_map(size_t index)
{
    return index < sizeof MAPS / sizeof *MAPS ? &MAPS[index] : NULL;
}
