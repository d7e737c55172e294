/* The memory of a shift block: what it keeps, scratch, and a call's view of both. */
#include "layers/shift_block/shift_internal.h"

enum { PANEL_BYTES = 8 << 20, PANEL_TOKENS_LEAST = 1024 };

size_t sv_shift_tile(const shift_block *block, const sv_run *run)
{
    return sv_token_block_size(run, run->pass.n * sv_shape_tokens(block->base.in), block->hidden);
}

size_t sv_shift_panel_tokens(const shift_block *block, size_t n)
{
    size_t image = sv_shape_tokens(block->base.in);
    size_t row = (2 * block->hidden + 3 * block->map.channels) * sizeof(real);
    size_t wanted = PANEL_BYTES / row;
    if (wanted < PANEL_TOKENS_LEAST)
        wanted = PANEL_TOKENS_LEAST;
    size_t images = wanted / image ? wanted / image : 1;
    return (images < n ? images : n) * image;
}

shift_saved sv_shift_saved(sv_arena *arena, const shift_block *block, size_t n, int training)
{
    shift_saved saved = {0};
    size_t tokens = n * sv_shape_tokens(block->base.in), c = block->map.channels;
    size_t words = (tokens + 31) / 32;
    if (training || block->group_norm) {
        saved.xs = sv_arena_reals(arena, tokens, c);
        saved.mean = sv_arena_reals(arena, tokens, 1);
        saved.rstd = sv_arena_reals(arena, tokens, 1);
    }
    if (!training)
        return saved;
    saved.u = sv_arena_reals(arena, tokens, block->hidden);
    if (block->last_gelu)
        saved.u2 = sv_arena_reals(arena, tokens, c);
    if (block->threshold) {
        saved.mask1 = sv_arena_take(arena, words, block->hidden, sizeof(uint32_t));
        saved.mask2 = sv_arena_take(arena, words, c, sizeof(uint32_t));
    }
    if (block->drop_path > 0)
        saved.path = sv_arena_reals(arena, n, 1);
    return saved;
}

shift_panel sv_shift_panel(sv_arena *arena, const shift_block *block, const sv_run *run)
{
    shift_panel panel;
    size_t tokens = sv_shift_panel_tokens(block, run->pass.n), c = block->map.channels;
    size_t tiles = sv_token_block_count_max(tokens, sv_shift_tile(block, run));
    panel.a = sv_arena_reals(arena, tokens, block->hidden);
    panel.dhidden = sv_arena_reals(arena, tokens, block->hidden);
    panel.dbranch = sv_arena_reals(arena, tokens, c);
    panel.xn = sv_arena_reals(arena, tokens, c);
    panel.dxs = sv_arena_reals(arena, tokens, c);
    panel.dbias1 = sv_arena_reals(arena, tiles, block->hidden);
    panel.dbias2 = sv_arena_reals(arena, tiles, c);
    panel.dweight = sv_arena_reals(arena, tiles, c);
    panel.dbias = sv_arena_reals(arena, tiles, c);
    return panel;
}

size_t sv_shift_worker_bytes(const shift_block *block, const sv_run *run, bool *overflow)
{
    sv_arena arena = {0};
    size_t tokens = run->pass.n * sv_shape_tokens(block->base.in), c = block->map.channels;
    size_t tile = sv_token_block_size_max(run, tokens, block->hidden);
    int training = run->pass.training;
    sv_arena_reals(&arena, tile, c);
    sv_arena_reals(&arena, tile, block->hidden);
    if (!training) {
        sv_arena_reals(&arena, tile, c);
        sv_arena_reals(&arena, tile, 2);
        sv_arena_take(&arena, sv_packed_a_bytes(&run->exec, SV_SMALL_M, c), 1, 1);
    }
    *overflow = arena.overflow;
    return training && arena.bytes < SV_GEMM_SCRATCH ? SV_GEMM_SCRATCH : arena.bytes;
}

shift_call sv_shift_call(const sv_layer *layer, const sv_run *run, void *saved)
{
    const shift_block *block = (const shift_block *)layer;
    shift_call call = {.block = block, .run = run};
    sv_arena arena = {.base = saved ? saved : run->exec.workspace};
    call.saved = sv_shift_saved(&arena, block, run->pass.n, run->pass.training);
    call.image_tokens = sv_shape_tokens(layer->in);
    call.tokens = run->pass.n * call.image_tokens;
    call.tile = sv_shift_tile(block, run);
    call.panel_tokens = sv_shift_panel_tokens(block, run->pass.n);
    return call;
}
