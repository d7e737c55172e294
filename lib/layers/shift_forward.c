/* The shift block forward: tiles of tokens go through the whole block while they are in cache.
 *   xs = shift(x);  y = xs + path * keep2 * (W2 (keep1 * gelu(W1 norm(xs) + b1)) + b2)          */
#include "layers/shift_block.h"

#include "base/random.h"

/* A tile's rows: in what is saved for the backward, or in the worker's scratch. */
typedef struct tile_rows {
    real *xs, *mean, *rstd, *u, *a, *xn;
} tile_rows;

static tile_rows find_rows(const shift_call *call, size_t first, uint32_t worker)
{
    const shift_block *block = call->block;
    size_t c = block->map.channels;
    sv_arena arena = {.base = sv_worker_scratch(call->run, worker)};
    tile_rows rows = {.xn = sv_arena_reals(&arena, call->tile, c)};
    rows.a = sv_arena_reals(&arena, call->tile, block->hidden);
    rows.u = call->run->training ? call->saved.u + first * block->hidden : rows.a;
    if (call->saved.xs) {
        rows.xs = call->saved.xs + first * c;
        rows.mean = call->saved.mean + first;
        rows.rstd = call->saved.rstd + first;
    } else {
        rows.xs = sv_arena_reals(&arena, call->tile, c);
        rows.mean = sv_arena_reals(&arena, call->tile, 2);
        rows.rstd = rows.mean + call->tile;
    }
    return rows;
}

static void normalize(const shift_call *call, const tile_rows *rows, size_t first, size_t tokens)
{
    const shift_block *block = call->block;
    const sv_kernels *kernels = call->run->context->kernels;
    const real *weight = call->run->weights + block->norm_weight;
    const real *bias = call->run->weights + block->norm_bias;
    size_t c = block->map.channels;
    if (block->group_norm) {
        kernels->norm_apply(rows->xn, rows->xs, rows->mean, rows->rstd, weight, bias, tokens, c);
        return;
    }
    kernels->shift(rows->xs, call->in, &block->map, first, tokens);
    kernels->layer_norm(rows->xn, rows->mean, rows->rstd, rows->xs, weight, bias, tokens, c,
                        block->eps);
}

/* Mask number `which` of this block for the 32-token blocks of a tile, which begins at one. */
static uint32_t *draw_mask(const shift_call *call, uint32_t *words, uint32_t which, size_t first,
                           size_t tokens, size_t c)
{
    const sv_run *run = call->run;
    if (!words)
        return NULL;
    sv_mask_source source = {{(uint32_t)run->seed, (uint32_t)(run->seed >> 32)},
                             {(call->block->base.number * 2 + which) * 4, (uint32_t)run->counter,
                              SV_STREAM_DROPOUT << 24 | (uint32_t)(run->counter >> 32 & 0xFFFFFF)},
                             call->block->threshold};
    size_t block = first / 32;
    run->context->kernels->dropout_mask(words + block * c, &source, block, (tokens + 31) / 32, c);
    return words;
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    const shift_call *call = argument;
    const shift_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->context->kernels;
    size_t c = block->map.channels, first = task * call->tile;
    size_t tokens = call->tokens - first < call->tile ? call->tokens - first : call->tile;
    tile_rows rows = find_rows(call, first, worker);
    real *y = call->out + first * c;
    normalize(call, &rows, first, tokens);
    sv_linear_forward(&block->fc1, run, rows.u, rows.xn, tokens);
    uint32_t *mask1 = draw_mask(call, call->saved.mask1, 0, first, tokens, block->hidden);
    kernels->bias_gelu(rows.a, rows.u, run->weights + block->bias1, mask1, block->scale, first,
                       tokens, block->hidden);
    sv_linear_forward(&block->fc2, run, y, rows.a, tokens);
    uint32_t *mask2 = draw_mask(call, call->saved.mask2, 1, first, tokens, c);
    kernels->residual(y, rows.xs, y, run->weights + block->bias2, mask2, block->scale,
                      call->saved.path, call->image_tokens, first, tokens, c);
}

/* Group norm needs a whole image's statistics before any of its tiles. */
static void statistics_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const shift_call *call = argument;
    const shift_block *block = call->block;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t c = block->map.channels, first = image * call->image_tokens;
    real *xs = call->saved.xs + first * c;
    kernels->shift(xs, call->in, &block->map, first, call->image_tokens);
    kernels->norm_moments(call->saved.mean + first, call->saved.rstd + first, xs,
                          call->image_tokens, c, block->eps);
}

/* path[image] = 1 / (1 - rate) with probability 1 - rate, else 0. */
static void draw_paths(const shift_call *call)
{
    const sv_run *run = call->run;
    double keep = 1 - call->block->drop_path;
    for (size_t image = 0; image < run->n; image++) {
        sv_random random;
        sv_random_start(&random, run->seed, SV_STREAM_DROP_PATH,
                        run->counter << 16 | call->block->base.number, (uint32_t)image);
        call->saved.path[image] = sv_random_unit(&random) < keep ? (real)(1 / keep) : 0;
    }
}

void sv_shift_block_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                            const real *x)
{
    shift_call call = sv_shift_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.path)
        draw_paths(&call);
    if (call.block->group_norm)
        sv_pool_run(run->context->pool, statistics_task, &call, run->n);
    sv_pool_run(run->context->pool, forward_task, &call, sv_tile_count(call.tokens, call.tile));
}
