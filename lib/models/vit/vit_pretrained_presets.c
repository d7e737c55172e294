/* The presets of pretrained families, named as timm's models with dashes: DeiT (Touvron et al.
 * 2020), ViT as trained in AugReg (Steiner et al. 2021), DINOv2 (Oquab et al. 2023), also with
 * registers (Darcet et al. 2023), and the image towers of OpenAI's CLIP (Radford et al. 2021). */
#include "models/vit/vit.h"

/* What differs between two families. */
typedef enum family {
    FAMILY_PLAIN,     /* ViT and DeiT, for ImageNet's 1000 classes */
    FAMILY_DISTILLED, /* DeiT with two tokens and heads */
    FAMILY_DINOV2,    /* LayerScale; without a classifier */
    FAMILY_REGISTERS, /* likewise with 4 registers; patches alone have positions */
    FAMILY_CLIP       /* a norm before the blocks, quick GELU; the head is the projection */
} family;

/* All have 12 blocks and heads of 64 channels. */
typedef struct preset {
    const char *name;
    family family;
    uint32_t dim, patch_size;
} preset;

enum { DEPTH = 12, HEAD_DIM = 64, MLP_RATIO = 4 };

static const preset PRESETS[] = {
    {"deit-tiny-patch16-224", FAMILY_PLAIN, 192, 16},
    {"deit-small-patch16-224", FAMILY_PLAIN, 384, 16},
    {"deit-base-patch16-224", FAMILY_PLAIN, 768, 16},
    {"deit-tiny-distilled-patch16-224", FAMILY_DISTILLED, 192, 16},
    {"deit-small-distilled-patch16-224", FAMILY_DISTILLED, 384, 16},
    {"deit-base-distilled-patch16-224", FAMILY_DISTILLED, 768, 16},
    {"vit-tiny-patch16-224", FAMILY_PLAIN, 192, 16},
    {"vit-small-patch16-224", FAMILY_PLAIN, 384, 16},
    {"vit-base-patch16-224", FAMILY_PLAIN, 768, 16},
    {"vit-small-patch32-224", FAMILY_PLAIN, 384, 32},
    {"vit-base-patch32-224", FAMILY_PLAIN, 768, 32},
    {"vit-small-patch14-dinov2", FAMILY_DINOV2, 384, 14},
    {"vit-base-patch14-dinov2", FAMILY_DINOV2, 768, 14},
    {"vit-small-patch14-reg4-dinov2", FAMILY_REGISTERS, 384, 14},
    {"vit-base-patch14-reg4-dinov2", FAMILY_REGISTERS, 768, 14},
    {"vit-base-patch32-clip-224", FAMILY_CLIP, 768, 32},
    {"vit-base-patch16-clip-224", FAMILY_CLIP, 768, 16},
};
enum { PRESET_COUNT = sizeof PRESETS / sizeof *PRESETS };

/* The fields that are equal in all families, or in most of them. */
static const svit_model_config COMMON = {.struct_size = sizeof(svit_model_config),
                                         .architecture = SVIT_ARCHITECTURE_VIT,
                                         .input_height = 224,
                                         .input_width = 224,
                                         .in_channels = 3,
                                         .num_classes = 1000,
                                         .depth = DEPTH,
                                         .head_dim = HEAD_DIM,
                                         .classifier = 1,
                                         .patch_bias = 1,
                                         .final_norm = 1,
                                         .qkv_bias = 1,
                                         .pool = SVIT_POOL_CLASS_TOKEN,
                                         .norm_eps = 1e-6,
                                         .drop_path_rule = SVIT_DROP_PATH_NETWORK,
                                         .names = SVIT_NAMES_TIMM};

static void set_dinov2(svit_model_config *config)
{
    config->input_height = config->input_width = 518;
    config->classifier = 0;
    config->num_classes = config->dim;
    config->layer_scale = 1;
}

static void set_clip(svit_model_config *config)
{
    config->num_classes = 512;
    config->patch_bias = 0;
    config->pre_norm = 1;
    config->activation = SVIT_ACTIVATION_QUICK_GELU;
    config->norm_eps = 1e-5;
}

bool sv_vit_pretrained_preset(const char **name, svit_model_config *config, size_t index)
{
    if (index >= PRESET_COUNT)
        return false;
    const preset *row = &PRESETS[index];
    *name = row->name;
    *config = COMMON;
    config->patch_size = row->patch_size;
    config->dim = row->dim;
    config->heads = row->dim / HEAD_DIM;
    config->mlp_dim = row->dim * MLP_RATIO;
    config->distilled = row->family == FAMILY_DISTILLED;
    if (row->family == FAMILY_DINOV2 || row->family == FAMILY_REGISTERS)
        set_dinov2(config);
    if (row->family == FAMILY_REGISTERS) {
        config->register_tokens = 4;
        config->position_tokens = SVIT_POSITION_PATCHES;
    }
    if (row->family == FAMILY_CLIP)
        set_clip(config);
    return true;
}
