/* The presets of ViT. A preset is a row that takes its fields from a recipe. */
#include "models/architecture.h"

/* Fields that are equal in all presets. */
#define COMMON COMMON_WITHOUT_NORM, .final_norm = 1
#define COMMON_WITHOUT_NORM                                                                        \
    .struct_size = sizeof(svit_model_config), .architecture = SVIT_ARCHITECTURE_VIT,               \
    .in_channels = 3
#define INPUT(side, patch) .input_height = side, .input_width = side, .patch_size = patch
#define CLASSES(count) .classifier = 1, .num_classes = count

/* Where SL-ViT (Lee, Lee, Song 2021) differs from ViT. */
#define PLAIN .tokenizer = SVIT_TOKENIZER_PATCH, .attention = SVIT_ATTENTION_GLOBAL
#define SL .tokenizer = SVIT_TOKENIZER_SPT, .attention = SVIT_ATTENTION_LSA

/* What the Keras examples compute, with the initial weights of Keras 3.15. */
#define KERAS_3_15 KERAS, .init = SVIT_INIT_KERAS
/* What the Keras examples compute, with the initial weights of Keras 3.14. */
#define KERAS_3_14 KERAS, .init = SVIT_INIT_KERAS_3_14
#define KERAS                                                                                      \
    COMMON, INPUT(72, 6), CLASSES(100),                                                            \
        .dim = 64, .depth = 8, .heads = 4, .head_dim = 64, .mlp_dim = 128, .patch_bias = 1,        \
        .spt_order = SVIT_SPT_KERAS, .temperature = SVIT_TEMPERATURE_DIVIDE, .qkv_bias = 1,        \
        .mlp_last_gelu = 1, .pool = SVIT_POOL_FLATTEN, .head_layers = 2,                           \
        .head_units = {2048, 1024}, .norm_eps = 1e-6, .dropout = 0.1, .attention_dropout = 0.1,    \
        .head_dropout = 0.5, .drop_path_rule = SVIT_DROP_PATH_NETWORK, .names = SVIT_NAMES_TIMM

/* What the paper's code of SL-ViT computes. */
#define PAPER PAPER_BASE, .drop_path = 0.1
#define PAPER_BASE                                                                                 \
    COMMON, INPUT(32, 4), .dim = 192, .depth = 9, .heads = 12, .head_dim = 16, .mlp_dim = 384,     \
                          .patch_bias = 1, .spt_order = SVIT_SPT_PAPER,                            \
                          .temperature = SVIT_TEMPERATURE_MULTIPLY, .pool = SVIT_POOL_CLASS_TOKEN, \
                          .norm_eps = 1e-5, .drop_path_rule = SVIT_DROP_PATH_CONSTANT,             \
                          .names = SVIT_NAMES_PAPER, .init = SVIT_INIT_PAPER

/* Pretrained families. All have 12 blocks and heads of 64 channels. */
#define PRETRAINED(width)                                                                          \
    COMMON, .dim = width, .depth = 12, .heads = (width) / 64, .head_dim = 64,                      \
            .mlp_dim = 4 * (width), .qkv_bias = 1, .pool = SVIT_POOL_CLASS_TOKEN,                  \
            .drop_path_rule = SVIT_DROP_PATH_NETWORK, .names = SVIT_NAMES_TIMM

/* DeiT (Touvron et al. 2020), and ViT as trained in AugReg (Steiner et al. 2021). */
#define IMAGENET(width, patch)                                                                     \
    PRETRAINED(width), INPUT(224, patch), CLASSES(1000), .patch_bias = 1, .norm_eps = 1e-6

/* DINOv2 (Oquab et al. 2023); with registers: Darcet et al. 2023. */
#define DINOV2(width)                                                                              \
    PRETRAINED(width), INPUT(518, 14), .num_classes = width, .patch_bias = 1, .norm_eps = 1e-6,    \
                                       .layer_scale = 1
#define REGISTERS .register_tokens = 4, .position_tokens = SVIT_POSITION_PATCHES

