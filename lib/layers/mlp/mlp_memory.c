/* The memory of an MLP block: what is saved for the backward, workspace, workers' scratch, and how
 * one pass finds them. */
#include "layers/mlp/mlp_internal.h"

/* An image block has as many images as keep its workspace near 8 MiB, which a shared L3 holds, and
 * at least 1024 tokens, over which the weight gradients' matmuls are efficient. */
enum { IMAGE_BLOCK_BYTES = 8 << 20, IMAGE_BLOCK_MIN_TOKENS = 1024 };

static size_t token_block_size(const mlp_block *block, const sv_run *run)
{
    return sv_token_block_size(run, run->pass.n * sv_shape_tokens(block->base.in),
                               block->hidden_channels);
}

size_t sv_mlp_image_block_tokens(const mlp_block *block, size_t n)
{
    size_t image = sv_shape_tokens(block->base.in);
    size_t row =
        (block->hidden_channels + block->fc1.out + 3 * block->base.in.channels) * sizeof(real);
    size_t wanted = sv_size_max(IMAGE_BLOCK_BYTES / row, IMAGE_BLOCK_MIN_TOKENS);
    size_t images = sv_size_max(wanted / image, 1);
    return sv_size_min(images, n) * image;
}

mlp_saved sv_mlp_saved(sv_arena *arena, const mlp_block *block, size_t n, bool training)
{
    mlp_saved saved = {0};
    size_t tokens = n * sv_shape_tokens(block->base.in), c = block->base.in.channels;
    size_t words = (tokens + 31) / 32;
    if (training || block->norm_per_image) {
        saved.x_shifted = sv_arena_reals(arena, tokens, c);
        saved.mean = sv_arena_reals(arena, tokens, 1);
        saved.rstd = sv_arena_reals(arena, tokens, 1);
    }
    if (!training)
        return saved;
    saved.pre_gelu = sv_arena_reals(arena, tokens, block->fc1.out);
    if (sv_mlp_has_hidden_norm(block)) {
        saved.hidden_mean = sv_arena_reals(arena, tokens, 1);
        saved.hidden_rstd = sv_arena_reals(arena, tokens, 1);
    }
    if (block->last_gelu)
        saved.pre_last_gelu = sv_arena_reals(arena, tokens, c);
    if (block->dropout_threshold) {
        saved.hidden_mask = sv_arena_take(arena, words, block->hidden_channels, sizeof(uint32_t));
        saved.branch_mask = sv_arena_take(arena, words, c, sizeof(uint32_t));
    }
    if (block->drop_path > 0)
        saved.drop_path_scale = sv_arena_reals(arena, n, 1);
    return saved;
}

mlp_image_block sv_mlp_image_block(sv_arena *arena, const mlp_block *block, const sv_run *run)
{
    mlp_image_block work = {0};
    size_t tokens = sv_mlp_image_block_tokens(block, run->pass.n), c = block->base.in.channels;
    size_t blocks = sv_token_block_count_max(tokens, token_block_size(block, run));
    work.hidden = sv_arena_reals(arena, tokens, block->hidden_channels);
    work.dhidden = sv_arena_reals(arena, tokens, block->fc1.out);
    work.dbranch = sv_arena_reals(arena, tokens, c);
    work.x_norm = sv_arena_reals(arena, tokens, c);
    work.dx_shifted = sv_arena_reals(arena, tokens, c);
    work.dfc1_bias = sv_arena_reals(arena, blocks, block->fc1.out);
    work.dfc2_bias = sv_arena_reals(arena, blocks, c);
    work.dnorm_weight = sv_arena_reals(arena, blocks, c);
    work.dnorm_bias = sv_arena_reals(arena, blocks, c);
    if (sv_mlp_has_hidden_norm(block)) {
        work.dhidden_norm_weight = sv_arena_reals(arena, blocks, block->hidden_channels);
        work.dhidden_norm_bias = sv_arena_reals(arena, blocks, block->hidden_channels);
    }
    work.derived = sv_arena_reals(arena, sv_layer_scale_elements(&block->scale, &block->fc2), 1);
    return work;
}

mlp_rows sv_mlp_worker_rows(sv_arena *arena, const mlp_block *block, const sv_run *run,
                            size_t tokens)
{
    size_t c = block->base.in.channels;
    mlp_rows rows = {.x_norm = sv_arena_reals(arena, tokens, c)};
    rows.hidden = sv_arena_reals(arena, tokens, block->hidden_channels);
    if (run->pass.training)
        return rows;
    if (block->gated)
        rows.pre_gelu = sv_arena_reals(arena, tokens, block->fc1.out);
    rows.shift_into = sv_arena_reals(arena, tokens, c);
    rows.mean = sv_arena_reals(arena, tokens, 1);
    rows.rstd = sv_arena_reals(arena, tokens, 1);
    if (sv_mlp_has_hidden_norm(block)) {
        rows.hidden_mean = sv_arena_reals(arena, tokens, 1);
        rows.hidden_rstd = sv_arena_reals(arena, tokens, 1);
    }
    rows.packed_a = sv_arena_take(arena, sv_packed_a_bytes(&run->exec, SV_SMALL_M_TOKENS, c), 1, 1);
    return rows;
}

size_t sv_mlp_worker_bytes(const mlp_block *block, const sv_run *run, bool *overflow)
{
    sv_arena arena = {0};
    size_t tokens = run->pass.n * sv_shape_tokens(block->base.in);
    sv_mlp_worker_rows(&arena, block, run,
                       sv_token_block_size_max(run, tokens, block->hidden_channels));
    *overflow = arena.overflow;
    return run->pass.training ? sv_size_max(arena.bytes, SV_GEMM_SCRATCH) : arena.bytes;
}

void sv_mlp_plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const mlp_block *block = (const mlp_block *)layer;
    const size_t n = run->pass.n;
    const bool training = run->pass.training;
    sv_arena saved = {0}, workspace = {0}, worker = {0}, chunks = {0};
    sv_mlp_saved(training ? &saved : &workspace, block, n, training);
    worker.bytes = sv_mlp_worker_bytes(block, run, &worker.overflow);
    if (training && block->chunked)
        sv_mlp_chunks_memory(block, n, &workspace, &chunks);
    else if (training)
        sv_mlp_image_block(&workspace, block, run);
    if (chunks.bytes > worker.bytes)
        worker = chunks;
    worker.bytes = sv_size_max(worker.bytes, sv_mlp_correction_bytes(block, run));
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

mlp_call sv_mlp_call(const sv_layer *layer, const sv_run *run, void *saved)
{
    const mlp_block *block = (const mlp_block *)layer;
    mlp_call call = {.block = block, .run = run};
    sv_arena arena = {.base = saved ? saved : run->exec.workspace};
    call.saved = sv_mlp_saved(&arena, block, run->pass.n, run->pass.training);
    call.image_tokens = sv_shape_tokens(layer->in);
    call.tokens = run->pass.n * call.image_tokens;
    call.token_block = token_block_size(block, run);
    return call;
}
