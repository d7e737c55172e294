/* The attention block backward, a group of images a task. An image's queries, keys, values and
 * scores are made once more instead of kept, and its share of the weight gradients is added while
 * what it is made of is in cache; the groups' shares are added up in their order. */
#include "layers/attention/attention_internal.h"

#include <string.h>

/* One head of one image at work. */
typedef struct head_rows {
    const real *q, *k, *v; /* [T, w] in rows of block->row, k of key_row */
    real *dq, *dk, *dv;    /* likewise */
    const real *doutput;   /* [T, w] in rows of output_row */
    size_t key_row, output_row;
    int shares; /* merged, and not the first head: dk and what is packed of keys and doutput are
                   there */
} head_rows;

/* doutput of a block of queries as a right-hand side, made by the first of the heads that share it.
 */
static sv_gemm_b block_doutputs(const attention_call *call, const attention_work *work,
                                const head_rows *head, const sv_attention_rows *rows)
{
    const sv_run *run = call->run;
    size_t number = call->block->merged ? rows->first_row / call->queries : 0;
    sv_gemm_b operand = {.b = head->doutput + rows->first_row * head->output_row,
                         .k = rows->rows,
                         .n = call->block->width,
                         .row_stride = head->output_row,
                         .column_stride = 1,
                         .packed = (char *)work->doutputs.packed + number * work->doutputs_bytes};
    if (!head->shares)
        run->exec.gemm->activations->pack_b(run->exec.context->kernels, &operand);
    return operand;
}

/* A block of queries: scores = q k^T, p = softmax(scale scores), and the gradients of all that they
 * touch.  dv += (keep p)^T do;  dp = do v^T;  ds = scale p (keep dp - sum(keep dp p));  dq = ds k;
 * dk += ds^T q;  the gradient of scale comes back. */
static real attend_backward(const attention_call *call, attention_work *work, const head_rows *head,
                            const sv_attention_rows *rows)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t tokens = call->tokens, w = block->width, row = block->row;
    size_t first = rows->first_row, here = rows->rows;
    const real *q = head->q + first * row, *doutput = head->doutput + first * head->output_row;
    real *kept = rows->mask ? work->kept : work->p, *ds = work->dp;
    const sv_run *run = call->run;
    sv_gemm_c scores = {work->scores, tokens, 0, NULL, NULL},
              dp = {work->dp, tokens, 0, NULL, NULL};
    sv_gemm_c dv = {head->dv, row, first > 0, NULL, NULL},
              dk = {head->dk, head->key_row, first > 0 || head->shares, NULL, NULL};
    sv_gemm_c dq = {head->dq + first * row, row, 0, NULL, NULL};
    sv_gemm_a left_q = {q, row, 1, NULL}, left_doutput = {doutput, head->output_row, 1, NULL};
    sv_gemm_a left_ds = {ds, tokens, 1, NULL}, ds_t = {ds, 1, tokens, NULL},
              kept_t = {kept, 1, tokens, NULL};
    sv_matmul(&run->exec, &scores, &left_q, &work->keys_t, here);
    kernels->attention_softmax_again(work->p, kept, work->scores, rows);
    sv_gemm_b doutputs = block_doutputs(call, work, head, rows);
    sv_matmul(&run->exec, &dv, &kept_t, &doutputs, tokens);

    sv_matmul(&run->exec, &dp, &left_doutput, &work->values_t, here);
    real dscale = kernels->attention_softmax_backward(
        ds, work->p, kept, work->dp, block->temperature == SV_NO_PARAMETER ? NULL : work->scores,
        rows);
    sv_matmul(&run->exec, &dq, &left_ds, &work->keys, here);
    sv_pack_b(&run->exec, &work->queries, q, row, 1, here, w);
    sv_matmul(&run->exec, &dk, &ds_t, &work->queries, tokens);
    return dscale;
}

static head_rows head_of(const attention_block *block, const attention_work *work, size_t number)
{
    size_t row = block->row, inner = block->inner, c = block->base.in.channels;
    size_t at = number * block->width;
    const real *qkv = work->qkv + at;
    real *dqkv = work->dqkv + at;
    head_rows head = {.q = qkv, .v = qkv + row - inner, .dq = dqkv, .dv = dqkv + row - inner};
    if (block->merged) {
        head.k = work->xn;
        head.dk = work->dkeys;
        head.doutput = work->doutput;
        head.key_row = head.output_row = c;
        head.shares = number > 0;
    } else {
        head.k = qkv + inner;
        head.dk = dqkv + inner;
        head.doutput = work->doutput + at;
        head.key_row = row;
        head.output_row = inner;
    }
    return head;
}

