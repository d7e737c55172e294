/* Adds parameters and the layers with a single operation to a reference model. */
#include "reference_layer.h"

#include <stdio.h>
#include <stdlib.h>

void reference_add_parameter(reference_model *model, double **value, double **gradient, size_t out,
                             size_t elements, const char *name, const char *suffix)
{
    if (model->tensor_count == REFERENCE_MAX_TENSORS)
        abort();
    reference_tensor *tensor = &model->tensors[model->tensor_count++];
    snprintf(tensor->name, sizeof tensor->name, "%s%s", name, suffix);
    tensor->elements = elements;
    tensor->out = out;
    *value = tensor->value = reference_new_array(model, elements, 0);
    *gradient = tensor->gradient = reference_new_array(model, elements, 1);
}

/* Adds a layer whose output is [images, height, width, channels]. */
static reference_layer *add_layer(reference_model *model, reference_layer_kind kind, size_t height,
                                  size_t width, size_t channels)
{
    if (model->layer_count == REFERENCE_MAX_LAYERS)
        abort();
    const size_t first = model->layer_count == 0;
    reference_layer *layer = &model->layers[model->layer_count++];
    layer->kind = kind;
    layer->images = model->images;
    layer->in_tokens = model->height * model->width;
    layer->in_channels = model->channels;
    layer->tokens = height * width;
    layer->channels = channels;
    const size_t in = model->images * layer->in_tokens * layer->in_channels;
    const size_t out = model->images * layer->tokens * channels;
    layer->x = first ? model->x : layer[-1].y;
    layer->dx = first ? reference_new_array(model, in, 1) : layer[-1].dy;
    layer->y = reference_new_array(model, out, 0);
    layer->dy = reference_new_array(model, out, 1);
    model->height = height;
    model->width = width;
    model->channels = channels;
    return layer;
}

reference_layer *reference_add_same_shape(reference_model *model, reference_layer_kind kind)
{
    return add_layer(model, kind, model->height, model->width, model->channels);
}

static reference_patch_shape patches_of(const reference_model *model, size_t size, int same)
{
    reference_patch_shape shape = {.images = model->images,
                                   .height = model->height,
                                   .width = model->width,
                                   .channels = model->channels,
                                   .size = size};
    reference_patch_padding(&shape, same);
    return shape;
}

void reference_add_convolution(reference_model *model, size_t size, int same, size_t out,
                               int has_bias, const char *name)
{
    const reference_patch_shape patches = patches_of(model, size, same);
    const size_t in = size * size * model->channels;
    reference_layer *layer =
        add_layer(model, REFERENCE_CONVOLUTION, patches.rows, patches.columns, out);
    layer->patches = patches;
    reference_add_parameter(model, &layer->weight, &layer->dweight, out, out * in, name, ".weight");
    if (has_bias)
        reference_add_parameter(model, &layer->bias, &layer->dbias, 0, out, name, ".bias");
}

void reference_add_spt_copies(reference_model *model, size_t half, int paper_order)
{
    const reference_spt_shape spt = {model->images,   model->height, model->width,
                                     model->channels, half,          paper_order};
    reference_layer *layer =
        add_layer(model, REFERENCE_SPT_COPIES, model->height, model->width, 5 * model->channels);
    layer->spt = spt;
}

void reference_add_patch_rows(reference_model *model, size_t size)
{
    const reference_patch_shape patches = patches_of(model, size, 0);
    reference_layer *layer = add_layer(model, REFERENCE_PATCH_ROWS, patches.rows, patches.columns,
                                       size * size * model->channels);
    layer->patches = patches;
}

void reference_add_dense(reference_model *model, size_t out, int gelu, const char *name)
{
    const size_t in = model->channels;
    reference_layer *layer = add_layer(model, REFERENCE_DENSE, model->height, model->width, out);
    reference_add_parameter(model, &layer->weight, &layer->dweight, out, out * in, name, ".weight");
    reference_add_parameter(model, &layer->bias, &layer->dbias, 0, out, name, ".bias");
    if (gelu)
        layer->pre_gelu = reference_new_array(model, model->images * layer->tokens * out, 0);
}

void reference_add_norm(reference_model *model, int group, const char *name)
{
    reference_layer *layer = reference_add_same_shape(model, REFERENCE_NORM);
    const size_t channels = layer->channels;
    layer->norm = (reference_norm_shape){.groups = model->images * (group ? 1 : layer->tokens),
                                         .elements = (group ? layer->tokens : 1) * channels,
                                         .channels = channels,
                                         .eps = model->config.norm_eps};
    reference_add_parameter(model, &layer->weight, &layer->dweight, 0, channels, name, ".weight");
    reference_add_parameter(model, &layer->bias, &layer->dbias, 0, channels, name, ".bias");
}

void reference_add_position(reference_model *model, const char *position, const char *class_token)
{
    const size_t tokens = model->height * model->width + (class_token ? 1 : 0);
    reference_layer *layer = add_layer(model, REFERENCE_POSITION, 1, tokens, model->channels);
    reference_add_parameter(model, &layer->weight, &layer->dweight, 0, tokens * layer->channels,
                            position, "");
    if (class_token)
        reference_add_parameter(model, &layer->bias, &layer->dbias, 0, layer->channels, class_token,
                                "");
}

void reference_add_mean(reference_model *model, size_t pooled)
{
    add_layer(model, REFERENCE_MEAN, 1, 1, model->channels)->pooled = pooled;
}

void reference_flatten(reference_model *model)
{
    model->channels *= model->height * model->width;
    model->height = model->width = 1;
}
