/* The memory of an attention block: what is saved for the backward, workspace, workers' scratch,
 * and how one pass finds them. */
#include "layers/attention/attention_internal.h"

#include <math.h>

/* A block of 32768 scores takes 128 KiB, so that it stays in L2 beside keys and values. */
enum { SCORES_AT_ONCE = 32768, MASK_BITS = 32 };

/* Queries of a full block of scores: a multiple of 32, so that a block is whole words of its
 * dropout mask. */
static size_t queries_at_once(size_t tokens)
{
    size_t all = sv_block_count(tokens, MASK_BITS) * MASK_BITS;
    size_t wanted = SCORES_AT_ONCE / tokens / MASK_BITS * MASK_BITS;
    return sv_size_min(sv_size_max(wanted, MASK_BITS), all);
}

/* A layout, used once to measure and once to use the memory. */
static attention_saved saved_layout(sv_arena *arena, const attention_block *block, size_t n)
{
    attention_saved saved = {0};
    size_t tokens = sv_shape_tokens(block->base.in), blocks = sv_block_count(tokens, MASK_BITS);
    const size_t maps = sv_size_times(n, block->maps);
    saved.mean = sv_arena_reals(arena, n, tokens);
    saved.rstd = sv_arena_reals(arena, n, tokens);
    if (!block->folded)
        saved.o = sv_arena_reals(arena, n * tokens, block->heads_width);
    if (sv_norm_exists(&block->output_norm)) {
        saved.output_mean = sv_arena_reals(arena, n * tokens, block->output_groups);
        saved.output_rstd = sv_arena_reals(arena, n * tokens, block->output_groups);
    }
    saved.row_max = sv_arena_reals(arena, maps, tokens);
    saved.inv_row_sum = sv_arena_reals(arena, maps, tokens);
    if (block->dropout_threshold)
        saved.mask = sv_arena_take(arena, sv_size_times(maps, blocks), tokens, sizeof(uint32_t));
    if (block->drop_path > 0)
        saved.drop_path_scale = sv_arena_reals(arena, n, 1);
    return saved;
}

/* Bytes of the partial gradients of the weights, for one reduction chunk. */
static size_t weight_bytes(const attention_block *block)
{
    size_t rows = block->qkv_width + (block->folded ? 0 : block->heads_width);
    return rows * block->base.in.channels * sizeof(real);
}

/* The partial gradient of a parameter that the block may lack. */
static sv_partial_gradient partial_if(size_t parameter, size_t elements)
{
    return (sv_partial_gradient){parameter, parameter == SV_NO_PARAMETER ? 0 : elements, NULL};
}

void sv_attention_partial_gradients(sv_partial_gradient list[ATTENTION_GRADIENTS], sv_arena *arena,
                                    const attention_block *block, size_t chunks)
{
    size_t c = block->base.in.channels, row = block->qkv_width;
    list[QKV_WEIGHT] = (sv_partial_gradient){block->qkv.weight, row * c, NULL};
    list[PROJ_WEIGHT] =
        (sv_partial_gradient){block->proj.weight, block->folded ? 0 : c * block->heads_width, NULL};
    list[QKV_BIAS] = (sv_partial_gradient){block->qkv.bias, row, NULL};
    list[PROJ_BIAS] = (sv_partial_gradient){block->proj.bias, c, NULL};
    list[NORM_WEIGHT] = (sv_partial_gradient){block->norm.weight, c, NULL};
    list[NORM_BIAS] = partial_if(block->norm.bias, c);
    list[SCORE_SCALE] = (sv_partial_gradient){SV_NO_PARAMETER, block->heads, NULL};
    list[QUERY_NORM_WEIGHT] = partial_if(block->query_norm.weight, block->head_dim);
    list[QUERY_NORM_BIAS] = partial_if(block->query_norm.bias, block->head_dim);
    list[KEY_NORM_WEIGHT] = partial_if(block->key_norm.weight, block->head_dim);
    list[KEY_NORM_BIAS] = partial_if(block->key_norm.bias, block->head_dim);
    const size_t group = block->heads_width / block->output_groups;
    list[OUTPUT_NORM_WEIGHT] = partial_if(block->output_norm.weight, group);
    list[OUTPUT_NORM_BIAS] = partial_if(block->output_norm.bias, group);
    list[FREQUENCIES] = partial_if(block->rotary.frequencies, block->heads * block->head_dim);
    sv_partial_gradients_take(arena, list, ATTENTION_GRADIENTS, chunks);
}

