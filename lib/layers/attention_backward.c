/* The attention block backward, a group of images a task. An image's queries, keys, values and
 * scores are made once more instead of kept, and its share of the weight gradients is added while
 * what it is made of is in cache; the groups' shares are added up in their order. */
#include "layers/attention.h"

#include <string.h>

/* One head of one image at work. */
typedef struct head_rows {
    const real *q, *k, *v; /* [T, d] in rows of 3 inner */
    real *dq, *dk, *dv;    /* likewise */
    const real *doutput;   /* [T, d] in rows of inner */
} head_rows;

/* A block of queries: scores = q k^T, p = softmax(scale scores), and the gradients of all that they
 * touch.  dv += (keep p)^T do;  dp = do v^T;  ds = scale p (keep dp - sum(keep dp p));  dq = ds k;
 * dk += ds^T q;  the gradient of scale comes back. */
static real attend_backward(const attention_call *call, attention_work *work, const head_rows *head,
                            const sv_attention_rows *rows)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    size_t first = rows->first_row, here = rows->rows;
    const real *q = head->q + first * row, *doutput = head->doutput + first * block->inner;
    real *kept = rows->mask ? work->kept : work->p, *ds = work->dp;
    const sv_run *run = call->run;
    sv_output scores = {work->scores, tokens, 0, NULL, NULL},
              dp = {work->dp, tokens, 0, NULL, NULL};
    sv_output dv = {head->dv, row, first > 0, NULL, NULL},
              dk = {head->dk, row, first > 0, NULL, NULL};
    sv_output dq = {head->dq + first * row, row, 0, NULL, NULL};
    sv_left left_q = {q, row, 1, NULL}, left_doutput = {doutput, block->inner, 1, NULL};
    sv_left left_ds = {ds, tokens, 1, NULL}, ds_t = {ds, 1, tokens, NULL},
            kept_t = {kept, 1, tokens, NULL};
    sv_multiply(run, &scores, &left_q, &work->keys_t, here);
    kernels->attention_softmax(work->p, kept, work->scores, rows);
    sv_operand_pack(run, &work->doutputs, doutput, block->inner, 1, here, d);
    sv_multiply(run, &dv, &kept_t, &work->doutputs, tokens);

    sv_multiply(run, &dp, &left_doutput, &work->values_t, here);
    real dscale = kernels->attention_softmax_backward(ds, work->p, work->dp, work->scores, rows);
    sv_multiply(run, &dq, &left_ds, &work->keys, here);
    sv_operand_pack(run, &work->queries, q, row, 1, here, d);
    sv_multiply(run, &dk, &ds_t, &work->queries, tokens);
    return dscale;
}

static real head_backward(const attention_call *call, attention_work *work, size_t image,
                          size_t number)
{
    const attention_block *block = call->block;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner, at = number * d;
    const real *qkv = work->qkv + at;
    real *dqkv = work->dqkv + at, dscale = 0;
    head_rows head = {.q = qkv,
                      .k = qkv + block->inner,
                      .v = qkv + 2 * block->inner,
                      .dq = dqkv,
                      .dk = dqkv + block->inner,
                      .dv = dqkv + 2 * block->inner,
                      .doutput = work->doutput + at};
    sv_operand_pack(call->run, &work->keys_t, head.k, 1, row, d, tokens);
    sv_operand_pack(call->run, &work->values_t, head.v, 1, row, d, tokens);
    sv_operand_pack(call->run, &work->keys, head.k, row, 1, tokens, d);
    for (size_t first = 0; first < tokens; first += call->queries) {
        sv_attention_rows rows = sv_attention_rows_of(call, image, number, first);
        dscale += attend_backward(call, work, &head, &rows);
    }
    return dscale;
}

static real *share_of(const attention_call *call, size_t which, size_t image)
{
    return sv_share_of(&call->shares[which], image / call->group_images);
}

