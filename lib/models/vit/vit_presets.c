/* The presets of ViT and SL-ViT on small images; those of pretrained families follow them. A preset
 * chooses tokenizer and attention, which is where SL-ViT (Lee, Lee, Song 2021) differs from ViT,
 * and takes its other fields from one of two columns. */
#include "models/architecture.h"
#include "models/vit/vit.h"

/* The columns: what the Keras examples compute, with the initial weights of Keras 3.15 or of 3.14;
 * what the paper's code computes. */
typedef enum column { COLUMN_KERAS, COLUMN_KERAS_3_14, COLUMN_PAPER } column;

typedef struct preset {
    const char *name;
    column column;
    uint32_t num_classes;
    int32_t tokenizer, attention;
} preset;

static const preset PRESETS[] = {
    {"vit-cifar100", COLUMN_KERAS, 100, SVIT_TOKENIZER_PATCH, SVIT_ATTENTION_GLOBAL},
    {"slvit-cifar100", COLUMN_KERAS, 100, SVIT_TOKENIZER_SPT, SVIT_ATTENTION_LSA},
    {"vit-cifar100-seed002", COLUMN_KERAS_3_14, 100, SVIT_TOKENIZER_PATCH, SVIT_ATTENTION_GLOBAL},
    {"slvit-cifar100-seed002", COLUMN_KERAS_3_14, 100, SVIT_TOKENIZER_SPT, SVIT_ATTENTION_LSA},
    {"vit-cifar100-seed003", COLUMN_KERAS, 100, SVIT_TOKENIZER_PATCH, SVIT_ATTENTION_GLOBAL},
    {"slvit-cifar100-seed003", COLUMN_KERAS, 100, SVIT_TOKENIZER_SPT, SVIT_ATTENTION_LSA},
    {"slvit-paper-cifar10", COLUMN_PAPER, 10, SVIT_TOKENIZER_SPT, SVIT_ATTENTION_LSA},
    {"slvit-paper-cifar100", COLUMN_PAPER, 100, SVIT_TOKENIZER_SPT, SVIT_ATTENTION_LSA},
    {"vit-paper-cifar100", COLUMN_PAPER, 100, SVIT_TOKENIZER_PATCH, SVIT_ATTENTION_GLOBAL},
};
enum { PRESET_COUNT = sizeof PRESETS / sizeof *PRESETS };

/* Fields that are equal in both columns. */
#define COMMON                                                                                     \
    .struct_size = sizeof(svit_model_config), .architecture = SVIT_ARCHITECTURE_VIT,               \
    .in_channels = 3, .classifier = 1, .patch_bias = 1, .final_norm = 1

#define KERAS                                                                                      \
    COMMON, .input_height = 72, .input_width = 72, .patch_size = 6, .dim = 64, .depth = 8,         \
            .heads = 4, .head_dim = 64, .mlp_dim = 128, .spt_order = SVIT_SPT_KERAS,               \
            .temperature = SVIT_TEMPERATURE_DIVIDE, .qkv_bias = 1, .mlp_last_gelu = 1,             \
            .pool = SVIT_POOL_FLATTEN, .head_layers = 2, .head_units = {2048, 1024},               \
            .norm_eps = 1e-6, .dropout = 0.1, .attention_dropout = 0.1, .head_dropout = 0.5,       \
            .drop_path = 0, .drop_path_rule = SVIT_DROP_PATH_NETWORK, .names = SVIT_NAMES_TIMM

static const svit_model_config COLUMNS[] = {
    [COLUMN_KERAS] = {KERAS, .init = SVIT_INIT_KERAS},
    [COLUMN_KERAS_3_14] = {KERAS, .init = SVIT_INIT_KERAS_3_14},
    [COLUMN_PAPER] = {COMMON,
                      .input_height = 32,
                      .input_width = 32,
                      .patch_size = 4,
                      .dim = 192,
                      .depth = 9,
                      .heads = 12,
                      .head_dim = 16,
                      .mlp_dim = 384,
                      .spt_order = SVIT_SPT_PAPER,
                      .temperature = SVIT_TEMPERATURE_MULTIPLY,
                      .qkv_bias = 0,
                      .mlp_last_gelu = 0,
                      .pool = SVIT_POOL_CLASS_TOKEN,
                      .head_layers = 0,
                      .norm_eps = 1e-5,
                      .dropout = 0,
                      .attention_dropout = 0,
                      .head_dropout = 0,
                      .drop_path = 0.1,
                      .drop_path_rule = SVIT_DROP_PATH_CONSTANT,
                      .names = SVIT_NAMES_PAPER,
                      .init = SVIT_INIT_PAPER},
};

bool sv_vit_preset(const char **name, svit_model_config *config, size_t index)
{
    if (index >= PRESET_COUNT)
        return sv_vit_pretrained_preset(name, config, index - PRESET_COUNT);
    const preset *row = &PRESETS[index];
    *name = row->name;
    *config = COLUMNS[row->column];
    config->num_classes = row->num_classes;
    config->tokenizer = row->tokenizer;
    config->attention = row->attention;
    return true;
}
