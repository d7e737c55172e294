/* The presets of ShiftViT. A preset is a row of sizes and takes its other fields from one of three
 * columns. */
#include "models/architecture.h"

#include <string.h>

/* The columns: the library's defaults; what the Keras example computes; what the paper's code
 * computes (Wang, Zhao, Tang, Wang 2022); the defaults for small images in their own size, with
 * patches of 2 x 2 pixels. */
typedef enum column { COLUMN_DEFAULT, COLUMN_KERAS, COLUMN_PAPER, COLUMN_SMALL } column;

typedef struct preset {
    const char *name;
    column column;
    uint32_t dim;
    uint32_t blocks[4]; /* 0: the model has no such stage */
    uint32_t num_div;
    double mlp_ratio;
    double drop_path;
    bool features; /* no classifier: the pooled features are the logits */
} preset;

static const preset PRESETS[] = {
    {"shiftvit-cifar10", COLUMN_DEFAULT, 96, {2, 4, 8, 2}, 12, 2, 0.2, false},
    {"shiftvit-cifar10-keras", COLUMN_KERAS, 96, {2, 4, 8, 2}, 12, 2, 0.2, false},
    {"shiftvit-cifar10-seed001", COLUMN_KERAS, 96, {2, 4, 8, 2}, 12, 2, 0.2, true},
    {"shiftvit-cifar10-seed004", COLUMN_KERAS, 96, {2, 4, 8, 2}, 12, 2, 0.2, false},
    {"shiftvit-t-light", COLUMN_PAPER, 96, {2, 2, 6, 2}, 12, 4, 0.2, false},
    {"shiftvit-t", COLUMN_PAPER, 96, {6, 8, 18, 6}, 12, 2, 0.2, false},
    {"shiftvit-s-light", COLUMN_PAPER, 96, {2, 2, 18, 2}, 12, 4, 0.4, false},
    {"shiftvit-s", COLUMN_PAPER, 96, {10, 18, 36, 10}, 12, 2, 0.4, false},
    {"shiftvit-b-light", COLUMN_PAPER, 128, {2, 2, 18, 2}, 16, 4, 0.5, false},
    {"shiftvit-b", COLUMN_PAPER, 128, {10, 18, 36, 10}, 16, 2, 0.6, false},
    {"shiftvit-cifar10-fast", COLUMN_SMALL, 96, {3, 6, 3, 0}, 12, 2, 0.05, false},
};
enum { PRESET_COUNT = sizeof PRESETS / sizeof *PRESETS };

/* Fields that are equal in all columns. */
#define COMMON                                                                                     \
    .struct_size = sizeof(svit_model_config), .architecture = SVIT_ARCHITECTURE_SHIFTVIT,          \
    .in_channels = 3, .shift_pixel = 1, .classifier = 1, .norm_eps = 1e-5

static const svit_model_config COLUMNS[] = {
    [COLUMN_DEFAULT] = {COMMON, .patch_size = 4, .input_height = 48, .input_width = 48,
                        .num_classes = 10, .shift = SVIT_SHIFT_TRUE, .groups = SVIT_GROUPS_CHANNELS,
                        .norm = SVIT_NORM_LAYER, .patch_padding = SVIT_PADDING_SAME,
                        .merge_padding = SVIT_PADDING_SAME, .drop_path_rule = SVIT_DROP_PATH_STAGE,
                        .init = SVIT_INIT_KERAS, .dropout = 0.2},
    [COLUMN_KERAS] = {COMMON, .patch_size = 4, .input_height = 48, .input_width = 48,
                      .num_classes = 10, .shift = SVIT_SHIFT_KERAS, .groups = SVIT_GROUPS_SECTIONS,
                      .norm = SVIT_NORM_LAYER, .patch_padding = SVIT_PADDING_SAME,
                      .merge_padding = SVIT_PADDING_SAME, .drop_path_rule = SVIT_DROP_PATH_STAGE,
                      .init = SVIT_INIT_KERAS, .dropout = 0.2},
    [COLUMN_PAPER] = {COMMON, .patch_size = 4, .input_height = 224, .input_width = 224,
                      .num_classes = 1000, .shift = SVIT_SHIFT_TRUE, .groups = SVIT_GROUPS_CHANNELS,
                      .norm = SVIT_NORM_GROUP, .patch_norm = 1, .final_norm = 1,
                      .patch_padding = SVIT_PADDING_VALID, .merge_padding = SVIT_PADDING_VALID,
                      .drop_path_rule = SVIT_DROP_PATH_NETWORK, .init = SVIT_INIT_PAPER,
                      .dropout = 0},
    [COLUMN_SMALL] = {COMMON, .input_height = 32, .input_width = 32, .num_classes = 10,
                      .patch_size = 2, .shift = SVIT_SHIFT_TRUE, .groups = SVIT_GROUPS_CHANNELS,
                      .norm = SVIT_NORM_LAYER, .patch_padding = SVIT_PADDING_SAME,
                      .merge_padding = SVIT_PADDING_SAME, .drop_path_rule = SVIT_DROP_PATH_NETWORK,
                      .init = SVIT_INIT_KERAS, .dropout = 0},
};

static svit_model_config config_of(const preset *row)
{
    svit_model_config config = COLUMNS[row->column];
    config.dim = row->dim;
    while (config.stages < 4 && row->blocks[config.stages] > 0)
        config.stages++;
    memcpy(config.blocks, row->blocks, sizeof row->blocks);
    config.num_div = row->num_div;
    config.mlp_ratio = row->mlp_ratio;
    config.drop_path = row->drop_path;
    if (row->features) {
        config.classifier = 0;
        config.num_classes = config.dim << (config.stages - 1);
    }
    return config;
}

bool sv_shiftvit_preset(const char **name, svit_model_config *config, size_t index)
{
    if (index >= PRESET_COUNT)
        return false;
    *name = PRESETS[index].name;
    *config = config_of(&PRESETS[index]);
    return true;
}
