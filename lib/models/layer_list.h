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
    const svit_model_config *config;
    sv_layer_source source; /* of the next layer */
    sv_shape shape;         /* of the next layer's input */
    char prefix[48];        /* source.prefix, unless that is "" */
} sv_builder;

/* SVIT_E_ARGUMENT if the image has another size than the configuration says. `what` names a part of
 * the model that is made for that size alone, with its verb for the message: "token MLPs are". */
svit_status sv_builder_check_size(const sv_builder *build, const char *what);

/* Sets the prefix of the next layers' parameters, as by printf: "blocks.%zu.". */
void sv_builder_prefix(sv_builder *build, const char *format, ...) SV_PRINTF(2, 3);

/* Appends what a creator of layers returned to both graphs; to the training graph alone if the
 * layer acts in training only. NULL is SVIT_E_MEMORY. */
svit_status sv_builder_append(sv_builder *build, sv_layer *layer);

/* Appends a layer norm, or with `per_image` a group norm of one group, whose moments are those of a
 * whole image. */
svit_status sv_builder_norm(sv_builder *build, const char *name, bool per_image);

/* Appends a linear map of each token to `channels` channels. */
svit_status sv_builder_dense(sv_builder *build, size_t channels, const char *name);

/* Replaces the last `count` layers of the inference graph by what a creator returned, a layer that
 * fuses them. NULL is SVIT_E_MEMORY. */
svit_status sv_builder_fuse(sv_builder *build, size_t count, sv_layer *layer);

/* Names the output of the layer that was appended last, as by printf: "blocks.%zu". */
void sv_builder_name(sv_builder *build, const char *format, ...) SV_PRINTF(2, 3);

/* The number of layers of the inference graph up to the one that ends where layer `end` of the
 * training graph begins; 0: none ends there. */
size_t sv_layer_list_inference_until(const sv_layer_list *list, size_t end);

/* Lets the inference graph have no fused layers: every layer by itself. */
void sv_layer_list_unfuse(sv_layer_list *list);

/* The DropPath rate of block `index` of the model, in a stage of `count` blocks from block `first`
 * on: it grows from 0 to config->drop_path over the stage, over the model, or is constant. */
double sv_drop_path_rate(const svit_model_config *config, size_t index, size_t first, size_t count);

#endif