/* The image's share of the gradients of the weights and biases. */
static void add_weights(const attention_call *call, const attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const svit_context *context = call->run->context;
    const sv_gemm *gemm = call->run->gemm;
    size_t tokens = call->tokens, c = block->base.in.channels, wide = 3 * block->inner;
    const real *o = call->saved.o + image * tokens * block->inner;
    sv_gemm_multiply_transposed(gemm, context->kernels, share_of(call, SHARE_QKV_WEIGHT, image), c,
                                work->dqkv, wide, work->xn, c, wide, c, tokens,
                                work->weight_scratch);
    context->kernels->add_rows(share_of(call, SHARE_QKV_BIAS, image), work->dqkv, tokens, wide);
    if (!block->identity)
        sv_gemm_multiply_transposed(
            gemm, context->kernels, share_of(call, SHARE_PROJ_WEIGHT, image), block->inner,
            work->dbranch, c, o, block->inner, c, block->inner, tokens, work->weight_scratch);
    context->kernels->add_rows(share_of(call, SHARE_PROJ_BIAS, image), work->dbranch, tokens, c);
}

/* xn and qkv once more;  dbranch = path dy;  do = dbranch Wproj;  dqkv by heads;
 * dxn = dqkv Wqkv;  dx = dy + norm'(dxn) */
static void image_backward(const attention_call *call, attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->context->kernels;
    size_t tokens = call->tokens, token = image * tokens, c = block->base.in.channels;
    const real *dy = call->in + token * c, *x = call->x + token * c;
    const real *weight = run->weights + block->norm_weight;
    const real *mean = saved->mean + token, *rstd = saved->rstd + token;
    kernels->norm_apply(work->xn, x, mean, rstd, weight, run->weights + block->norm_bias, tokens,
                        c);
    sv_linear_forward(&block->qkv, run, work->qkv, work->xn, tokens, NULL);
    kernels->residual_backward(work->dbranch, dy, SV_NOT_DROPPED, saved->path, tokens,
                               (sv_rows){token, tokens, c, c});
    if (block->identity)
        memcpy(work->doutput, work->dbranch, tokens * c * sizeof(real));
    else
        sv_linear_backward(&block->proj, run, work->doutput, work->dbranch, tokens, NULL);
    for (size_t head = 0; head < block->heads; head++)
        share_of(call, SHARE_SCALE, image)[head] += head_backward(call, work, image, head);
    add_weights(call, work, image);
    sv_linear_backward(&block->qkv, run, work->dxn, work->dqkv, tokens, NULL);
    kernels->norm_backward_parameters(share_of(call, SHARE_NORM_WEIGHT, image),
                                      share_of(call, SHARE_NORM_BIAS, image), work->dxn, x, mean,
                                      rstd, tokens, c);
    if (!call->out)
        return;
    real *dx = call->out + token * c;
    kernels->layer_norm_backward(dx, work->dxn, x, mean, rstd, weight, tokens, c);
    kernels->add(dx, dy, tokens * c);
}

static void group_task(void *argument, size_t group, uint32_t worker)
{
    const attention_call *call = argument;
    const sv_run *run = call->run;
    sv_arena arena = {.base = sv_worker_scratch(run, worker)};
    attention_work work = sv_attention_work(&arena, call->block, run);
    size_t first = group * call->group_images;
    sv_shares_clear(call->shares, ATTENTION_SHARES, group);
    for (size_t i = 0; i < sv_tile_here(run->n, first, call->group_images); i++)
        image_backward(call, &work, first + i);
}

/* d(1 / tau) and d(scale[head]) */
static void add_scale(const attention_call *call, size_t groups)
{
    const attention_block *block = call->block;
    if (block->temperature == SV_NO_PARAMETER)
        return;
    real *gradient = call->run->gradients + block->temperature;
    real tau = call->run->weights[block->temperature];
    const real *dscale = call->shares[SHARE_SCALE].shares;
    for (size_t i = 0; i < groups * block->heads; i++)
        if (block->per_head)
            gradient[i % block->heads] += dscale[i];
        else
            gradient[0] -= dscale[i] / (tau * tau);
}

void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    size_t groups = sv_tile_count(run->n, call.group_images);
    sv_arena arena = {.base = run->shared};
    sv_attention_shares(call.shares, &arena, call.block, groups);
    call.out = dx;
    call.in = dy;
    call.x = x;
    sv_pool_run(run->context->pool, group_task, &call, groups);
    sv_shares_add(run, call.shares, ATTENTION_SHARES, groups);
    add_scale(&call, groups);
}