/* Reserves memory for a packed B[k, n] of a matmul of two activations. */
static sv_gemm_b take_packed_b(sv_arena *arena, const sv_run *run, size_t k, size_t n)
{
    size_t bytes = sv_packed_b_bytes(run->exec.gemm->activations, &run->exec, k, n);
    return (sv_gemm_b){.packed = sv_arena_take(arena, bytes, 1, 1)};
}

/* What norms of queries, keys and outputs need; the last two arrays in the backward alone. */
static void take_norms(attention_work *work, sv_arena *arena, const attention_block *block,
                       bool training)
{
    const size_t tokens = sv_shape_tokens(block->base.in);
    if (sv_norm_exists(&block->query_norm)) {
        work->qk_mean = sv_arena_reals(arena, tokens, 2 * block->heads);
        work->qk_rstd = sv_arena_reals(arena, tokens, 2 * block->heads);
        if (training)
            work->qk = sv_arena_reals(arena, tokens, 2 * block->heads_width);
    }
    if (sv_norm_exists(&block->output_norm)) {
        work->heads.output_mean = sv_arena_reals(arena, tokens, block->output_groups);
        work->heads.output_rstd = sv_arena_reals(arena, tokens, block->output_groups);
        if (training)
            work->normed_o = sv_arena_reals(arena, tokens, block->heads_width);
    }
}

/* What differential attention needs beside. */
static void take_difference(attention_work *work, sv_arena *arena, const attention_block *block,
                            const sv_run *run, size_t queries)
{
    const size_t tokens = sv_shape_tokens(block->base.in);
    work->difference = sv_arena_reals(arena, queries, tokens);
    for (size_t m = 0; m < 2; m++) {
        work->map_keys_t[m] = take_packed_b(arena, run, block->map_dim, tokens);
        if (run->pass.training)
            work->map_keys[m] = take_packed_b(arena, run, tokens, block->map_dim);
    }
}

attention_work sv_attention_work(sv_arena *arena, const attention_block *block, const sv_run *run)
{
    attention_work work = {0};
    size_t tokens = sv_shape_tokens(block->base.in), c = block->base.in.channels;
    size_t w = block->head_width, queries = queries_at_once(tokens);
    work.x_norm = sv_arena_reals(arena, tokens, c);
    work.qkv = sv_arena_reals(arena, tokens, block->qkv_width);
    work.scores = sv_arena_reals(arena, queries, tokens);
    work.keys_t = take_packed_b(arena, run, w, tokens);
    work.values = take_packed_b(arena, run, tokens, w);
    work.heads.o = sv_arena_reals(arena, tokens, block->heads_width);
    take_norms(&work, arena, block, run->pass.training);
    if (block->differential)
        take_difference(&work, arena, block, run, queries);
    if (!run->pass.training && block->folded) {
        work.heads.row_max = sv_arena_reals(arena, block->heads, tokens);
        work.heads.inv_row_sum = sv_arena_reals(arena, block->heads, tokens);
    }
    if (!run->pass.training) {
        work.packed_a = sv_arena_take(arena, sv_packed_a_bytes(&run->exec, tokens, c), 1, 1);
        return work;
    }
    work.dbranch = sv_arena_reals(arena, tokens, c);
    work.dx_norm = sv_arena_reals(arena, tokens, c);
    work.doutput = block->folded ? work.dbranch : work.heads.o;
    if (block->folded)
        work.dkeys = sv_arena_reals(arena, tokens, c);
    work.dqkv = sv_arena_reals(arena, tokens, block->qkv_width);
    work.p = sv_arena_reals(arena, queries, tokens);
    work.dropped = sv_arena_reals(arena, queries, tokens);
    work.dp = sv_arena_reals(arena, queries, tokens);
    work.values_t = take_packed_b(arena, run, w, tokens);
    work.keys = work.values;
    work.queries = take_packed_b(arena, run, queries, w);
    work.doutputs_bytes = sv_packed_b_bytes(run->exec.gemm->activations, &run->exec, queries, w);
    work.doutputs.packed = sv_arena_take(arena, block->folded ? sv_block_count(tokens, queries) : 1,
                                         work.doutputs_bytes, 1);
    work.gemm_scratch = sv_arena_take(arena, SV_GEMM_SCRATCH, 1, 1);
    return work;
}

