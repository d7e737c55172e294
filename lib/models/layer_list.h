/* A model as a list of layers, and what makes one of each architecture. */
#ifndef SV_LAYER_LIST_H
#define SV_LAYER_LIST_H

#include "layers/layers.h"
#include "models/model.h"

/* layers[0..count) train, in their order; those up to `all` infer only. infer[0..infer_count) are
 * those of all that infer, in their order. */
typedef struct sv_layer_list {
    sv_layer **layers, **infer;
    size_t count, all, infer_count;
    size_t capacity; /* of those that train */
} sv_layer_list;

/* Makes the layers of `model` for inputs of height x width, from image to logits. SVIT_E_ARGUMENT
 * where the model does not take that size. On failure nothing is left behind. */
svit_status sv_model_layers(sv_layer_list *out, const svit_model *model, size_t height,
                            size_t width, svit_error *err);
void sv_layer_list_free(svit_context *context, sv_layer_list *list);

/* A list in the making: those that infer only lie behind room for all that train. */
typedef struct sv_builder {
    sv_layer_list *list;
    size_t replacements;
    const svit_model *model;
    sv_shape map; /* what the next layer gets */
    svit_error *err;
} sv_builder;

/* Appends what a creator made: SV_APPEND(build, sv_mean_create(&layer, ...)) */
void sv_builder_append(sv_builder *build, sv_layer *layer);
#define SV_APPEND(build, create)                                                                   \
    do {                                                                                           \
        sv_layer *layer = NULL;                                                                    \
        SVIT_TRY(create);                                                                          \
        sv_builder_append(build, layer);                                                           \
    } while (0)

/* In inference what a creator made does the work of the last `count` layers that infer:
 * SV_REPLACE(build, 3, sv_mlp_head_create(&layer, ...)) */
void sv_builder_replace(sv_builder *build, size_t count, sv_layer *layer);
#define SV_REPLACE(build, count, create)                                                           \
    do {                                                                                           \
        sv_layer *layer = NULL;                                                                    \
        SVIT_TRY(create);                                                                          \
        sv_builder_replace(build, count, layer);                                                   \
    } while (0)

/* What the table of architectures has of each. */
size_t sv_shiftvit_layer_count(const svit_model_config *config);
svit_status sv_shiftvit_layers(sv_builder *build);
size_t sv_vit_layer_count(const svit_model_config *config);
svit_status sv_vit_layers(sv_builder *build);

/* The last of `count` values from 0 to `rate` at equal distances is `rate`; a single one is 0. */
double sv_linspace(double rate, size_t index, size_t count);

#endif
