/* The table of a model configuration's fields: whose they are, and what each may be. */
#include "models/config_fields.h"

#include <float.h>

enum {
    OF_BOTH = 0,
    OF_SHIFTVIT = 1 << SVIT_ARCHITECTURE_SHIFTVIT,
    OF_VIT = 1 << SVIT_ARCHITECTURE_VIT
};

#define FIELD(field, whose, kind) SV_FIELD(svit_model_config, field, kind), .owners = OF_##whose
#define SIZE(field, whose, from, to)                                                               \
    {                                                                                              \
        FIELD(field, whose, U32), .min = from, .max = to                                           \
    }
#define WORD(field, whose, ...)                                                                    \
    {                                                                                              \
        FIELD(field, whose, WORD), .words = { __VA_ARGS__ }                                        \
    }
#define FLAG(field, whose)                                                                         \
    {                                                                                              \
        FIELD(field, whose, FLAG)                                                                  \
    }
/* Above 0, at most `to`. */
#define ABOVE(field, whose, to)                                                                    \
    {                                                                                              \
        FIELD(field, whose, REAL), .min_is_open = 1, .max = to                                     \
    }
/* In [0, 1). */
#define RATE(field, whose)                                                                         \
    {                                                                                              \
        FIELD(field, whose, REAL), .max = 1, .max_is_open = 1                                      \
    }
/* `counter` counts `low` to `high` elements, each in from..to. */
#define LIST(field, whose, counter, low, high, from, to)                                           \
    {                                                                                              \
        FIELD(field, whose, LIST), .count_name = #counter,                                         \
                                   .count_offset = offsetof(svit_model_config, counter),           \
                                   .min_count = low, .max_count = high, .min = from, .max = to     \
    }

static const sv_field FIELDS[] = {
    WORD(architecture, BOTH, "shiftvit", "vit"),
    SIZE(input_height, BOTH, 1, 8192),
    SIZE(input_width, BOTH, 1, 8192),
    SIZE(in_channels, BOTH, 1, 1024),
    SIZE(num_classes, BOTH, 1, 1048576),
    SIZE(patch_size, BOTH, 1, 256),
    SIZE(dim, BOTH, 1, 65536),
    LIST(blocks, SHIFTVIT, stages, 1, SVIT_MAX_STAGES, 0, 1000),
    ABOVE(mlp_ratio, SHIFTVIT, 1024),
    SIZE(num_div, SHIFTVIT, 1, 65536),
    SIZE(shift_pixel, SHIFTVIT, 0, 8192),
    WORD(shift, SHIFTVIT, "true", "keras"),
    WORD(groups, SHIFTVIT, "channels", "sections"),
    WORD(norm, SHIFTVIT, "layer", "group"),
    FLAG(patch_norm, SHIFTVIT),
    FLAG(final_norm, SHIFTVIT),
    WORD(patch_padding, SHIFTVIT, "same", "valid"),
    WORD(merge_padding, SHIFTVIT, "same", "valid"),
    SIZE(depth, VIT, 1, 1000),
    SIZE(heads, VIT, 1, 65536),
    SIZE(head_dim, VIT, 1, 65536),
    SIZE(mlp_dim, VIT, 1, 1048576),
    WORD(tokenizer, VIT, "patch", "spt"),
    WORD(spt_order, VIT, "seed", "paper"),
    WORD(attention, VIT, "global", "lsa"),
    WORD(temperature, VIT, "divide", "multiply"),
    FLAG(qkv_bias, VIT),
    FLAG(mlp_last_gelu, VIT),
    WORD(pool, VIT, "flatten", "class_token", "mean"),
    LIST(head_units, VIT, head_layers, 0, SVIT_MAX_HEAD_LAYERS, 1, 1048576),
    FLAG(classifier, BOTH),
    ABOVE(norm_eps, BOTH, FLT_MAX),
    RATE(dropout, BOTH),
    RATE(attention_dropout, VIT),
    RATE(head_dropout, VIT),
    RATE(drop_path, BOTH),
    WORD(drop_path_rule, BOTH, "stage", "network", "constant"),
    WORD(names, VIT, "seed", "paper"),
    WORD(init, BOTH, "seed", "paper", "keras-3.14"),
};

const sv_field_table sv_model_fields = {.type = "svit_model_config",
                                        .noun = "the model configuration",
                                        .fields = FIELDS,
                                        .count = sizeof FIELDS / sizeof *FIELDS,
                                        .selector = &FIELDS[0]};
