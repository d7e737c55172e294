/* The attention block as a layer: y = x + path * proj(attention(norm(x))). Its memory and creation.
 */
#include "layers/attention.h"

#include "layers/chance.h"

#include <math.h>

enum { SCORES_AT_ONCE = 65536, PANEL_BYTES = 8 << 20, PANEL_TOKENS_LEAST = 1024, MASK_BITS = 32 };

/* A multiple of 32, so that a block of scores is whole words of its mask. */
size_t sv_attention_queries(size_t tokens)
{
    size_t all = (tokens + MASK_BITS - 1) / MASK_BITS * MASK_BITS;
    size_t wanted = SCORES_AT_ONCE / tokens / MASK_BITS * MASK_BITS;
    if (wanted < MASK_BITS)
        wanted = MASK_BITS;
    return wanted < all ? wanted : all;
}

attention_saved sv_attention_saved(sv_arena *arena, const attention_block *block, size_t n)
{
    attention_saved saved = {0};
    size_t tokens = sv_map_tokens(block->base.in), blocks = (tokens + MASK_BITS - 1) / MASK_BITS;
    saved.mean = sv_arena_reals(arena, n, tokens);
    saved.rstd = sv_arena_reals(arena, n, tokens);
    saved.qkv = sv_arena_reals(arena, n * tokens, 3 * block->inner);
    saved.o = sv_arena_reals(arena, n * tokens, block->inner);
    if (block->threshold)
        saved.mask = sv_arena_take(arena, n * block->heads * blocks, tokens, sizeof(uint32_t));
    if (block->drop_path > 0)
        saved.path = sv_arena_reals(arena, n, 1);
    return saved;
}

size_t sv_attention_panel_images(const attention_block *block, size_t n)
{
    size_t tokens = sv_map_tokens(block->base.in);
    size_t row = (3 * block->inner + 2 * block->base.in.channels) * sizeof(real);
    size_t wanted = PANEL_BYTES / row;
    if (wanted < PANEL_TOKENS_LEAST)
        wanted = PANEL_TOKENS_LEAST;
    size_t images = wanted / tokens ? wanted / tokens : 1;
    return images < n ? images : n;
}

attention_panel sv_attention_panel(sv_arena *arena, const attention_block *block, size_t n)
{
    attention_panel panel;
    size_t images = sv_attention_panel_images(block, n), c = block->base.in.channels;
    size_t tokens = images * sv_map_tokens(block->base.in);
    panel.dqkv = sv_arena_reals(arena, tokens, 3 * block->inner);
    panel.dbranch = sv_arena_reals(arena, tokens, c);
    panel.xn = sv_arena_reals(arena, tokens, c);
    panel.dqkv_bias = sv_arena_reals(arena, images, 3 * block->inner);
    panel.dproj_bias = sv_arena_reals(arena, images, c);
    panel.dweight = sv_arena_reals(arena, images, c);
    panel.dbias = sv_arena_reals(arena, images, c);
    panel.dscale = sv_arena_reals(arena, images, block->heads);
    return panel;
}

attention_work sv_attention_work(sv_arena *arena, const attention_block *block,
                                 const svit_context *context, int training)
{
    attention_work work = {0};
    size_t tokens = sv_map_tokens(block->base.in), c = block->base.in.channels;
    size_t d = block->head_dim, queries = sv_attention_queries(tokens);
    const sv_kernels *kernels = context->kernels;
    work.xn = sv_arena_reals(arena, tokens, c);
    work.raw = sv_arena_reals(arena, queries, tokens);
    work.keys_t = sv_arena_reals(arena, kernels->tile_packed_elements(d, tokens), 1);
    work.values = sv_arena_reals(arena, kernels->tile_packed_elements(tokens, d), 1);
    if (!training) {
        work.qkv = sv_arena_reals(arena, tokens, 3 * block->inner);
        work.o = sv_arena_reals(arena, tokens, block->inner);
        return work;
    }
    work.doutput = sv_arena_reals(arena, tokens, block->inner);
    work.dxn = sv_arena_reals(arena, tokens, c);
    work.p = sv_arena_reals(arena, queries, tokens);
    work.dp = sv_arena_reals(arena, queries, tokens);
    work.ds = sv_arena_reals(arena, queries, tokens);
    work.values_t = sv_arena_reals(arena, kernels->tile_packed_elements(d, tokens), 1);
    work.keys = work.values;
    work.queries = sv_arena_reals(arena, kernels->tile_packed_elements(queries, d), 1);
    work.doutput_packed = sv_arena_reals(arena, kernels->tile_packed_elements(queries, d), 1);
    return work;
}