void sv_attention_plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const attention_block *block = (const attention_block *)layer;
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    if (run->pass.training) {
        sv_partial_gradient partial[ATTENTION_GRADIENTS];
        saved_layout(&saved, block, run->pass.n);
        sv_attention_partial_gradients(partial, &workspace, block,
                                       sv_reduction_chunks_max(run->pass.n, weight_bytes(block)));
    }
    sv_attention_work(&worker, block, run);
    if (block->folded)
        sv_arena_take(&worker, sv_attention_derive_bytes(block, run), 1, 1);
    sv_arena_take(&worker, sv_lora_scratch_bytes(&block->qkv_lora, &block->qkv, &run->exec), 1, 1);
    sv_arena_take(&worker, sv_lora_scratch_bytes(&block->proj_lora, &block->proj, &run->exec), 1,
                  1);
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

attention_call sv_attention_call(const sv_layer *layer, const sv_run *run, void *saved)
{
    const attention_block *block = (const attention_block *)layer;
    attention_call call = {.block = block, .run = run};
    if (saved) {
        sv_arena arena = {.base = saved};
        call.saved = saved_layout(&arena, block, run->pass.n);
    }
    call.tokens = sv_shape_tokens(layer->in);
    call.queries = queries_at_once(call.tokens);
    call.mask_blocks = sv_block_count(call.tokens, MASK_BITS);
    call.chunk_images = sv_reduction_chunk_images(run->pass.n, weight_bytes(block));
    if (block->differential)
        call.lambda = sv_attention_lambda(block, run->weights);
    return call;
}

/* The factor of one head's scores. */
static real scale_of(const attention_block *block, const real *weights, size_t head)
{
    if (block->temperature == SV_NO_PARAMETER)
        return 1 / (real)sqrt((double)block->map_dim);
    const real *temperature = weights + block->temperature;
    return block->per_head ? temperature[head] : 1 / temperature[0];
}

attention_heads sv_attention_heads(const attention_call *call, const attention_work *work,
                                   size_t image)
{
    attention_heads heads = work->heads;
    const size_t scores = image * call->block->maps * call->tokens;
    const size_t moments = image * call->tokens * call->block->output_groups;
    if (call->saved.row_max) {
        heads.row_max = call->saved.row_max + scores;
        heads.inv_row_sum = call->saved.inv_row_sum + scores;
    }
    if (call->saved.output_mean) {
        heads.output_mean = call->saved.output_mean + moments;
        heads.output_rstd = call->saved.output_rstd + moments;
    }
    return heads;
}

sv_attention_rows sv_attention_rows_of(const attention_call *call, const attention_heads *heads,
                                       size_t image, size_t head, size_t first)
{
    const attention_block *block = call->block;
    sv_attention_rows rows = {.rows = sv_block_length(call->tokens, first, call->queries),
                              .columns = call->tokens,
                              .first_row = first,
                              .scale = scale_of(block, call->run->weights, head),
                              .masked = block->masked,
                              .mask = sv_attention_mask(call, image, head),
                              .keep = block->dropout_scale};
    if (heads->row_max) {
        rows.row_max = heads->row_max + head * call->tokens;
        rows.inv_row_sum = heads->inv_row_sum + head * call->tokens;
    }
    return rows;
}

uint32_t *sv_attention_mask(const attention_call *call, size_t image, size_t head)
{
    if (!call->saved.mask)
        return NULL;
    return call->saved.mask + (image * call->block->maps + head) * call->mask_blocks * call->tokens;
}
