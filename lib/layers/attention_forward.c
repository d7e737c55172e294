/* The attention block forward, an image a task: queries, keys and values, then head by head the
 * scores of a block of queries, their softmax and the weighted values; then the projection. */
#include "layers/attention.h"
#include "layers/chance.h"

#include <string.h>

/* One image at work. */
typedef struct image_rows {
    const real *x;
    real *mean, *rstd, *o, *y;
} image_rows;

static image_rows find_rows(const attention_call *call, const attention_work *work, size_t image)
{
    const attention_saved *saved = &call->saved;
    size_t token = image * call->tokens, c = call->block->base.in.channels;
    image_rows rows = {.x = call->in + token * c, .y = call->out + token * c};
    if (saved->o) {
        rows.mean = saved->mean + token;
        rows.rstd = saved->rstd + token;
        rows.o = saved->o + token * call->block->inner;
    } else {
        /* Scores come after the statistics, which nobody reads again. */
        rows.mean = work->scores;
        rows.rstd = work->scores + call->tokens;
        rows.o = work->o;
    }
    return rows;
}

/* Queries first.. of one head: o = dropout(softmax(scale q k^T)) v */
static void attend(const attention_call *call, const attention_work *work, real *o, size_t image,
                   size_t head, size_t first)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->context->kernels;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    sv_attention_rows rows = sv_attention_rows_of(call, image, head, first);
    real *p = work->scores;
    kernels->tile_multiply(p, tokens, work->qkv + first * row + head * d, row, 1, work->keys_t,
                           rows.rows, tokens, d, 0);
    kernels->attention_softmax(p, p, p, &rows);
    if (run->attention && run->attention_layer == block->base.number)
        memcpy(run->attention + ((image * block->heads + head) * tokens + first) * tokens, p,
               rows.rows * tokens * sizeof(real));
    kernels->tile_multiply(o + first * block->inner + head * d, block->inner, p, tokens, 1,
                           work->values, rows.rows, d, tokens, 0);
}

static void run_head(const attention_call *call, const attention_work *work, real *o, size_t image,
                     size_t head)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    const real *keys = work->qkv + block->inner + head * d, *values = keys + block->inner;
    uint32_t *mask = sv_attention_mask(call, image, head);
    kernels->tile_pack(work->keys_t, keys, 1, row, d, tokens);
    kernels->tile_pack(work->values, values, row, 1, tokens, d);
    if (mask)
        sv_dropout_mask(call->run, block->base.number, 0, block->threshold, mask,
                        (image * block->heads + head) * call->mask_blocks, call->mask_blocks,
                        tokens);
    for (size_t first = 0; first < tokens; first += call->queries)
        attend(call, work, o, image, head, first);
}

static void image_task(void *argument, size_t image, uint32_t worker)
{
    const attention_call *call = argument;
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->context->kernels;
    const real *weights = run->weights, *bias = NULL;
    size_t tokens = call->tokens, c = block->base.in.channels;
    sv_arena arena = {.base = sv_worker_scratch(run, worker)};
    attention_work work = sv_attention_work(&arena, block, run->context, run->training);
    image_rows rows = find_rows(call, &work, image);
    kernels->layer_norm(work.xn, rows.mean, rows.rstd, rows.x, weights + block->norm_weight,
                        weights + block->norm_bias, tokens, c, block->eps);
    sv_attention_project(call, work.qkv, work.xn);
    for (size_t head = 0; head < block->heads; head++)
        run_head(call, &work, rows.o, image, head);
    const real *branch = rows.o;
    if (!block->identity) {
        sv_linear_forward(&block->proj, run, rows.y, rows.o, tokens);
        branch = rows.y;
    }
    if (block->proj_bias != SV_NO_PARAMETER)
        bias = weights + block->proj_bias;
    kernels->residual(rows.y, rows.x, branch, bias, NULL, 1, call->saved.path, tokens,
                      image * tokens, tokens, c);
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
