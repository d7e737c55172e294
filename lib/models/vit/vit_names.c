/* The parameter names of ViTs: one table like timm's, and two of the state dict of Lee, Lee, Song
 * 2021, whose patch embedding is another module with shifted patches. */
#include "models/vit/vit.h"

static const sv_vit_names TIMM = {.position = "pos_embed",
                                  .class_token = "cls_token",
                                  .distillation_token = "dist_token",
                                  .register_tokens = "reg_token",
                                  .patch_norm = "patch_embed.norm",
                                  .patch = "patch_embed.proj",
                                  .layer = "blocks.",
                                  .norm1 = "norm1",
                                  .qkv = "attn.qkv",
                                  .query_norm = "attn.q_norm",
                                  .key_norm = "attn.k_norm",
                                  .frequencies = "attn.rope",
                                  .attention_norm = "attn.norm",
                                  .projection = "attn.proj",
                                  .lambda = "attn.lambda_",
                                  .output_norm = "attn.sub_norm",
                                  .temperature = "attn.tau",
                                  .scale1 = "ls1.gamma",
                                  .norm2 = "norm2",
                                  .fc1 = "mlp.fc1",
                                  .mlp_norm = "mlp.norm",
                                  .fc2 = "mlp.fc2",
                                  .scale2 = "ls2.gamma",
                                  .pre_norm = "norm_pre",
                                  .norm = "norm",
                                  .pool_latent = "attn_pool.latent",
                                  .pool_q = "attn_pool.q",
                                  .pool_kv = "attn_pool.kv",
                                  .pool_proj = "attn_pool.proj",
                                  .pool_norm = "attn_pool.norm",
                                  .pool_fc1 = "attn_pool.mlp.fc1",
                                  .pool_fc2 = "attn_pool.mlp.fc2",
                                  .head_norm = "fc_norm",
                                  .head = "head.fc",
                                  .distilled_head = "head_dist"};

#define PAPER_COMMON                                                                               \
    .position = "pos_embedding", .class_token = "cls_token", .layer = "transformer.layers.",       \
    .norm1 = "0.norm", .qkv = "0.fn.to_qkv", .projection = "0.fn.to_out.0",                        \
    .temperature = "0.fn.scale", .norm2 = "1.norm", .fc1 = "1.fn.net.0", .fc2 = "1.fn.net.3",      \
    .scale1 = "", .scale2 = "", .norm = "mlp_head.0", .head = "mlp_head."

static const sv_vit_names PAPER = {PAPER_COMMON, .patch = "to_patch_embedding.1"};
static const sv_vit_names PAPER_SPT = {PAPER_COMMON, .patch_norm = "to_patch_embedding.merging.1",
                                       .patch = "to_patch_embedding.merging.2"};

const sv_vit_names *sv_vit_names_of(const svit_model_config *config)
{
    if (config->names == SVIT_NAMES_TIMM)
        return &TIMM;
    return config->tokenizer == SVIT_TOKENIZER_SPT ? &PAPER_SPT : &PAPER;
}
