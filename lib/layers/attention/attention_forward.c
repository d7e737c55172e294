/* The attention block forward, an image a task: queries, keys and values, then head by head the
 * scores of a block of queries, their softmax and the weighted values; then the projection. */
#include "layers/attention/attention_internal.h"
#include "layers/dropout_bits.h"

#include <string.h>

void sv_attention_normalise(const attention_call *call, attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    const real *weights = call->run->weights;
    size_t tokens = call->tokens, token = image * tokens, c = block->base.in.channels;
    /* Where nothing is kept, scores come after the statistics, which nobody reads again. */
    real *mean = saved->mean ? saved->mean + token : work->scores;
    real *rstd = saved->rstd ? saved->rstd + token : work->scores + tokens;
    call->run->exec.context->kernels->layer_norm(work->xn, mean, rstd, call->in + token * c,
                                                 weights + block->norm_weight,
                                                 weights + block->norm_bias, tokens, c, block->eps);
    if (block->merged)
        sv_pack_b(&call->run->exec, &work->keys_t, work->xn, 1, c, c, tokens);
}

/* Whether the caller asks for this layer's attention weights. */
static int is_shown(const attention_call *call)
{
    return call->run->pass.attention && call->run->pass.attention_layer == call->block->base.number;
}

/* Whether the softmax leaves the weights' last factor to the sum over the heads, which is shorter.
 */
static int is_unscaled(const attention_call *call)
{
    return call->block->merged && !call->saved.mask && !is_shown(call);
}

/* Queries first.. of one head: o = dropout(softmax(scale q k^T)) v */
static void attend(const attention_call *call, const attention_work *work,
                   const attention_heads *heads, size_t image, size_t head, size_t first)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t tokens = call->tokens, w = block->width, row = block->row;
    sv_attention_rows rows = sv_attention_rows_of(call, heads, image, head, first);
    real *p = work->scores;
    sv_gemm_c scores = {p, tokens, 0, NULL, NULL},
              output = {heads->o + first * block->inner + head * w, block->inner, 0, NULL, NULL};
    sv_gemm_a queries = {work->qkv + first * row + head * w, row, 1, NULL},
              kept = {p, tokens, 1, NULL};
    sv_matmul(&run->exec, &scores, &queries, &work->keys_t, rows.rows);
    rows.unscaled = is_unscaled(call);
    kernels->attention_softmax(p, p, p, &rows);
    if (is_shown(call))
        memcpy(run->pass.attention + ((image * block->heads + head) * tokens + first) * tokens, p,
               rows.rows * tokens * sizeof(real));
    sv_matmul(&run->exec, &output, &kept, &work->values, rows.rows);
}

void sv_attention_head(const attention_call *call, attention_work *work,
                       const attention_heads *heads, size_t image, size_t head)
{
    const attention_block *block = call->block;
    size_t tokens = call->tokens, w = block->width, row = block->row;
    const real *values = work->qkv + row - block->inner + head * w;
    uint32_t *mask = sv_attention_mask(call, image, head);
    if (!block->merged)
        sv_pack_b(&call->run->exec, &work->keys_t, values - block->inner, 1, row, w, tokens);
    sv_pack_b(&call->run->exec, &work->values, values, row, 1, tokens, w);
    if (mask)
        sv_dropout_mask(call->run, block->base.number, 0, block->threshold, mask,
                        (image * block->heads + head) * call->mask_blocks, call->mask_blocks,
                        tokens);
    for (size_t first = 0; first < tokens; first += call->queries)
        attend(call, work, heads, image, head, first);
}

static void sum_heads(const attention_call *call, const attention_heads *heads, size_t image,
                      size_t row, size_t rows)
{
    const attention_block *block = call->block;
    size_t first = image * call->tokens + row, c = block->base.in.channels;
    const sv_head_sum sum = {.o = heads->o + row * block->inner,
                             .bias = sv_linear_bias(&block->proj, call->run),
                             .inv_row_sum = is_unscaled(call) ? heads->share + row : NULL,
                             .drop_path_scale = call->saved.path ? call->saved.path[image] : 1,
                             .heads = block->heads,
                             .tokens = call->tokens,
                             .rows = rows,
                             .c = c};
    call->run->exec.context->kernels->attention_sum(call->out + first * c, call->in + first * c,
                                                    &sum);
}

void sv_attention_finish(const attention_call *call, const attention_heads *heads, size_t image,
                         size_t row, size_t rows)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t first = image * call->tokens + row, c = block->base.in.channels;
    const real *o = heads->o + row * block->inner;
    real *y = call->out + first * c;
    const sv_epilogue epilogue = {.first_token = first,
                                  .residual = call->in + first * c,
                                  .drop_path_scale = call->saved.path,
                                  .image_tokens = call->tokens};
    if (block->merged)
        sum_heads(call, heads, image, row, rows);
    else if (block->identity)
        run->exec.context->kernels->residual(y, epilogue.residual, o, SV_NOT_DROPPED,
                                             epilogue.drop_path_scale, call->tokens,
                                             (sv_rows){first, rows, c, c});
    else
        sv_linear_forward(&block->proj, run, y, o, rows, &epilogue);
}

static void image_task(void *argument, size_t image, uint32_t worker)
{
    const attention_call *call = argument;
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t tokens = call->tokens;
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, worker)};
    attention_work work = sv_attention_work(&arena, block, run);
    attention_heads heads = sv_attention_heads(call, &work, image);
    sv_attention_normalise(call, &work, image);
    sv_linear_forward(&block->qkv, run, work.qkv, work.xn, tokens, NULL);
    for (size_t head = 0; head < block->heads; head++)
        sv_attention_head(call, &work, &heads, image, head);
    sv_attention_finish(call, &heads, image, 0, tokens);
    /* What is kept is far away: one copy of it costs less than products that write there. */
    if (call->saved.o)
        memcpy(call->saved.o + image * tokens * block->inner, heads.o,
               tokens * block->inner * sizeof(real));
}

void sv_attention_images(attention_call *call)
{
    sv_run_tasks(&call->run->exec, image_task, call, call->run->pass.n);
}
