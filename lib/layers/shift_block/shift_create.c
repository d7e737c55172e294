/* The shift block as a layer: its memory and its creation. */
#include "layers/shift_block/shift_internal.h"

#include "layers/dropout_bits.h"

static void measure(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    size_t n = run->pass.n;
    int training = run->pass.training;
    const shift_block *block = (const shift_block *)layer;
    sv_arena saved = {0}, shared = {0}, worker = {0};
    sv_shift_saved(training ? &saved : &shared, block, n, training);
    worker.bytes = sv_shift_worker_bytes(block, run, &worker.overflow);
    sv_arena groups = {0};
    if (training && sv_shift_has_groups(block))
        sv_shift_groups_memory(block, n, &shared, &groups);
    else if (training)
        sv_shift_panel(&shared, block, run);
    if (groups.bytes > worker.bytes)
        worker = groups;
    worker.bytes = sv_at_least(worker.bytes, sv_shift_fill_bytes(block, run));
    sv_layer_memory_set(memory, &saved, &shared, &worker);
}

static size_t derived_elements(const sv_layer *layer)
{
    return sv_shift_fill_elements((const shift_block *)layer);
}

static void derive_weights(sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    sv_shift_make_fill((shift_block *)layer, run, memory, scratch);
}

static const sv_layer_ops SHIFT_BLOCK_CLASS = {.name = "shift block",
                                               .derived_elements = derived_elements,
                                               .derive_weights = derive_weights,
                                               .plan_workspace = measure,
                                               .forward = sv_shift_block_forward,
                                               .backward = sv_shift_block_backward};

void sv_shift_block_init(shift_block *block, const sv_parameter_table *table,
                         const sv_shift_options *options)
{
    sv_shape map = options->shape;
    const sv_mlp_names *names = &options->names;
    block->base.in = block->base.out = map;
    block->map = sv_shift_geometry_of(options, map);
    block->hidden = options->hidden;
    block->group_norm = options->norm_per_image;
    block->last_gelu = options->last_gelu;
    block->eps = (real)options->eps;
    block->drop_path = options->drop_path;
    sv_dropout_rate(&block->threshold, &block->scale, options->dropout);
    sv_linear_init(&block->fc1, &block->base, block->hidden, map.channels,
                   sv_layer_parameter(table, names->fc1, ".weight"),
                   sv_layer_parameter(table, names->fc1, ".bias"));
    sv_linear_init(&block->fc2, &block->base, map.channels, block->hidden,
                   sv_layer_parameter(table, names->fc2, ".weight"),
                   sv_layer_parameter(table, names->fc2, ".bias"));
    block->norm_weight = sv_layer_parameter(table, names->norm, ".weight");
    block->norm_bias = sv_layer_parameter(table, names->norm, ".bias");
    block->zeros = sv_shift_gaps(&block->map);
}

svit_status sv_shift_block_create(sv_layer **out, svit_context *context,
                                  const sv_parameter_table *table, const sv_shift_options *options,
                                  svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(shift_block), &SHIFT_BLOCK_CLASS, err));
    sv_shift_block_init(memory, table, options);
    *out = memory;
    return SVIT_OK;
}