static void measure(const sv_layer *layer, const svit_context *context, size_t n, int training,
                    sv_layer_memory *memory)
{
    const attention_block *block = (const attention_block *)layer;
    sv_arena saved = {0}, shared = {0}, worker = {0};
    if (training) {
        sv_attention_saved(&saved, block, n);
        sv_attention_panel(&shared, block, n);
    }
    sv_attention_work(&worker, block, context, training);
    if (training && worker.bytes < SV_WEIGHT_SCRATCH)
        worker.bytes = SV_WEIGHT_SCRATCH;
    sv_layer_memory_set(memory, &saved, &shared, &worker);
}

attention_call sv_attention_call(const sv_layer *layer, const sv_run *run, void *saved)
{
    const attention_block *block = (const attention_block *)layer;
    attention_call call = {.block = block, .run = run};
    if (saved) {
        sv_arena arena = {.base = saved};
        call.saved = sv_attention_saved(&arena, block, run->n);
    }
    call.tokens = sv_map_tokens(layer->in);
    call.queries = sv_attention_queries(call.tokens);
    call.mask_blocks = (call.tokens + MASK_BITS - 1) / MASK_BITS;
    call.panel_images = sv_attention_panel_images(block, run->n);
    return call;
}

real sv_attention_scale(const attention_block *block, const real *weights, size_t head)
{
    if (block->temperature == SV_NO_PARAMETER)
        return 1 / (real)sqrt((double)block->head_dim);
    const real *temperature = weights + block->temperature;
    return block->per_head ? temperature[head] : 1 / temperature[0];
}

uint32_t *sv_attention_mask(const attention_call *call, size_t image, size_t head)
{
    if (!call->saved.mask)
        return NULL;
    size_t block = (image * call->block->heads + head) * call->mask_blocks;
    return call->saved.mask + block * call->tokens;
}

static size_t pack_bytes(const sv_layer *layer, const svit_context *context, int training)
{
    const attention_block *block = (const attention_block *)layer;
    size_t bytes = sv_linear_pack_bytes(&block->qkv, context, training);
    return block->identity ? bytes : bytes + sv_linear_pack_bytes(&block->proj, context, training);
}

static void pack(sv_layer *layer, const sv_run *run, char *memory)
{
    attention_block *block = (attention_block *)layer;
    memory += sv_linear_pack(&block->qkv, run, memory);
    if (!block->identity)
        sv_linear_pack(&block->proj, run, memory);
}

static const sv_layer_class ATTENTION_CLASS = {.name = "attention block",
                                               .keeps_input = 1,
                                               .measure = measure,
                                               .forward = sv_attention_forward,
                                               .backward = sv_attention_backward,
                                               .pack_bytes = pack_bytes,
                                               .pack = pack};

bool sv_layer_attends(const sv_layer *layer, size_t *heads, size_t *tokens)
{
    if (layer->class != &ATTENTION_CLASS)
        return false;
    *heads = ((const attention_block *)layer)->heads;
    *tokens = sv_map_tokens(layer->in);
    return true;
}

static void find_parameters(attention_block *block, const sv_parameter_table *table,
                            const sv_attention_options *options)
{
    const sv_attention_names *names = &options->names;
    size_t c = options->map.channels;
    block->norm_weight = sv_layer_parameter(table, names->norm, ".weight");
    block->norm_bias = sv_layer_parameter(table, names->norm, ".bias");
    sv_linear_init(&block->qkv, 3 * block->inner, c,
                   sv_layer_parameter(table, names->qkv, ".weight"));
    block->qkv_bias = sv_layer_parameter_if(table, names->qkv, ".bias");
    block->proj_bias = sv_layer_parameter_if(table, names->proj, ".bias");
    size_t proj = sv_layer_parameter_if(table, names->proj, ".weight");
    block->identity = proj == SV_NO_PARAMETER;
    sv_linear_init(&block->proj, c, block->inner, proj);
    block->temperature = sv_layer_parameter_if(table, names->temperature, "");
}

svit_status sv_attention_create(sv_layer **out, svit_context *context,
                                const sv_parameter_table *table,
                                const sv_attention_options *options, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(attention_block), &ATTENTION_CLASS, err));
    attention_block *block = memory;
    block->base.in = block->base.out = options->map;
    block->heads = options->heads;
    block->head_dim = options->head_dim;
    block->inner = options->heads * options->head_dim;
    block->per_head = options->per_head;
    block->masked = options->masked;
    block->eps = (real)options->eps;
    block->drop_path = options->drop_path;
    sv_dropout_rate(&block->threshold, &block->scale, options->dropout);
    find_parameters(block, table, options);
    *out = &block->base;
    return SVIT_OK;
}
