/* Descriptions of the fields of svit_model_config. Each architecture makes a table of its fields of
 * them. Fields that all architectures have are described here once. */
#ifndef SV_CONFIG_FIELDS_H
#define SV_CONFIG_FIELDS_H

#include "config/fields.h"
#include "models/architecture.h"

#include <float.h>

/* An integer in from..to. */
#define SV_MODEL_SIZE(field, from, to)                                                             \
    {                                                                                              \
        SV_FIELD(svit_model_config, field, U32), .min = from, .max = to                            \
    }

/* One of the words, whose indices are the values. */
#define SV_MODEL_WORD(field, ...)                                                                  \
    {                                                                                              \
        SV_FIELD(svit_model_config, field, WORD), .words = (sv_words)                              \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* True or false. */
#define SV_MODEL_FLAG(field)                                                                       \
    {                                                                                              \
        SV_FIELD(svit_model_config, field, FLAG)                                                   \
    }

/* A number above 0, and at most `to`. */
#define SV_MODEL_POSITIVE(field, to)                                                               \
    {                                                                                              \
        SV_FIELD(svit_model_config, field, REAL), .min_is_open = 1, .max = to                      \
    }

/* A number in [0, 1). */
#define SV_MODEL_RATE(field)                                                                       \
    {                                                                                              \
        SV_FIELD(svit_model_config, field, REAL), .max = 1, .max_is_open = 1                       \
    }

/* A list of low..high integers, each in from..to. The field `counter` holds their count. */
#define SV_MODEL_LIST(field, counter, low, high, from, to)                                         \
    {                                                                                              \
        SV_FIELD(svit_model_config, field, LIST),                                                  \
            .count_name = #counter, .count_offset = offsetof(svit_model_config, counter),          \
            .min_count = low, .max_count = high, .min = from, .max = to                            \
    }

#define SV_MODEL_ARCHITECTURE_WORD(constant, prefix, paper_weights)                                \
    [SVIT_ARCHITECTURE_##constant] = #prefix,
#define SV_MODEL_FIELD_ARCHITECTURE                                                                \
    SV_MODEL_WORD(architecture, SV_ARCHITECTURES(SV_MODEL_ARCHITECTURE_WORD))

/* The fields of all architectures, in groups that lie together in JSON. A table begins with
 * SV_MODEL_FIELDS_INPUT. */
#define SV_MODEL_FIELDS_INPUT                                                                      \
    SV_MODEL_FIELD_ARCHITECTURE, SV_MODEL_SIZE(input_height, 1, 8192),                             \
        SV_MODEL_SIZE(input_width, 1, 8192), SV_MODEL_SIZE(in_channels, 1, 1024),                  \
        SV_MODEL_SIZE(num_classes, 1, 1048576), SV_MODEL_SIZE(patch_size, 1, 256),                 \
        SV_MODEL_SIZE(dim, 1, 65536)
#define SV_MODEL_FIELDS_CLASSIFIER                                                                 \
    SV_MODEL_FLAG(classifier), SV_MODEL_POSITIVE(norm_eps, FLT_MAX), SV_MODEL_RATE(dropout)
#define SV_MODEL_FIELDS_DROP_PATH                                                                  \
    SV_MODEL_RATE(drop_path), SV_MODEL_WORD(drop_path_rule, "stage", "network", "constant")
#define SV_MODEL_FIELD_INIT SV_MODEL_WORD(init, "seed", "paper", "keras-3.14")

/* The initialiser of a table of the array `list`. */
#define SV_MODEL_FIELD_TABLE(list)                                                                 \
    {                                                                                              \
        .type = "svit_model_config", .noun = "the model configuration", .fields = list,            \
        .count = sizeof(list) / sizeof *(list)                                                     \
    }

#endif
