/* The attention block as a layer: y = x + path * proj(attention(norm(x))). */
#include "layers/attention/attention_internal.h"

#include "layers/dropout_bits.h"

/* In inference, so few images that there may be more workers. */
enum { FEW_IMAGES = 3 };

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.path)
        sv_draw_drop_path_scales(run, layer->number, call.block->drop_path, call.saved.path);
    if (!run->pass.training && !run->exec.serial && run->pass.n <= FEW_IMAGES &&
        call.block->qkv.forward.split)
        sv_attention_small_m(&call);
    else
        sv_attention_images(&call);
}

static const sv_layer_ops ATTENTION_CLASS = {.name = "attention block",
                                             .keeps_input = 1,
                                             .derived_elements = sv_attention_derived_elements,
                                             .derive_weights = sv_attention_derive_weights,
                                             .plan_workspace = sv_attention_plan_workspace,
                                             .forward = forward,
                                             .backward = sv_attention_backward};

bool sv_layer_attends(const sv_layer *layer, size_t *heads, size_t *tokens)
{
    if (layer->ops != &ATTENTION_CLASS)
        return false;
    *heads = ((const attention_block *)layer)->heads;
    *tokens = sv_shape_tokens(layer->in);
    return true;
}

static void find_parameters(attention_block *block, const sv_parameter_table *table,
                            const sv_attention_names *names)
{
    block->norm_weight = sv_layer_parameter(table, names->norm, ".weight");
    block->norm_bias = sv_layer_parameter(table, names->norm, ".bias");
    block->weight = sv_layer_parameter(table, names->qkv, ".weight");
    block->bias = sv_layer_parameter_if(table, names->qkv, ".bias");
    block->proj.weight = sv_layer_parameter_if(table, names->proj, ".weight");
    block->proj.bias = sv_layer_parameter_if(table, names->proj, ".bias");
    block->identity = block->proj.weight == SV_NO_PARAMETER;
    block->temperature = sv_layer_parameter_if(table, names->temperature, "");
}

static void make_products(attention_block *block)
{
    size_t c = block->base.in.channels;
    block->merged = sv_attention_is_folded(block);
    block->width = block->merged ? c : block->head_dim;
    block->inner = block->heads * block->width;
    block->row = (block->merged ? 2 : 3) * block->inner;
    if (block->merged) {
        sv_linear_init_derived(&block->qkv, &block->base, block->row, c);
    } else {
        sv_linear_init(&block->qkv, &block->base, block->row, c, block->weight, block->bias);
        sv_linear_init(&block->proj, &block->base, c, block->inner, block->proj.weight,
                       block->proj.bias);
    }
    if (block->width % SV_GEMM_SPLIT_UNIT == 0)
        block->qkv.forward.split = block->width;
}

svit_status sv_attention_create(sv_layer **out, svit_context *context,
                                const sv_parameter_table *table,
                                const sv_attention_options *options, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(attention_block), &ATTENTION_CLASS, err));
    attention_block *block = memory;
    block->base.in = block->base.out = options->shape;
    block->heads = options->heads;
    block->head_dim = options->head_dim;
    block->per_head = options->per_head;
    block->masked = options->masked;
    block->eps = (real)options->eps;
    block->drop_path = options->drop_path;
    sv_dropout_rate(&block->threshold, &block->scale, options->dropout);
    find_parameters(block, table, &options->names);
    make_products(block);
    *out = &block->base;
    return SVIT_OK;
}
