/* The struct behind svit_features, and what the files of this folder share. */
#ifndef SV_FEATURES_H
#define SV_FEATURES_H

#include "context/context.h"

#include <shiftvit/features.h>

enum { SV_FEATURES_CHANNELS = 1 << 20, SV_FEATURES_CLASSES = 1 << 20 };

struct svit_features {
    svit_context *context;
    size_t count, channels, classes;
    size_t capacity; /* samples that the two arrays have room for */
    float *values;   /* [capacity, channels] */
    int32_t *labels; /* [capacity]: 0..classes-1, or -1 */
    char **names;    /* [classes]; NULL: none */
    char *layer, *model;
    int32_t tokens;                 /* SVIT_TOKENS_* */
    size_t grid_height, grid_width; /* of the patches of an image; 1: a sample is an image */
};

/* The words of SVIT_TOKENS_*. */
#define SV_TOKENS_WORDS                                                                            \
    [SVIT_TOKENS_MEAN] = "mean", [SVIT_TOKENS_CLASS] = "class", [SVIT_TOKENS_PATCHES] = "patches", \
    [SVIT_TOKENS_PATCHES_3X3] = "patches-3x3"
extern const char *const sv_tokens_words[SVIT_TOKENS_PATCHES_3X3 + 1];

/* Creates a set whose features are 0 and whose labels are -1, without names and with empty texts.
 * The sizes have been checked. SVIT_E_MEMORY. */
svit_status sv_features_open(svit_features **out, svit_context *context, size_t count,
                             size_t channels, size_t classes, svit_error *err);

/* Copies names[classes] into a set that has none. SVIT_E_ARGUMENT for a name that is NULL or not
 * UTF-8. */
svit_status sv_features_set_names(svit_features *features, const char *const *names,
                                  svit_error *err);

/* Replaces *text, the `layer` or `model` of the set, by a copy of `value`. */
svit_status sv_features_set_text(svit_features *features, char **text, const char *value,
                                 svit_error *err);

enum { SV_MODEL_DESCRIPTION = 96 };

/* Writes the description of a model, which svit_features_model returns. */
void sv_model_describe(char text[SV_MODEL_DESCRIPTION], const svit_model *model);

#endif
