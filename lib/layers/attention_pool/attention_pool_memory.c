/* The memory of attention pooling: what is saved for the backward, workspace and workers' scratch.
 * Each layout is used once to measure and once to use the memory. */
#include "layers/attention_pool/attention_pool_internal.h"

pool_saved sv_attention_pool_saved(sv_arena *arena, const attention_pool *layer, size_t n)
{
    pool_saved saved;
    const size_t c = layer->base.in.channels;
    saved.p = sv_arena_reals(arena, n * layer->heads, sv_shape_tokens(layer->base.in));
    saved.z = sv_arena_reals(arena, n * layer->heads, c);
    saved.o = sv_arena_reals(arena, n, c);
    return saved;
}

pool_gradients sv_attention_pool_gradients(sv_arena *arena, const attention_pool *layer, size_t n)
{
    pool_gradients gradients;
    const size_t c = layer->base.in.channels;
    gradients.d_o = sv_arena_reals(arena, n, c);
    gradients.dz = sv_arena_reals(arena, n * layer->heads, c);
    gradients.ds = sv_arena_reals(arena, n * sv_shape_tokens(layer->base.in), layer->heads);
    gradients.du = sv_arena_reals(arena, layer->heads, c);
    gradients.dq = sv_arena_reals(arena, c, 1);
    return gradients;
}

void *sv_attention_pool_packed_a(sv_arena *arena, const attention_pool *layer, const sv_exec *exec)
{
    return sv_arena_take(arena, sv_packed_a_bytes(exec, SV_SMALL_M_TOKENS, layer->base.in.channels),
                         1, 1);
}

static size_t packed_bytes(const attention_pool *layer, const sv_exec *exec)
{
    const size_t tokens = sv_shape_tokens(layer->base.in), c = layer->base.in.channels;
    const size_t heads = layer->heads, d = layer->head_dim;
    const size_t shapes[][2] = {{tokens, c}, {c, d}, {d, c}, {c, heads}, {heads, c}};
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        bytes = sv_size_max(
            bytes, sv_packed_b_bytes(exec->gemm->activations, exec, shapes[i][0], shapes[i][1]));
    return bytes;
}

pool_work sv_attention_pool_work(sv_arena *arena, const attention_pool *layer, const sv_exec *exec)
{
    pool_work work;
    const size_t tokens = sv_shape_tokens(layer->base.in);
    work.by_token = sv_arena_reals(arena, tokens, layer->heads);
    work.by_head = sv_arena_reals(arena, layer->heads, tokens);
    work.packed = sv_arena_take(arena, packed_bytes(layer, exec), 1, 1);
    return work;
}

void sv_attention_pool_plan(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const attention_pool *pool = (const attention_pool *)layer;
    const bool training = run->pass.training;
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    sv_attention_pool_packed_a(&workspace, pool, &run->exec);
    sv_attention_pool_saved(training ? &saved : &workspace, pool, run->pass.n);
    if (training)
        sv_attention_pool_gradients(&workspace, pool, run->pass.n);
    sv_attention_pool_work(&worker, pool, &run->exec);
    if (training)
        worker.bytes = sv_size_max(worker.bytes, SV_GEMM_SCRATCH);
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}
