/* The attention block forward, an image a task: queries, keys and values, then head by head the
 * scores of a block of queries, their softmax and the weighted values; then the projection. */
#include "layers/attention.h"
#include "layers/chance.h"

#include <string.h>

/* In inference, so few images that there may be more workers. */
enum { FEW_IMAGES = 3 };

void sv_attention_normalise(const attention_call *call, const attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    const real *weights = call->run->weights;
    size_t tokens = call->tokens, token = image * tokens, c = block->base.in.channels;
    /* Where nothing is kept, scores come after the statistics, which nobody reads again. */
    real *mean = saved->mean ? saved->mean + token : work->scores;
    real *rstd = saved->rstd ? saved->rstd + token : work->scores + tokens;
    call->run->context->kernels->layer_norm(work->xn, mean, rstd, call->in + token * c,
                                            weights + block->norm_weight,
                                            weights + block->norm_bias, tokens, c, block->eps);
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
    sv_output scores = {p, tokens, 0, NULL, NULL},
              output = {o + first * block->inner + head * d, block->inner, 0, NULL, NULL};
    sv_left queries = {work->qkv + first * row + head * d, row, 1, NULL},
            kept = {p, tokens, 1, NULL};
    sv_multiply(run, &scores, &queries, &work->keys_t, rows.rows);
    kernels->attention_softmax(p, p, p, &rows);
    if (run->attention && run->attention_layer == block->base.number)
        memcpy(run->attention + ((image * block->heads + head) * tokens + first) * tokens, p,
               rows.rows * tokens * sizeof(real));
    sv_multiply(run, &output, &kept, &work->values, rows.rows);
}

void sv_attention_head(const attention_call *call, attention_work *work, real *o, size_t image,
                       size_t head)
{
    const attention_block *block = call->block;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    const real *keys = work->qkv + block->inner + head * d, *values = keys + block->inner;
    uint32_t *mask = sv_attention_mask(call, image, head);
    sv_operand_pack(call->run, &work->keys_t, keys, 1, row, d, tokens);
    sv_operand_pack(call->run, &work->values, values, row, 1, tokens, d);
    if (mask)
        sv_dropout_mask(call->run, block->base.number, 0, block->threshold, mask,
                        (image * block->heads + head) * call->mask_blocks, call->mask_blocks,
                        tokens);
    for (size_t first = 0; first < tokens; first += call->queries)
        attend(call, work, o, image, head, first);
}

void sv_attention_finish(const attention_call *call, const real *o, size_t first, size_t rows)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t c = block->base.in.channels;
    real *y = call->out + first * c;
    const sv_epilogue epilogue = {.first_token = first,
                                  .shortcut = call->in + first * c,
                                  .path = call->saved.path,
                                  .image_tokens = call->tokens};
    if (block->identity)
        run->context->kernels->residual(y, epilogue.shortcut, o, SV_NOT_DROPPED, epilogue.path,
                                        call->tokens, (sv_rows){first, rows, c, c});
    else
        sv_linear_forward(&block->proj, run, y, o, rows, &epilogue);
}

static void image_task(void *argument, size_t image, uint32_t worker)
{
    const attention_call *call = argument;
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t tokens = call->tokens;
    sv_arena arena = {.base = sv_worker_scratch(run, worker)};
    attention_work work = sv_attention_work(&arena, block, run);
    sv_attention_normalise(call, &work, image);
    sv_linear_forward(&block->qkv, run, work.qkv, work.xn, tokens, NULL);
    for (size_t head = 0; head < block->heads; head++)
        sv_attention_head(call, &work, work.o, image, head);
    sv_attention_finish(call, work.o, image * tokens, tokens);
    /* What is kept is far away: one copy of it costs less than products that write there. */
    if (call->saved.o)
        memcpy(call->saved.o + image * tokens * block->inner, work.o,
               tokens * block->inner * sizeof(real));
}

void sv_attention_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                          const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.path)
        sv_draw_paths(run, layer->number, call.block->drop_path, call.saved.path);
    if (!run->training && run->n <= FEW_IMAGES && call.block->qkv.forward.group)
        sv_attention_few(&call);
    else
        sv_pool_run(run->context->pool, image_task, &call, run->n);
}
