/* The layers of a model as two graphs, and the builder with which each architecture makes them. */
#ifndef SV_LAYER_LIST_H
#define SV_LAYER_LIST_H

#include "base/status.h"
#include "layers/layers.h"
#include "models/model.h"

/* Two graphs, each a sequence of layers from the image to the logits. The inference graph shares
 * the layers of the training graph, but has fused layers in place of some of them and leaves out
 * those that act in training only. */
typedef struct sv_layer_list {
    sv_layer **layers;      /* [count]: the training graph in order, then the fused layers */
    sv_layer **inference;   /* [inference_count]: the inference graph in order */
    sv_layer **named;       /* [named_count]: the layers of the training graph that have a name */
    size_t training_count;  /* layers of the training graph */
    size_t count;           /* all layers; the number of a layer is its index */
    size_t inference_count; /* layers of the inference graph */
    size_t named_count;     /* layers that have a name */
    size_t capacity;        /* of the training graph */
} sv_layer_list;

/* Creates the layers of `model` for inputs of height x width pixels. SVIT_E_ARGUMENT if the model
 * does not accept that size. Free the list with sv_layer_list_free. */
svit_status sv_model_layers(sv_layer_list *out, const svit_model *model, size_t height,
                            size_t width, svit_error *err);

/* Frees the layers and clears *list. */
void sv_layer_list_free(svit_context *context, sv_layer_list *list);

/* The state while an architecture builds its graphs. */
typedef struct sv_builder {
    sv_layer_list *list;
    size_t fused_count; /* fused layers; sv_model_layers moves them behind the training graph */
    const svit_model *model;
    sv_shape shape; /* of the next layer's input */
    svit_error *err;
} sv_builder;

/* Appends a layer to both graphs; to the training graph alone if it acts in training only. */
void sv_builder_append(sv_builder *build, sv_layer *layer);

/* Names the output of the layer that was appended last, as by printf: "blocks.%zu". */
void sv_builder_name(sv_builder *build, const char *format, ...) SV_PRINTF(2, 3);

/* Lets the inference graph have no fused layers: every layer by itself. */
void sv_layer_list_unfuse(sv_layer_list *list);

/* Creates a layer and appends it: SV_APPEND(build, sv_mean_create(&layer, ...)) */
#define SV_APPEND(build, create)                                                                   \
    do {                                                                                           \
        sv_layer *layer = NULL;                                                                    \
        SVIT_TRY(create);                                                                          \
        sv_builder_append(build, layer);                                                           \
    } while (0)

/* Replaces the last `count` layers of the inference graph by a layer that fuses them. */
void sv_builder_fuse(sv_builder *build, size_t count, sv_layer *layer);

/* Creates a fused layer: SV_FUSE(build, 3, sv_mlp_head_create(&layer, ...)) */
#define SV_FUSE(build, count, create)                                                              \
    do {                                                                                           \
        sv_layer *layer = NULL;                                                                    \
        SVIT_TRY(create);                                                                          \
        sv_builder_fuse(build, count, layer);                                                      \
    } while (0)

/* Element `index` of `count` values at equal distances from 0 to `rate`. A single one is 0. */
double sv_linspace(double rate, size_t index, size_t count);

#endif
