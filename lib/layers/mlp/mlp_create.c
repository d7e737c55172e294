/* The MLP block as a layer: its operations and its creation. */
#include "layers/dropout_bits.h"
#include "layers/mlp/mlp_internal.h"

/* A block has either LayerScale or a shift, whose zero channel groups have a correction term. */
static size_t derived_elements(const sv_layer *layer)
{
    const mlp_block *block = (const mlp_block *)layer;
    return sv_layer_scale_exists(&block->scale)
               ? sv_layer_scale_elements(&block->scale, &block->fc2)
               : sv_mlp_correction_elements(block);
}

static void place_derived(sv_layer *layer, const real *memory)
{
    mlp_block *block = (mlp_block *)layer;
    if (sv_layer_scale_exists(&block->scale))
        sv_linear_place_derived(&block->fc2, memory);
    else
        block->correction = memory;
}

static void derive_weights(const sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    const mlp_block *block = (const mlp_block *)layer;
    if (sv_layer_scale_exists(&block->scale))
        sv_layer_scale_derive(&block->scale, &block->fc2, run, memory);
    else
        sv_mlp_derive_correction(block, run, memory, scratch);
}

const sv_layer_ops sv_mlp_ops = {.name = "mlp block",
                                 .derived_elements = derived_elements,
                                 .place_derived = place_derived,
                                 .derive_weights = derive_weights,
                                 .plan_workspace = sv_mlp_plan_workspace,
                                 .forward = sv_mlp_forward,
                                 .backward = sv_mlp_backward};

void sv_mlp_init(mlp_block *block, const sv_layer_source *source, const sv_mlp_options *options)
{
    const sv_shape shape = options->shape;
    const sv_mlp_names *names = &options->names;
    block->base.in = block->base.out = shape;
    block->shift = sv_shift_geometry_of(&options->shift, shape);
    block->hidden_channels = options->hidden_channels;
    block->norm_per_image = options->norm_per_image;
    block->last_gelu = options->last_gelu;
    block->eps = (real)options->eps;
    block->drop_path = options->drop_path;
    sv_dropout_rate(&block->dropout_threshold, &block->dropout_scale, options->dropout);
    block->activation = options->activation;
    block->gated = options->gated;
    sv_layer_linear(&block->base, &block->fc1, source, names->fc1,
                    (block->gated ? 2 : 1) * block->hidden_channels, shape.channels);
    sv_layer_scale_init(&block->scale, &block->fc2, &block->base, source, names->fc2,
                        names->layer_scale, shape.channels, block->hidden_channels);
    block->norm = sv_norm_find(&block->base, source, names->norm);
    block->hidden_norm = sv_norm_find(&block->base, source, names->hidden_norm);
    block->chunked = sv_mlp_is_chunked(block);
    block->zeros = sv_shift_zero_groups(&block->shift);
}

sv_layer *sv_mlp_create(const sv_layer_source *source, const sv_mlp_options *options)
{
    mlp_block *block = sv_layer_new(source, sizeof *block, &sv_mlp_ops);
    if (!block)
        return NULL;
    sv_mlp_init(block, source, options);
    return &block->base;
}
