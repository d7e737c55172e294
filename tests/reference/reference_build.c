/* Adds layers to a reference model. */
#include "reference_layer.h"

#include <stdio.h>
#include <stdlib.h>

/* Adds the parameter `name``suffix`. `out` is 0 for all but the weights of matmuls and
 * convolutions. */
static void add_parameter(reference_model *model, double **value, double **gradient, size_t out,
                          size_t elements, const char *name, const char *suffix)
{
    if (model->tensor_count == REFERENCE_MOST_TENSORS)
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
    if (model->layer_count == REFERENCE_MOST_LAYERS)
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

/* Adds a layer whose output has the shape of its input. */
static reference_layer *add_same_shape(reference_model *model, reference_layer_kind kind)
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
    add_parameter(model, &layer->weight, &layer->dweight, out, out * in, name, ".weight");
    if (has_bias)
        add_parameter(model, &layer->bias, &layer->dbias, 0, out, name, ".bias");
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
    add_parameter(model, &layer->weight, &layer->dweight, out, out * in, name, ".weight");
    add_parameter(model, &layer->bias, &layer->dbias, 0, out, name, ".bias");
    if (gelu)
        layer->pre_gelu = reference_new_array(model, model->images * layer->tokens * out, 0);
}

void reference_add_norm(reference_model *model, int group, const char *name)
{
    reference_layer *layer = add_same_shape(model, REFERENCE_NORM);
    const size_t channels = layer->channels;
    layer->norm = (reference_norm_shape){.groups = model->images * (group ? 1 : layer->tokens),
                                         .elements = (group ? layer->tokens : 1) * channels,
                                         .channels = channels,
                                         .eps = model->config.norm_eps};
    add_parameter(model, &layer->weight, &layer->dweight, 0, channels, name, ".weight");
    add_parameter(model, &layer->bias, &layer->dbias, 0, channels, name, ".bias");
}

void reference_add_position(reference_model *model, const char *position, const char *class_token)
{
    const size_t tokens = model->height * model->width + (class_token ? 1 : 0);
    reference_layer *layer = add_layer(model, REFERENCE_POSITION, 1, tokens, model->channels);
    add_parameter(model, &layer->weight, &layer->dweight, 0, tokens * layer->channels, position,
                  "");
    if (class_token)
        add_parameter(model, &layer->bias, &layer->dbias, 0, layer->channels, class_token, "");
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

static reference_block_activations new_block_activations(reference_model *model, size_t hidden,
                                                         int is_gradient)
{
    const size_t tokens = model->images * model->height * model->width;
    reference_block_activations made;
    made.x_shifted = reference_new_array(model, tokens * model->channels, is_gradient);
    made.normalized = reference_new_array(model, tokens * model->channels, is_gradient);
    made.pre_gelu = reference_new_array(model, tokens * hidden, is_gradient);
    made.hidden = reference_new_array(model, tokens * hidden, is_gradient);
    made.last_pre_gelu = reference_new_array(model, tokens * model->channels, is_gradient);
    return made;
}

void reference_add_block(reference_model *model, reference_block_shape shape,
                         const reference_block_names *names)
{
    reference_layer *layer = add_same_shape(model, REFERENCE_BLOCK);
    reference_block_parameters *p = &layer->block.parameters, *d = &layer->block.gradients;
    const size_t channels = model->channels, hidden = shape.hidden;
    shape.shift.images = model->images;
    shape.shift.height = model->height;
    shape.shift.width = model->width;
    shape.shift.channels = channels;
    layer->block.shape = shape;
    add_parameter(model, &p->norm_weight, &d->norm_weight, 0, channels, names->norm, ".weight");
    add_parameter(model, &p->norm_bias, &d->norm_bias, 0, channels, names->norm, ".bias");
    add_parameter(model, &p->fc1_weight, &d->fc1_weight, hidden, hidden * channels, names->fc1,
                  ".weight");
    add_parameter(model, &p->fc1_bias, &d->fc1_bias, 0, hidden, names->fc1, ".bias");
    add_parameter(model, &p->fc2_weight, &d->fc2_weight, channels, channels * hidden, names->fc2,
                  ".weight");
    add_parameter(model, &p->fc2_bias, &d->fc2_bias, 0, channels, names->fc2, ".bias");
    layer->block.saved = new_block_activations(model, hidden, 0);
    layer->block.dsaved = new_block_activations(model, hidden, 1);
}

static reference_attention_activations
new_attention_activations(reference_model *model, const reference_attention_shape *shape,
                          int is_gradient)
{
    const size_t rows = shape->images * shape->tokens, width = shape->heads * shape->head_dim;
    reference_attention_activations made;
    made.normalized = reference_new_array(model, rows * shape->channels, is_gradient);
    made.qkv = reference_new_array(model, rows * 3 * width, is_gradient);
    made.p = reference_new_array(model, rows * shape->heads * shape->tokens, is_gradient);
    made.o = reference_new_array(model, rows * width, is_gradient);
    return made;
}

void reference_add_attention(reference_model *model, reference_attention_shape shape,
                             int has_qkv_bias, int has_proj, const reference_attention_names *names)
{
    reference_layer *layer = add_same_shape(model, REFERENCE_ATTENTION);
    reference_attention_parameters *p = &layer->attention.parameters;
    reference_attention_parameters *d = &layer->attention.gradients;
    const size_t channels = model->channels, width = shape.heads * shape.head_dim;
    shape.images = model->images;
    shape.tokens = layer->tokens;
    shape.channels = channels;
    layer->attention.shape = shape;
    add_parameter(model, &p->norm_weight, &d->norm_weight, 0, channels, names->norm, ".weight");
    add_parameter(model, &p->norm_bias, &d->norm_bias, 0, channels, names->norm, ".bias");
    add_parameter(model, &p->qkv_weight, &d->qkv_weight, 3 * width, 3 * width * channels,
                  names->qkv, ".weight");
    if (has_qkv_bias)
        add_parameter(model, &p->qkv_bias, &d->qkv_bias, 0, 3 * width, names->qkv, ".bias");
    if (has_proj) {
        add_parameter(model, &p->proj_weight, &d->proj_weight, channels, channels * width,
                      names->proj, ".weight");
        add_parameter(model, &p->proj_bias, &d->proj_bias, 0, channels, names->proj, ".bias");
    }
    if (shape.temperature != REFERENCE_NO_TEMPERATURE)
        add_parameter(model, &p->temperature, &d->temperature, 0,
                      shape.temperature == REFERENCE_DIVIDE_BY_ONE ? 1 : shape.heads,
                      names->temperature, "");
    layer->attention.saved = new_attention_activations(model, &shape, 0);
    layer->attention.dsaved = new_attention_activations(model, &shape, 1);
}