/* The image towers of OpenAI's CLIP (Radford et al. 2021); the head is the projection. */
#define CLIP(width, patch)                                                                         \
    PRETRAINED(width), INPUT(224, patch), CLASSES(512), .norm_eps = 1e-5, .pre_norm = 1,           \
                                                        .activation = SVIT_ACTIVATION_QUICK_GELU

/* ViTs with rotary positions in place of a position embedding (Heo et al. 2024). */
#define ROPE(width)                                                                                \
    PRETRAINED(width), INPUT(224, 16), CLASSES(1000),                                              \
        .patch_bias = 1, .norm_eps = 1e-6, .layer_scale = 1,                                       \
        .position_tokens = SVIT_POSITION_NONE, .rope_axes = SVIT_ROPE_AXES_COLUMNS_FIRST
#define AXIAL .rope = SVIT_ROPE_AXIAL, .rope_theta = 100
#define MIXED .rope = SVIT_ROPE_MIXED, .rope_theta = 10

/* DINOv3 (Simeoni et al. 2025), in timm's form: the features are the mean of the patches. */
#define DINOV3(width)                                                                              \
    COMMON, INPUT(256, 16),                                                                        \
        .dim = width, .depth = 12, .heads = (width) / 64, .head_dim = 64, .mlp_dim = 4 * (width),  \
        .num_classes = width, .patch_bias = 1, .norm_eps = 1e-5, .layer_scale = 1,                 \
        .pool = SVIT_POOL_MEAN_PATCHES, .register_tokens = 4,                                      \
        .position_tokens = SVIT_POSITION_NONE, .rope = SVIT_ROPE_CENTRED, .rope_theta = 100,       \
        .rope_pairs = SVIT_ROPE_PAIRS_HALVES, .drop_path_rule = SVIT_DROP_PATH_NETWORK,            \
        .names = SVIT_NAMES_TIMM
#define SWIGLU .mlp = SVIT_MLP_SWIGLU
#define NO_KEY_BIAS .qkv_bias = 1, .no_key_bias = 1

/* EVA-02 (Fang et al. 2023). */
#define EVA02(width)                                                                               \
    COMMON_WITHOUT_NORM, INPUT(224, 14),                                                           \
        .dim = width, .depth = 12, .heads = (width) / 64, .head_dim = 64,                          \
        .mlp_dim = (width)*8 / 3, .num_classes = width, .patch_bias = 1, .norm_eps = 1e-6,         \
        .head_norm = 1, .pool = SVIT_POOL_MEAN_PATCHES, .rope = SVIT_ROPE_AXIAL,                   \
        .rope_theta = 10000, .rope_height = 16, .rope_width = 16, SWIGLU, NO_KEY_BIAS,             \
        .drop_path_rule = SVIT_DROP_PATH_NETWORK, .names = SVIT_NAMES_TIMM

/* DeiT III (Touvron et al. 2022), and FlexiViT (Beyer et al. 2023), which lacks LayerScale: the
 * class token has no position. */
#define FLEXIVIT(width, side)                                                                      \
    PRETRAINED(width), INPUT(side, 16), CLASSES(1000), .patch_bias = 1, .norm_eps = 1e-6,          \
                                                       .position_tokens = SVIT_POSITION_PATCHES
#define DEIT3(width, side) FLEXIVIT(width, side), .layer_scale = 1

/* The image towers of SigLIP (Zhai et al. 2023); the features are those of attention pooling. */
#define SIGLIP(side, patch)                                                                        \
    COMMON, INPUT(side, patch),                                                                    \
        .dim = 768, .depth = 12, .heads = 12, .head_dim = 64, .mlp_dim = 3072, .num_classes = 768, \
        .patch_bias = 1, .qkv_bias = 1, .pool = SVIT_POOL_ATTENTION, .pool_heads = 12,             \
        .pool_mlp_dim = 3072, .norm_eps = 1e-6, .drop_path_rule = SVIT_DROP_PATH_NETWORK,          \
        .names = SVIT_NAMES_TIMM

