/* The MLP block as a layer: its operations and its creation. */
#include "layers/dropout_bits.h"
#include "layers/mlp/mlp_internal.h"

static size_t derived_elements(const sv_layer *layer)
{
    return sv_mlp_correction_elements((const mlp_block *)layer);
}

static void derive_weights(sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    sv_mlp_derive_correction((mlp_block *)layer, run, memory, scratch);
}

static const sv_layer_ops MLP_OPS = {.name = "mlp block",
                                     .derived_elements = derived_elements,
                                     .derive_weights = derive_weights,
                                     .plan_workspace = sv_mlp_plan_workspace,
                                     .forward = sv_mlp_forward,
                                     .backward = sv_mlp_backward};

static void init_linear(sv_linear *linear, sv_layer *layer, const sv_parameter_table *table,
                        const char *name, size_t out, size_t in)
{
    sv_linear_init(linear, layer, out, in, sv_layer_parameter(table, name, ".weight"),
                   sv_layer_parameter(table, name, ".bias"));
}

void sv_mlp_init(mlp_block *block, const sv_parameter_table *table, const sv_mlp_options *options)
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
    init_linear(&block->fc1, &block->base, table, names->fc1, block->hidden_channels,
                shape.channels);
    init_linear(&block->fc2, &block->base, table, names->fc2, shape.channels,
                block->hidden_channels);
    block->norm_weight = sv_layer_parameter(table, names->norm, ".weight");
    block->norm_bias = sv_layer_parameter(table, names->norm, ".bias");
    block->chunked = sv_mlp_is_chunked(block);
    block->zeros = sv_shift_zero_groups(&block->shift);
}

svit_status sv_mlp_create(sv_layer **out, svit_context *context, const sv_parameter_table *table,
                          const sv_mlp_options *options, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(mlp_block), &MLP_OPS, err));
    sv_mlp_init(memory, table, options);
    *out = memory;
    return SVIT_OK;
}
