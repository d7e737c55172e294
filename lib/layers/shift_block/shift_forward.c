/* The shift block forward: tiles of tokens go through the whole block while they are in cache.
 *   xs = shift(x);  y = xs + path * keep2 * (W2 (keep1 * gelu(W1 norm(xs) + b1)) + b2)          */
#include "layers/shift_block/shift_internal.h"

#include "layers/dropout_bits.h"

static shift_rows find_rows(const shift_call *call, size_t first, uint32_t worker)
{
    const shift_block *block = call->block;
    size_t c = block->map.channels;
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    shift_rows rows = {.xn = sv_arena_reals(&arena, call->tile, c)};
    rows.a = sv_arena_reals(&arena, call->tile, block->hidden);
    if (call->run->pass.training)
        rows.u = call->saved.u + first * block->hidden;
    if (call->saved.xs) {
        rows.moved = call->saved.xs + first * c;
        rows.mean = call->saved.mean + first;
        rows.rstd = call->saved.rstd + first;
    } else {
        real *moved = sv_arena_reals(&arena, call->tile, c);
        rows.moved = block->map.group > 0 ? moved : NULL;
        rows.mean = sv_arena_reals(&arena, call->tile, 2);
        rows.rstd = rows.mean + call->tile;
    }
    rows.xs = rows.moved ? rows.moved : call->in + first * c;
    return rows;
}

static void normalize(const shift_call *call, const shift_rows *rows, size_t first, size_t tokens)
{
    const shift_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const real *weight = call->run->weights + block->norm_weight;
    const real *bias = call->run->weights + block->norm_bias;
    size_t c = block->map.channels;
    if (block->group_norm) {
        kernels->norm_apply(rows->xn, rows->xs, rows->mean, rows->rstd, weight, bias, tokens, c);
        return;
    }
    if (rows->moved)
        kernels->shift(rows->moved, call->in, &block->map, first, tokens);
    kernels->layer_norm(rows->xn, rows->mean, rows->rstd, rows->xs, weight, bias, tokens, c,
                        block->eps);
}

/* Mask number `which` of this block for the 32-token blocks of a tile, which begins at one. */
static sv_dropped draw_mask(const shift_call *call, uint32_t *words, uint32_t which, size_t first,
                            size_t tokens, size_t c)
{
    if (words)
        sv_dropout_mask(call->run, call->block->base.number, which, call->block->threshold,
                        words + first / 32 * c, first / 32, (tokens + 31) / 32, c);
    return (sv_dropped){words, call->block->scale};
}

/* a = keep1 * gelu(W1 xn + b1) */
static void multiply_up(const shift_call *call, const shift_rows *rows, size_t first, size_t tokens)
{
    const shift_block *block = call->block;
    const sv_zeros zeros = sv_shift_zeros(call, rows->xn, rows->mean, rows->rstd, first, tokens);
    const sv_epilogue epilogue = {
        .dropped = draw_mask(call, call->saved.mask1, 0, first, tokens, block->hidden),
        .first_token = first,
        .gelu = true,
        .save_pre_gelu = rows->u,
        .zeros = zeros.fill ? &zeros : NULL};
    sv_linear_forward(&block->fc1, call->run, rows->a, rows->xn, tokens, &epilogue);
}

/* y = xs + path * keep2 * h, or xs + path * keep2 * gelu(h);  h = W2 a + b2. */
static void multiply_down(const shift_call *call, const shift_rows *rows, size_t first,
                          size_t tokens)
{
    const shift_block *block = call->block;
    size_t c = block->map.channels;
    const sv_epilogue epilogue = {
        .dropped = draw_mask(call, call->saved.mask2, 1, first, tokens, c),
        .first_token = first,
        .gelu = block->last_gelu,
        .save_pre_gelu = call->saved.u2 ? call->saved.u2 + first * c : NULL,
        .residual = rows->xs,
        .drop_path_scale = call->saved.path,
        .image_tokens = call->image_tokens,
        .not_in_cache = true};
    sv_linear_forward(&block->fc2, call->run, call->out + first * c, rows->a, tokens, &epilogue);
}

shift_rows sv_shift_hidden(const shift_call *call, size_t first, size_t tokens, uint32_t worker)
{
    shift_rows rows = find_rows(call, first, worker);
    normalize(call, &rows, first, tokens);
    multiply_up(call, &rows, first, tokens);
    return rows;
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    const shift_call *call = argument;
    size_t first = task * call->tile;
    size_t tokens = sv_block_length(call->tokens, first, call->tile);
    shift_rows rows = sv_shift_hidden(call, first, tokens, worker);
    multiply_down(call, &rows, first, tokens);
}

/* Group norm needs a whole image's statistics before any of its tiles. */
static void statistics_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const shift_call *call = argument;
    const shift_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->map.channels, first = image * call->image_tokens;
    real *xs = call->saved.xs + first * c;
    kernels->shift(xs, call->in, &block->map, first, call->image_tokens);
    kernels->norm_moments(call->saved.mean + first, call->saved.rstd + first, xs,
                          call->image_tokens, c, block->eps);
}

void sv_shift_prepare(shift_call *call)
{
    if (call->block->group_norm)
        sv_run_tasks(&call->run->exec, statistics_task, call, call->run->pass.n);
}

void sv_shift_block_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                            const real *x)
{
    shift_call call = sv_shift_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.path)
        sv_draw_drop_path_scales(run, layer->number, call.block->drop_path, call.saved.path);
    if (sv_shift_are_few(&call)) {
        sv_shift_block_few(&call);
        return;
    }
    sv_shift_prepare(&call);
    sv_run_tasks(&run->exec, forward_task, &call, sv_block_count(call.tokens, call.tile));
}