/* timm's ViTs with registers and no class token, whose features are the mean of the patches. */
#define REGISTERS_MEAN(width, blocks, hidden, registers, side)                                     \
    COMMON_WITHOUT_NORM, INPUT(side, 16), CLASSES(1000),                                           \
        .dim = width, .depth = blocks, .heads = (width) / 64, .head_dim = 64, .mlp_dim = hidden,   \
        .patch_bias = 1, .qkv_bias = 1, .pool = SVIT_POOL_MEAN_PATCHES,                            \
        .class_token = SVIT_CLASS_TOKEN_NONE, .register_tokens = registers,                        \
        .position_tokens = SVIT_POSITION_PATCHES, .head_norm = 1, .norm_eps = 1e-6,                \
        .drop_path_rule = SVIT_DROP_PATH_NETWORK, .names = SVIT_NAMES_TIMM

#define DIFFERENTIAL .attention = SVIT_ATTENTION_DIFFERENTIAL

/* Presets of pretrained families have the names of timm's models, with dashes. */
const sv_preset sv_vit_presets[] = {
    {"vit-cifar100", {KERAS_3_15, PLAIN}},
    {"slvit-cifar100", {KERAS_3_15, SL}},
    {"vit-cifar100-seed002", {KERAS_3_14, PLAIN}},
    {"slvit-cifar100-seed002", {KERAS_3_14, SL}},
    {"vit-cifar100-seed003", {KERAS_3_15, PLAIN}},
    {"slvit-cifar100-seed003", {KERAS_3_15, SL}},
    {"slvit-paper-cifar10", {PAPER, CLASSES(10), SL}},
    {"slvit-paper-cifar100", {PAPER, CLASSES(100), SL}},
    {"vit-paper-cifar100", {PAPER, CLASSES(100), PLAIN}},
    {"slvit-paper-cifar10-full", {PAPER, CLASSES(10), SL}},
    {"slvit-paper-cifar100-full", {PAPER, CLASSES(100), SL}},
    {"vit-paper-cifar100-full", {PAPER, CLASSES(100), PLAIN}},
    {"vit-mae-cifar100", {PAPER_BASE, PLAIN, .num_classes = 3072, .mask_ratio = 0.75}},
#ifdef SV_HAVE_CHECKPOINTS
    {"deit-tiny-patch16-224", {IMAGENET(192, 16)}},
    {"deit-small-patch16-224", {IMAGENET(384, 16)}},
    {"deit-base-patch16-224", {IMAGENET(768, 16)}},
    {"deit-tiny-distilled-patch16-224", {IMAGENET(192, 16), .distilled = 1}},
    {"deit-small-distilled-patch16-224", {IMAGENET(384, 16), .distilled = 1}},
    {"deit-base-distilled-patch16-224", {IMAGENET(768, 16), .distilled = 1}},
    {"vit-tiny-patch16-224", {IMAGENET(192, 16)}},
    {"vit-small-patch16-224", {IMAGENET(384, 16)}},
    {"vit-base-patch16-224", {IMAGENET(768, 16)}},
    {"vit-small-patch32-224", {IMAGENET(384, 32)}},
    {"vit-base-patch32-224", {IMAGENET(768, 32)}},
    {"vit-small-patch14-dinov2", {DINOV2(384)}},
    {"vit-base-patch14-dinov2", {DINOV2(768)}},
    {"vit-small-patch14-reg4-dinov2", {DINOV2(384), REGISTERS}},
    {"vit-base-patch14-reg4-dinov2", {DINOV2(768), REGISTERS}},
    {"vit-base-patch32-clip-224", {CLIP(768, 32)}},
    {"vit-base-patch16-clip-224", {CLIP(768, 16)}},
    {"vit-small-patch16-rope-224", {ROPE(384), AXIAL}},
    {"vit-base-patch16-rope-224", {ROPE(768), AXIAL}},
    {"vit-small-patch16-rope-mixed-224", {ROPE(384), MIXED}},
    {"vit-base-patch16-rope-mixed-224", {ROPE(768), MIXED}},
    {"vit-small-patch16-dinov3", {DINOV3(384)}},
    {"vit-small-plus-patch16-dinov3", {DINOV3(384), SWIGLU}},
    {"vit-base-patch16-dinov3", {DINOV3(768)}},
    {"vit-small-patch16-dinov3-qkvb", {DINOV3(384), NO_KEY_BIAS}},
    {"vit-small-plus-patch16-dinov3-qkvb", {DINOV3(384), SWIGLU, NO_KEY_BIAS}},
    {"vit-base-patch16-dinov3-qkvb", {DINOV3(768), NO_KEY_BIAS}},
    {"eva02-tiny-patch14-224", {EVA02(192)}},
    {"eva02-small-patch14-224", {EVA02(384)}},
    {"eva02-base-patch14-224", {EVA02(768), .mlp_norm = 1}},
    {"deit3-small-patch16-224", {DEIT3(384, 224)}},
    {"deit3-small-patch16-384", {DEIT3(384, 384)}},
    {"deit3-medium-patch16-224", {DEIT3(512, 224)}},
    {"deit3-base-patch16-224", {DEIT3(768, 224)}},
    {"deit3-base-patch16-384", {DEIT3(768, 384)}},
    {"flexivit-small", {FLEXIVIT(384, 240)}},
    {"flexivit-base", {FLEXIVIT(768, 240)}},
    {"vit-base-patch16-siglip-224", {SIGLIP(224, 16)}},
    {"vit-base-patch16-siglip-256", {SIGLIP(256, 16)}},
    {"vit-base-patch16-siglip-384", {SIGLIP(384, 16)}},
    {"vit-base-patch32-siglip-256", {SIGLIP(256, 32), .activation = SVIT_ACTIVATION_GELU_TANH}},
    {"vit-wee-patch16-reg1-gap-256", {REGISTERS_MEAN(256, 14, 1280, 1, 256), .layer_scale = 1}},
    {"vit-dwee-patch16-reg1-gap-256",
     {REGISTERS_MEAN(256, 14, 1280, 1, 256), .layer_scale = 1, DIFFERENTIAL}},
    {"vit-pwee-patch16-reg1-gap-256",
     {REGISTERS_MEAN(256, 16, 1280, 1, 256), .layer_scale = 1, .block = SVIT_BLOCK_PARALLEL}},
    {"vit-dpwee-patch16-reg1-gap-256",
     {REGISTERS_MEAN(256, 16, 1280, 1, 256), .layer_scale = 1, DIFFERENTIAL,
      .block = SVIT_BLOCK_PARALLEL_FUSED}},
    {"vit-little-patch16-reg1-gap-256", {REGISTERS_MEAN(320, 14, 1792, 1, 256), .layer_scale = 1}},
    {"vit-little-patch16-reg4-gap-256", {REGISTERS_MEAN(320, 14, 1792, 4, 256), .layer_scale = 1}},
    {"vit-medium-patch16-reg1-gap-256", {REGISTERS_MEAN(512, 12, 2048, 1, 256), .layer_scale = 1}},
    {"vit-medium-patch16-reg4-gap-256", {REGISTERS_MEAN(512, 12, 2048, 4, 256), .layer_scale = 1}},
    {"vit-mediumd-patch16-reg4-gap-256", {REGISTERS_MEAN(512, 20, 2048, 4, 256), .layer_scale = 1}},
    {"vit-betwixt-patch16-reg1-gap-256", {REGISTERS_MEAN(640, 12, 2560, 1, 256), .layer_scale = 1}},
    {"vit-betwixt-patch16-reg4-gap-256", {REGISTERS_MEAN(640, 12, 2560, 4, 256), .layer_scale = 1}},
    {"vit-base-patch16-reg4-gap-256", {REGISTERS_MEAN(768, 12, 3072, 4, 256)}},
#endif
    {.name = NULL},
};
