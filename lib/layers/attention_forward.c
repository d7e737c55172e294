/* The attention block forward, an image a task: queries, keys and values, then head by head the
 * scores of a block of queries, their softmax and the weighted values; then the projection. */
#include "layers/attention.h"
#include "layers/chance.h"

#include <string.h>

typedef struct image_rows {
    const real *x;
    real *xn, *mean, *rstd, *qkv, *o, *y;
} image_rows;

static image_rows find_rows(const attention_call *call, const attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    size_t token = image * call->tokens, c = block->base.in.channels;
    image_rows rows = {call->in + token * c, work->xn, NULL, NULL, work->qkv, work->o,
                       call->out + token * c};
    if (saved->qkv) {
        rows.mean = saved->mean + token;
        rows.rstd = saved->rstd + token;
        rows.qkv = saved->qkv + token * 3 * block->inner;
        rows.o = saved->o + token * block->inner;
    } else {
        /* Scores come after the statistics, which nobody reads again. */
        rows.mean = work->raw;
        rows.rstd = work->raw + call->tokens;
    }
    return rows;
}

/* qkv[T, 3 inner] = norm(x) W^T + b */
static void project(const attention_call *call, const image_rows *rows)
{
    const attention_block *block = call->block;
    const real *weights = call->run->weights;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t c = block->base.in.channels;
    kernels->layer_norm(rows->xn, rows->mean, rows->rstd, rows->x, weights + block->norm_weight,
                        weights + block->norm_bias, call->tokens, c, block->eps);
    sv_linear_forward(&block->qkv, call->run, rows->qkv, rows->xn, call->tokens);
    if (block->qkv_bias != SV_NO_PARAMETER)
        kernels->add_bias(rows->qkv, weights + block->qkv_bias, call->tokens, 3 * block->inner);
}

/* Queries first.. of one head: o = dropout(softmax(scale q k^T)) v */
static void attend(const attention_call *call, const attention_work *work, const image_rows *rows,
                   size_t image, size_t head, size_t first)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->context->kernels;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    size_t here = sv_tile_here(tokens, first, call->queries);
    real *p = work->raw;
    uint32_t *mask = sv_attention_mask(call, image, head);
    kernels->tile_multiply(p, tokens, rows->qkv + first * row + head * d, row, 1, work->keys_t,
                           here, tokens, d, 0);
    kernels->scale(p, sv_attention_scale(block, run->weights, head), here * tokens);
    kernels->attention_softmax(p, p, here, tokens, block->masked, first);
    if (run->attention && run->attention_layer == block->base.number)
        memcpy(run->attention + ((image * block->heads + head) * tokens + first) * tokens, p,
               here * tokens * sizeof(real));
    if (mask)
        kernels->residual_backward(p, p, mask, block->scale, NULL, 1, first, here, tokens);
    kernels->tile_multiply(rows->o + first * block->inner + head * d, block->inner, p, tokens, 1,
                           work->values, here, d, tokens, 0);
}

static void run_head(const attention_call *call, const attention_work *work, const image_rows *rows,
                     size_t image, size_t head)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    const real *keys = rows->qkv + block->inner + head * d, *values = keys + block->inner;
    uint32_t *mask = sv_attention_mask(call, image, head);
    kernels->tile_pack(work->keys_t, keys, 1, row, d, tokens);
    kernels->tile_pack(work->values, values, row, 1, tokens, d);
    if (mask)
        sv_dropout_mask(call->run, block->base.number, 0, block->threshold, mask,
                        (image * block->heads + head) * call->mask_blocks, call->mask_blocks,
                        tokens);
    for (size_t first = 0; first < tokens; first += call->queries)
        attend(call, work, rows, image, head, first);
}

static void image_task(void *argument, size_t image, uint32_t worker)
{
    const attention_call *call = argument;
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    sv_arena arena = {.base = sv_worker_scratch(run, worker)};
    attention_work work = sv_attention_work(&arena, block, run->context, run->training);
    image_rows rows = find_rows(call, &work, image);
    project(call, &rows);
    for (size_t head = 0; head < block->heads; head++)
        run_head(call, &work, &rows, image, head);
    const real *branch = rows.o, *bias = NULL;
    if (!block->identity) {
        sv_linear_forward(&block->proj, run, rows.y, rows.o, call->tokens);
        branch = rows.y;
    }
    if (block->proj_bias != SV_NO_PARAMETER)
        bias = run->weights + block->proj_bias;
    run->context->kernels->residual(rows.y, rows.x, branch, bias, NULL, 1, call->saved.path,
                                    call->tokens, image * call->tokens, call->tokens,
                                    block->base.in.channels);
}

void sv_attention_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                          const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.path)
        sv_draw_paths(run, layer->number, call.block->drop_path, call.saved.path);
    sv_pool_run(run->context->pool, image_task, &call, run->n);
}