static void pack_keys(const attention_call *call, attention_work *work, const real *k, size_t row)
{
    size_t w = call->block->width;
    sv_pack_b(&call->run->exec, &work->keys_t, k, 1, row, w, call->tokens);
    sv_pack_b(&call->run->exec, &work->keys, k, row, 1, call->tokens, w);
}

static real head_backward(const attention_call *call, attention_work *work, size_t image,
                          size_t number)
{
    const attention_block *block = call->block;
    size_t tokens = call->tokens;
    attention_heads heads = sv_attention_heads(call, work, image);
    head_rows head = head_of(block, work, number);
    real dscale = 0;
    if (!head.shares)
        pack_keys(call, work, head.k, head.key_row);
    sv_pack_b(&call->run->exec, &work->values_t, head.v, 1, block->row, block->width, tokens);
    for (size_t first = 0; first < tokens; first += call->queries) {
        sv_attention_rows rows = sv_attention_rows_of(call, &heads, image, number, first);
        dscale += attend_backward(call, work, &head, &rows);
    }
    return dscale;
}

static real *share_of(const attention_call *call, size_t which, size_t image)
{
    return sv_partial_gradient_of(&call->shares[which], image / call->group_images);
}

/* The image's share of the gradients of the weights and biases. */
static void add_weights(const attention_call *call, const attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const svit_context *context = call->run->exec.context;
    const sv_gemm *gemm = call->run->exec.gemm;
    size_t tokens = call->tokens, c = block->base.in.channels, row = block->row;
    sv_gemm_weight_gradient(gemm, context->kernels, share_of(call, SHARE_QKV_WEIGHT, image), c,
                            work->dqkv, row, work->xn, c, row, c, tokens, work->weight_scratch);
    context->kernels->add_rows(share_of(call, SHARE_QKV_BIAS, image), work->dqkv, tokens, row);
    if (call->saved.o && !block->identity)
        sv_gemm_weight_gradient(gemm, context->kernels, share_of(call, SHARE_PROJ_WEIGHT, image),
                                block->inner, work->dbranch, c,
                                call->saved.o + image * tokens * block->inner, block->inner, c,
                                block->inner, tokens, work->weight_scratch);
    context->kernels->add_rows(share_of(call, SHARE_PROJ_BIAS, image), work->dbranch, tokens, c);
}

/* xn and qkv once more;  dbranch = path dy;  do = dbranch Wproj, merged dbranch;  dqkv by heads;
 * dxn = dqkv Wqkv, merged + dkeys;  dx = dy + norm'(dxn) */
static void image_backward(const attention_call *call, attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
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
    else if (!block->merged)
        sv_linear_backward(&block->proj, run, work->doutput, work->dbranch, tokens, NULL);
    for (size_t head = 0; head < block->heads; head++)
        share_of(call, SHARE_SCALE, image)[head] += head_backward(call, work, image, head);
    add_weights(call, work, image);
    sv_linear_backward(&block->qkv, run, work->dxn, work->dqkv, tokens, NULL);
    if (block->merged)
        kernels->add(work->dxn, work->dkeys, tokens * c);
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
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, worker)};
    attention_work work = sv_attention_work(&arena, call->block, run);
    size_t first = group * call->group_images;
    sv_partial_gradients_clear(call->shares, ATTENTION_SHARES, group);
    for (size_t i = 0; i < sv_block_length(run->pass.n, first, call->group_images); i++)
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

/* Of the weights that the model has not the groups' shares are added up here. */
static void add_made(const attention_call *call, size_t groups)
{
    const sv_partial_gradient *weight = &call->shares[SHARE_QKV_WEIGHT];
    const sv_partial_gradient *bias = &call->shares[SHARE_QKV_BIAS];
    const sv_kernels *kernels = call->run->exec.context->kernels;
    kernels->add_rows(weight->shares, sv_partial_gradient_of(weight, 1), groups - 1,
                      weight->elements);
    kernels->add_rows(bias->shares, sv_partial_gradient_of(bias, 1), groups - 1, bias->elements);
    sv_attention_add_derived_gradients(call->block, call->run, weight->shares, bias->shares);
}

void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    size_t groups = sv_block_count(run->pass.n, call.group_images);
    sv_arena arena = {.base = run->exec.workspace};
    sv_attention_partial_gradients(call.shares, &arena, call.block, groups);
    call.out = dx;
    call.in = dy;
    call.x = x;
    sv_run_tasks(&run->exec, group_task, &call, groups);
    sv_partial_gradients_reduce(run, call.shares, ATTENTION_SHARES, groups);
    add_scale(&call, groups);
    if (call.block->merged)
        add_made(&call, groups);
}
