/* The names of a ViT's parameters in model files. */
#ifndef REFERENCE_VIT_NAMES_H
#define REFERENCE_VIT_NAMES_H

#include <shiftvit/model.h>

/* Indexed by SVIT_NAMES_*: timm's names, and those of the SL-ViT paper's code. */
static const struct {
    const char *position, *patch, *patch_spt, *patch_norm, *layer;
    const char *norm1, *qkv, *proj, *temperature, *norm2, *fc1, *fc2, *norm, *head;
} NAMES[] = {[SVIT_NAMES_TIMM] = {.position = "pos_embed",
                                  .patch = "patch_embed.proj",
                                  .patch_spt = "patch_embed.proj",
                                  .patch_norm = "patch_embed.norm",
                                  .layer = "blocks.",
                                  .norm1 = "norm1",
                                  .qkv = "attn.qkv",
                                  .proj = "attn.proj",
                                  .temperature = "attn.tau",
                                  .norm2 = "norm2",
                                  .fc1 = "mlp.fc1",
                                  .fc2 = "mlp.fc2",
                                  .norm = "norm",
                                  .head = "head.fc"},
             [SVIT_NAMES_PAPER] = {.position = "pos_embedding",
                                   .patch = "to_patch_embedding.1",
                                   .patch_spt = "to_patch_embedding.merging.2",
                                   .patch_norm = "to_patch_embedding.merging.1",
                                   .layer = "transformer.layers.",
                                   .norm1 = "0.norm",
                                   .qkv = "0.fn.to_qkv",
                                   .proj = "0.fn.to_out.0",
                                   .temperature = "0.fn.scale",
                                   .norm2 = "1.norm",
                                   .fc1 = "1.fn.net.0",
                                   .fc2 = "1.fn.net.3",
                                   .norm = "mlp_head.0",
                                   .head = "mlp_head."}};

#endif
