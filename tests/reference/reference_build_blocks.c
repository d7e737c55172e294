/* Adds MLP blocks, token MLPs and attention blocks to a reference model. */
#include "reference_layer.h"

static reference_block_activations new_block_activations(reference_model *model, size_t hidden,
                                                         int is_gradient)
{
    const size_t tokens = model->images * model->height * model->width;
    reference_block_activations activations;
    activations.x_shifted = reference_new_array(model, tokens * model->channels, is_gradient);
    activations.normalized = reference_new_array(model, tokens * model->channels, is_gradient);
    activations.pre_gelu = reference_new_array(model, tokens * hidden, is_gradient);
    activations.hidden = reference_new_array(model, tokens * hidden, is_gradient);
    activations.last_pre_gelu = reference_new_array(model, tokens * model->channels, is_gradient);
    return activations;
}

/* The norm of `channels` channels and an MLP of weights [hidden, width] and [width, hidden]. */
static void add_block_parameters(reference_model *model, reference_block_parameters *p,
                                 reference_block_parameters *d, size_t channels, size_t hidden,
                                 size_t width, const reference_block_names *names)
{
    reference_add_parameter(model, &p->norm_weight, &d->norm_weight, 0, channels, names->norm,
                            ".weight");
    reference_add_parameter(model, &p->norm_bias, &d->norm_bias, 0, channels, names->norm, ".bias");
    reference_add_parameter(model, &p->fc1_weight, &d->fc1_weight, hidden, hidden * width,
                            names->fc1, ".weight");
    reference_add_parameter(model, &p->fc1_bias, &d->fc1_bias, 0, hidden, names->fc1, ".bias");
    reference_add_parameter(model, &p->fc2_weight, &d->fc2_weight, width, width * hidden,
                            names->fc2, ".weight");
    reference_add_parameter(model, &p->fc2_bias, &d->fc2_bias, 0, width, names->fc2, ".bias");
}

void reference_add_block(reference_model *model, reference_block_shape shape,
                         const reference_block_names *names)
{
    reference_layer *layer = reference_add_same_shape(model, REFERENCE_BLOCK);
    reference_block_parameters *p = &layer->block.parameters, *d = &layer->block.gradients;
    const size_t channels = model->channels, hidden = shape.hidden;
    shape.shift.images = model->images;
    shape.shift.height = model->height;
    shape.shift.width = model->width;
    shape.shift.channels = channels;
    layer->block.shape = shape;
    add_block_parameters(model, p, d, channels, hidden, channels, names);
    layer->block.saved = new_block_activations(model, hidden, 0);
    layer->block.dsaved = new_block_activations(model, hidden, 1);
}

static reference_token_mlp_activations
new_token_mlp_activations(reference_model *model, const reference_token_mlp_shape *shape,
                          int is_gradient)
{
    const size_t rows = shape->images * shape->channels, elements = rows * shape->tokens;
    reference_token_mlp_activations activations;
    activations.normalized = reference_new_array(model, elements, is_gradient);
    activations.normalized_t = reference_new_array(model, elements, is_gradient);
    activations.branch_t = reference_new_array(model, elements, is_gradient);
    activations.pre_gelu = reference_new_array(model, rows * shape->hidden, is_gradient);
    activations.hidden = reference_new_array(model, rows * shape->hidden, is_gradient);
    return activations;
}

void reference_add_token_mlp(reference_model *model, reference_token_mlp_shape shape,
                             const reference_block_names *names)
{
    reference_layer *layer = reference_add_same_shape(model, REFERENCE_TOKEN_MLP);
    shape.images = model->images;
    shape.tokens = layer->tokens;
    shape.channels = model->channels;
    layer->token_mlp.shape = shape;
    add_block_parameters(model, &layer->token_mlp.parameters, &layer->token_mlp.gradients,
                         shape.channels, shape.hidden, shape.tokens, names);
    layer->token_mlp.saved = new_token_mlp_activations(model, &shape, 0);
    layer->token_mlp.dsaved = new_token_mlp_activations(model, &shape, 1);
}

static reference_attention_activations
new_attention_activations(reference_model *model, const reference_attention_shape *shape,
                          int is_gradient)
{
    const size_t rows = shape->images * shape->tokens, width = shape->heads * shape->head_dim;
    reference_attention_activations activations;
    activations.normalized = reference_new_array(model, rows * shape->channels, is_gradient);
    activations.qkv = reference_new_array(model, rows * 3 * width, is_gradient);
    activations.p = reference_new_array(model, rows * shape->heads * shape->tokens, is_gradient);
    activations.o = reference_new_array(model, rows * width, is_gradient);
    return activations;
}

void reference_add_attention(reference_model *model, reference_attention_shape shape,
                             int has_qkv_bias, int has_proj, const reference_attention_names *names)
{
    reference_layer *layer = reference_add_same_shape(model, REFERENCE_ATTENTION);
    reference_attention_parameters *p = &layer->attention.parameters;
    reference_attention_parameters *d = &layer->attention.gradients;
    const size_t channels = model->channels, width = shape.heads * shape.head_dim;
    shape.images = model->images;
    shape.tokens = layer->tokens;
    shape.channels = channels;
    layer->attention.shape = shape;
    reference_add_parameter(model, &p->norm_weight, &d->norm_weight, 0, channels, names->norm,
                            ".weight");
    reference_add_parameter(model, &p->norm_bias, &d->norm_bias, 0, channels, names->norm, ".bias");
    reference_add_parameter(model, &p->qkv_weight, &d->qkv_weight, 3 * width, 3 * width * channels,
                            names->qkv, ".weight");
    if (has_qkv_bias)
        reference_add_parameter(model, &p->qkv_bias, &d->qkv_bias, 0, 3 * width, names->qkv,
                                ".bias");
    if (has_proj) {
        reference_add_parameter(model, &p->proj_weight, &d->proj_weight, channels, channels * width,
                                names->proj, ".weight");
        reference_add_parameter(model, &p->proj_bias, &d->proj_bias, 0, channels, names->proj,
                                ".bias");
    }
    if (shape.temperature != REFERENCE_NO_TEMPERATURE)
        reference_add_parameter(model, &p->temperature, &d->temperature, 0,
                                shape.temperature == REFERENCE_DIVIDE_BY_ONE ? 1 : shape.heads,
                                names->temperature, "");
    layer->attention.saved = new_attention_activations(model, &shape, 0);
    layer->attention.dsaved = new_attention_activations(model, &shape, 1);
}
