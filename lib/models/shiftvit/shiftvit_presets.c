/* The presets of ShiftViT. A preset is a row of sizes and takes its other fields from one of four
 * recipes. */
#include "models/architecture.h"

/* Fields that are equal in all presets. */
#define COMMON                                                                                     \
    .struct_size = sizeof(svit_model_config), .architecture = SVIT_ARCHITECTURE_SHIFTVIT,          \
    .in_channels = 3, .shift_pixel = 1, .norm_eps = 1e-5
#define INPUT(side, patch) .input_height = side, .input_width = side, .patch_size = patch
#define PADDING(kind) .patch_padding = kind, .merge_padding = kind

/* Initial weights of Keras, and layer norms. */
#define KERAS_LIKE                                                                                 \
    COMMON, PADDING(SVIT_PADDING_SAME), .norm = SVIT_NORM_LAYER, .init = SVIT_INIT_KERAS

/* The library's defaults. */
#define DEFAULT                                                                                    \
    KERAS_LIKE, INPUT(48, 4), .stages = 4, .shift = SVIT_SHIFT_TRUE,                               \
                              .groups = SVIT_GROUPS_CHANNELS,                                      \
                              .drop_path_rule = SVIT_DROP_PATH_STAGE, .dropout = 0.2

/* What the Keras example computes. */
#define KERAS                                                                                      \
    KERAS_LIKE, INPUT(48, 4), .stages = 4, .shift = SVIT_SHIFT_KERAS,                              \
                              .groups = SVIT_GROUPS_SECTIONS,                                      \
                              .drop_path_rule = SVIT_DROP_PATH_STAGE, .dropout = 0.2

/* What the paper's code computes (Wang, Zhao, Tang, Wang 2022). */
#define PAPER                                                                                      \
    COMMON, INPUT(224, 4), PADDING(SVIT_PADDING_VALID), CLASSES(1000),                             \
        .stages = 4, .shift = SVIT_SHIFT_TRUE, .groups = SVIT_GROUPS_CHANNELS,                     \
        .norm = SVIT_NORM_GROUP, .patch_norm = 1, .final_norm = 1,                                 \
        .drop_path_rule = SVIT_DROP_PATH_NETWORK, .init = SVIT_INIT_PAPER

/* The defaults for small images in their own size, with patches of 2 x 2 pixels. */
#define SMALL                                                                                      \
    KERAS_LIKE, INPUT(32, 2), .stages = 3, .shift = SVIT_SHIFT_TRUE,                               \
                              .groups = SVIT_GROUPS_CHANNELS,                                      \
                              .drop_path_rule = SVIT_DROP_PATH_NETWORK

/* SIZES has dim, num_div, mlp_ratio, drop_path and the blocks of each stage. CLASSES has the number
 * of classes; FEATURES that of the pooled features, which without a classifier are the logits. */
#define SIZES(width, divisions, ratio, rate, ...)                                                  \
    .dim = width, .num_div = divisions, .mlp_ratio = ratio, .drop_path = rate,                     \
    .blocks = {__VA_ARGS__}
#define CLASSES(count) .classifier = 1, .num_classes = count
#define FEATURES(count) .num_classes = count

const sv_preset sv_shiftvit_presets[] = {
    {"shiftvit-cifar10", {DEFAULT, CLASSES(10), SIZES(96, 12, 2, 0.2, 2, 4, 8, 2)}},
    {"shiftvit-cifar10-keras", {KERAS, CLASSES(10), SIZES(96, 12, 2, 0.2, 2, 4, 8, 2)}},
    {"shiftvit-cifar10-seed001", {KERAS, FEATURES(768), SIZES(96, 12, 2, 0.2, 2, 4, 8, 2)}},
    {"shiftvit-cifar10-seed004", {KERAS, CLASSES(10), SIZES(96, 12, 2, 0.2, 2, 4, 8, 2)}},
    {"shiftvit-t-light", {PAPER, SIZES(96, 12, 4, 0.2, 2, 2, 6, 2)}},
    {"shiftvit-t", {PAPER, SIZES(96, 12, 2, 0.2, 6, 8, 18, 6)}},
    {"shiftvit-s-light", {PAPER, SIZES(96, 12, 4, 0.4, 2, 2, 18, 2)}},
    {"shiftvit-s", {PAPER, SIZES(96, 12, 2, 0.4, 10, 18, 36, 10)}},
    {"shiftvit-b-light", {PAPER, SIZES(128, 16, 4, 0.5, 2, 2, 18, 2)}},
    {"shiftvit-b", {PAPER, SIZES(128, 16, 2, 0.6, 10, 18, 36, 10)}},
    {"shiftvit-cifar10-fast", {SMALL, CLASSES(10), SIZES(96, 12, 2, 0.05, 3, 6, 3)}},
    {"shiftvit-cifar10-narrow", {SMALL, CLASSES(10), SIZES(72, 12, 2, 0, 3, 6, 3)}},
    {"shiftvit-cifar100", {SMALL, CLASSES(100), SIZES(96, 12, 2, 0.05, 3, 6, 3)}},
    {.name = NULL},
};
