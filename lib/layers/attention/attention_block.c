/* The attention block, general path (Vaswani et al. 2017; with a mask and a learned temperature the
 * locality self-attention of Lee, Lee, Song 2021).
 *   q, k, v = Wqkv norm(x) + bqkv                       split into heads
 *   o       = dropout(softmax(scale q k^T)) v           per head
 *   y       = x + drop_path_scale * (Wproj o + bproj)
 * With LayerScale Wproj and bproj are derived, with LoRA both maps.
 * A task computes one image: queries, keys and values, then head by head blocks of queries, then
 * the projection. The backward recomputes scores and softmax instead of saving them (Dao et al.
 * 2022). Reference: tests/reference/plain_attention.c. Special paths: attention_small_m.c,
 * attention_folded.c. */
#include "layers/attention/attention_internal.h"
#include "layers/dropout_bits.h"

#include <string.h>

/* Forward */

void sv_attention_normalize(const attention_call *call, attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    size_t tokens = call->tokens, token = image * tokens, c = block->base.in.channels;
    /* In inference nobody reads the moments again, so they lie where the scores will. */
    real *mean = saved->mean ? saved->mean + token : work->scores;
    real *rstd = saved->rstd ? saved->rstd + token : work->scores + tokens;
    sv_norm_forward(&block->norm, call->run, work->x_norm, mean, rstd, call->in + token * c, tokens,
                    c, block->eps);
    if (block->folded)
        sv_pack_b(&call->run->exec, &work->keys_t, work->x_norm, 1, c, c, tokens);
}

/* Whether the caller wants this layer's attention weights. */
static int is_wanted(const attention_call *call)
{
    return call->run->pass.attention && call->run->pass.attention_layer == call->block->base.number;
}

/* Whether the softmax leaves p without the factor inv_row_sum. The sum over folded heads multiplies
 * by it instead, which takes fewer multiplications. */
static int is_unscaled(const attention_call *call)
{
    return call->block->folded && !call->saved.mask && !is_wanted(call);
}

void sv_attention_report(const attention_call *call, const real *p, size_t image, size_t head,
                         size_t first, size_t rows)
{
    const size_t tokens = call->tokens, row = (image * call->block->heads + head) * tokens + first;
    if (is_wanted(call))
        memcpy(call->run->pass.attention + row * tokens, p, rows * tokens * sizeof(real));
}

/* A block of queries of one head, from query `first`: o = dropout(softmax(scale q k^T)) v */
static void attend(const attention_call *call, const attention_work *work,
                   const attention_heads *heads, size_t image, size_t head, size_t first)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t tokens = call->tokens, w = block->head_width, row = block->qkv_width;
    sv_attention_rows rows = sv_attention_rows_of(call, heads, image, head, first);
    real *p = work->scores;
    sv_gemm_c scores = {p, tokens, 0, NULL, NULL},
              output = {heads->o + first * block->heads_width + head * w, block->heads_width, 0,
                        NULL, NULL};
    sv_gemm_a queries = {work->qkv + first * row + head * w, row, 1, NULL},
              dropped = {p, tokens, 1, NULL};
    sv_matmul(&run->exec, &scores, &queries, &work->keys_t, rows.rows);
    rows.unscaled = is_unscaled(call);
    kernels->attention_softmax(p, p, p, &rows);
    sv_attention_report(call, p, image, head, first, rows.rows);
    sv_matmul(&run->exec, &output, &dropped, &work->values, rows.rows);
}

void sv_attention_head(const attention_call *call, attention_work *work,
                       const attention_heads *heads, size_t image, size_t head)
{
    const attention_block *block = call->block;
    size_t tokens = call->tokens, w = block->head_width, row = block->qkv_width;
    const real *values = work->qkv + row - block->heads_width + head * w;
    uint32_t *mask = sv_attention_mask(call, image, head);
    if (block->differential) {
        sv_attention_differential_head(call, work, heads, image, head);
        return;
    }
    if (!block->folded)
        sv_pack_b(&call->run->exec, &work->keys_t, values - block->heads_width, 1, row, w, tokens);
    sv_pack_b(&call->run->exec, &work->values, values, row, 1, tokens, w);
    if (mask)
        sv_dropout_mask(call->run, block->base.number, 0, block->dropout_threshold, mask,
                        (image * block->heads + head) * call->mask_blocks, call->mask_blocks,
                        tokens);
    for (size_t first = 0; first < tokens; first += call->queries)
        attend(call, work, heads, image, head, first);
}

/* y = x + drop_path_scale * (sum of the heads' o + bproj) */
static void sum_heads(const attention_call *call, const attention_heads *heads, size_t image,
                      size_t row, size_t rows)
{
    const attention_block *block = call->block;
    size_t first = image * call->tokens + row, c = block->base.in.channels;
    const sv_head_sum sum = {
        .o = heads->o + row * block->heads_width,
        .bias = sv_linear_bias(&block->proj, call->run),
        .inv_row_sum = is_unscaled(call) ? heads->inv_row_sum + row : NULL,
        .drop_path_scale = call->saved.drop_path_scale ? call->saved.drop_path_scale[image] : 1,
        .heads = block->heads,
        .tokens = call->tokens,
        .rows = rows,
        .c = c};
    call->run->exec.context->kernels->attention_sum(call->out + first * c, call->in + first * c,
                                                    &sum);
}

void sv_attention_project(const attention_call *call, const attention_heads *heads, size_t image,
                          size_t row, size_t rows)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t first = image * call->tokens + row, c = block->base.in.channels;
    const real *o = heads->o + row * block->heads_width;
    real *y = call->out + first * c;
    const sv_epilogue epilogue = {.first_token = first,
                                  .residual = call->in + first * c,
                                  .drop_path_scale = call->saved.drop_path_scale,
                                  .image_tokens = call->tokens};
    if (sv_norm_exists(&block->output_norm))
        sv_attention_normalize_output(call, heads, row, rows);
    if (block->folded)
        sum_heads(call, heads, image, row, rows);
    else if (block->identity)
        run->exec.context->kernels->residual(y, epilogue.residual, o, SV_NO_DROPOUT,
                                             epilogue.drop_path_scale, call->tokens,
                                             (sv_rows){first, rows, c, c});
    else
        sv_linear_forward(&block->proj, run, y, o, rows, &epilogue);
}

static void forward_task(void *argument, size_t image, uint32_t worker)
{
    const attention_call *call = argument;
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t tokens = call->tokens;
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, worker)};
    attention_work work = sv_attention_work(&arena, block, run);
    attention_heads heads = sv_attention_heads(call, &work, image);
    sv_attention_normalize(call, &work, image);
    sv_linear_forward(&block->qkv, run, work.qkv, work.x_norm, tokens, NULL);
    if (block->prepares)
        sv_attention_prepare(call, &work, 0, block->heads);
    for (size_t head = 0; head < block->heads; head++)
        sv_attention_head(call, &work, &heads, image, head);
    /* saved.o is not in cache: one copy to it costs less than matmuls that write there. */
    if (call->saved.o)
        memcpy(call->saved.o + image * tokens * block->heads_width, heads.o,
               tokens * block->heads_width * sizeof(real));
    sv_attention_project(call, &heads, image, 0, tokens);
}

void sv_attention_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                          const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.drop_path_scale)
        sv_draw_drop_path_scales(run, layer->number, call.block->drop_path,
                                 call.saved.drop_path_scale);
    if (sv_attention_is_small_m(&call))
        sv_attention_small_m(&call);
    else
        sv_run_tasks(&run->exec, forward_task, &call, run->pass.n);
}

/* Backward. A task takes one reduction chunk, image after image. It recomputes an image's queries,
 * keys, values and scores, and adds to its partial gradients while its operands are in cache. */

/* One head of one image. */
typedef struct head_rows {
    const real *q, *k, *v; /* [T, head_width]: q, v in rows of qkv_width, k of key_row */
    real *dq, *dk, *dv;    /* likewise */
    const real *doutput;   /* [T, head_width] in rows of output_row */
    size_t key_row, output_row;
    /* Folded, and not the first head: keys and doutput are packed already, and dk is added to. */
    bool shares_keys;
} head_rows;

/* Packed doutput of a block of queries. The first of the heads that share it packs it. */
static sv_gemm_b block_doutputs(const attention_call *call, const attention_work *work,
                                const head_rows *head, const sv_attention_rows *rows)
{
    const sv_run *run = call->run;
    size_t number = call->block->folded ? rows->first_row / call->queries : 0;
    sv_gemm_b operand = {.b = head->doutput + rows->first_row * head->output_row,
                         .k = rows->rows,
                         .n = call->block->head_width,
                         .row_stride = head->output_row,
                         .column_stride = 1,
                         .packed = (char *)work->doutputs.packed + number * work->doutputs_bytes};
    if (!head->shares_keys)
        run->exec.gemm->activations->pack_b(run->exec.context->kernels, &operand);
    return operand;
}

/* One block of queries. Of
 *     o = dropped v,  dropped = dropout(p),  p = softmax(scale s),  s = q k^T
 * the gradients are
 *     dv += dropped^T doutput
 *     ddropped = doutput v^T
 *     ds = scale p (keep ddropped - sum(keep ddropped p))
 *     dq = ds k
 *     dk += ds^T q
 * where keep is the dropout mask times its factor. Returns the gradient of `scale`. */
static real attend_backward(const attention_call *call, attention_work *work, const head_rows *head,
                            const sv_attention_rows *rows)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t tokens = call->tokens, w = block->head_width, row = block->qkv_width;
    size_t first = rows->first_row, here = rows->rows;
    const real *q = head->q + first * row, *doutput = head->doutput + first * head->output_row;
    real *dropped = rows->mask ? work->dropped : work->p, *ds = work->dp;
    const sv_run *run = call->run;
    sv_gemm_c scores = {work->scores, tokens, 0, NULL, NULL},
              dp = {work->dp, tokens, 0, NULL, NULL};
    sv_gemm_c dv = {head->dv, row, first > 0, NULL, NULL},
              dk = {head->dk, head->key_row, first > 0 || head->shares_keys, NULL, NULL};
    sv_gemm_c dq = {head->dq + first * row, row, 0, NULL, NULL};
    sv_gemm_a queries = {q, row, 1, NULL}, doutput_rows = {doutput, head->output_row, 1, NULL};
    sv_gemm_a ds_rows = {ds, tokens, 1, NULL}, ds_t = {ds, 1, tokens, NULL},
              dropped_t = {dropped, 1, tokens, NULL};
    sv_matmul(&run->exec, &scores, &queries, &work->keys_t, here);
    kernels->attention_softmax_recompute(work->p, dropped, work->scores, rows);
    sv_gemm_b doutputs = block_doutputs(call, work, head, rows);
    sv_matmul(&run->exec, &dv, &dropped_t, &doutputs, tokens);

    sv_matmul(&run->exec, &dp, &doutput_rows, &work->values_t, here);
    real dscale = kernels->attention_softmax_backward(
        ds, work->p, dropped, work->dp, block->temperature == SV_NO_PARAMETER ? NULL : work->scores,
        rows);
    sv_matmul(&run->exec, &dq, &ds_rows, &work->keys, here);
    sv_pack_b(&run->exec, &work->queries, q, row, 1, here, w);
    sv_matmul(&run->exec, &dk, &ds_t, &work->queries, tokens);
    return dscale;
}

static head_rows head_of(const attention_block *block, const attention_work *work, size_t index)
{
    size_t row = block->qkv_width, inner = block->heads_width, c = block->base.in.channels;
    size_t at = index * block->head_width;
    const real *qkv = work->qkv + at;
    real *dqkv = work->dqkv + at;
    head_rows head = {.q = qkv, .v = qkv + row - inner, .dq = dqkv, .dv = dqkv + row - inner};
    if (block->folded) {
        head.k = work->x_norm;
        head.dk = work->dkeys;
        head.doutput = work->doutput;
        head.key_row = head.output_row = c;
        head.shares_keys = index > 0;
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
    size_t w = call->block->head_width;
    sv_pack_b(&call->run->exec, &work->keys_t, k, 1, row, w, call->tokens);
    sv_pack_b(&call->run->exec, &work->keys, k, row, 1, call->tokens, w);
}

static real head_backward(const attention_call *call, attention_work *work, size_t image,
                          size_t index)
{
    const attention_block *block = call->block;
    size_t tokens = call->tokens;
    attention_heads heads = sv_attention_heads(call, work, image);
    head_rows head = head_of(block, work, index);
    real dscale = 0;
    if (!head.shares_keys)
        pack_keys(call, work, head.k, head.key_row);
    sv_pack_b(&call->run->exec, &work->values_t, head.v, 1, block->qkv_width, block->head_width,
              tokens);
    for (size_t first = 0; first < tokens; first += call->queries) {
        sv_attention_rows rows = sv_attention_rows_of(call, &heads, image, index, first);
        dscale += attend_backward(call, work, &head, &rows);
    }
    return dscale;
}

/* What proj was applied to: the outputs of the heads, or their norm. */
static const real *projected_of(const attention_call *call, const attention_work *work,
                                size_t image)
{
    return work->normed_o ? work->normed_o
                          : call->saved.o + image * call->tokens * call->block->heads_width;
}

/* Adds one image to the partial gradients of qkv and proj, which are maps y = x W^T + b:
 * dW += dy^T x;  db += dy */
static void add_weights(const attention_call *call, const attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const svit_context *context = call->run->exec.context;
    size_t tokens = call->tokens, c = block->base.in.channels, row = block->qkv_width;
    const size_t chunk = image / call->chunk_images;
    const sv_weight_gradient_job qkv = {
        sv_partial_gradient_if_read(call->run, &call->partial[QKV_WEIGHT], chunk),
        work->dqkv,
        work->x_norm,
        row,
        c,
        tokens};
    sv_weight_gradient_whole(call->run, &qkv, work->gemm_scratch);
    real *dbias = sv_attention_partial(call, QKV_BIAS, image);
    context->kernels->add_rows(dbias, work->dqkv, tokens, row);
    if (block->no_key_bias)
        memset(dbias + block->heads_width, 0, block->heads_width * sizeof *dbias);
    if (call->saved.o && !block->identity) {
        const sv_weight_gradient_job proj = {
            sv_partial_gradient_if_read(call->run, &call->partial[PROJ_WEIGHT], chunk),
            work->dbranch,
            projected_of(call, work, image),
            c,
            block->heads_width,
            tokens};
        sv_weight_gradient_whole(call->run, &proj, work->gemm_scratch);
    }
    context->kernels->add_rows(sv_attention_partial(call, PROJ_BIAS, image), work->dbranch, tokens,
                               c);
}

/* One image. Of  y = x + drop_path_scale * branch,  branch = Wproj o + bproj:
 *   dbranch = drop_path_scale * dy;   doutput = dbranch Wproj   (folded: dbranch)
 *   dx_norm = dqkv Wqkv               (folded: + dkeys);   dx = dy + norm'(dx_norm) */
static void image_backward(const attention_call *call, attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t tokens = call->tokens, token = image * tokens, c = block->base.in.channels;
    const real *dy = call->in + token * c, *x = call->x + token * c;
    const real *mean = saved->mean + token, *rstd = saved->rstd + token;
    sv_norm_again(&block->norm, run, work->x_norm, x, mean, rstd, tokens, c);
    sv_linear_forward(&block->qkv, run, work->qkv, work->x_norm, tokens, NULL);
    if (block->prepares)
        sv_attention_prepare_again(call, work);
    kernels->residual_backward(work->dbranch, dy, SV_NO_DROPOUT, saved->drop_path_scale, tokens,
                               (sv_rows){token, tokens, c, c});
    if (block->identity)
        memcpy(work->doutput, work->dbranch, tokens * c * sizeof(real));
    else if (!block->folded)
        sv_linear_backward(&block->proj, run, work->doutput, work->dbranch, tokens, NULL);
    if (sv_norm_exists(&block->output_norm))
        sv_attention_normalize_output_backward(call, work, image);
    for (size_t head = 0; head < block->heads; head++)
        sv_attention_partial(call, SCORE_SCALE, image)[head] +=
            block->differential ? sv_attention_differential_head_backward(call, work, image, head)
                                : head_backward(call, work, image, head);
    if (block->prepares)
        sv_attention_prepare_backward(call, work, image);
    if (block->base.trained)
        add_weights(call, work, image);
    sv_linear_backward(&block->qkv, run, work->dx_norm, work->dqkv, tokens, NULL);
    if (block->folded)
        kernels->add(work->dx_norm, work->dkeys, tokens * c);
    if (block->base.trained)
        sv_norm_add_gradients(&block->norm, run, sv_attention_partial(call, NORM_WEIGHT, image),
                              sv_attention_partial(call, NORM_BIAS, image), work->dx_norm, x, mean,
                              rstd, tokens, c);
    if (!call->out)
        return;
    real *dx = call->out + token * c;
    sv_norm_backward(&block->norm, run, dx, work->dx_norm, x, mean, rstd, tokens, c);
    kernels->add(dx, dy, tokens * c);
}

static void chunk_task(void *argument, size_t chunk, uint32_t worker)
{
    const attention_call *call = argument;
    const sv_run *run = call->run;
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, worker)};
    attention_work work = sv_attention_work(&arena, call->block, run);
    size_t first = chunk * call->chunk_images;
    sv_partial_gradients_clear(call->partial, ATTENTION_GRADIENTS, chunk);
    for (size_t i = 0; i < sv_block_length(run->pass.n, first, call->chunk_images); i++)
        image_backward(call, &work, first + i);
}

/* Adds the gradients of the scores' factors to that of the temperature. Temperatures per head are
 * the factors themselves; otherwise the factor of all scores is 1 / tau, so that
 * dtau = -dscale / tau^2. */
static void reduce_score_scale(const attention_call *call, size_t chunks)
{
    const attention_block *block = call->block;
    if (block->differential)
        sv_attention_add_lambda(call, chunks);
    real *gradient = sv_gradient(call->run, block->temperature);
    if (!gradient)
        return;
    real tau = call->run->weights[block->temperature];
    const real *dscale = call->partial[SCORE_SCALE].sums;
    for (size_t i = 0; i < chunks * block->heads; i++)
        if (block->per_head)
            gradient[i % block->heads] += dscale[i];
        else
            gradient[0] -= dscale[i] / (tau * tau);
}

/* The arguments of lora_task. */
typedef struct lora_call {
    const attention_call *call;
    size_t chunks;
} lora_call;

/* Sums the partial gradients of the derived weight and bias of qkv (task 0) or proj (task 1), and
 * adds what follows from them to the gradients of the map's LoRA adapters and of its trained
 * parameters. Does nothing if the map has no adapters. */
static void lora_task(void *argument, size_t task, uint32_t worker)
{
    const lora_call *self = argument;
    const attention_block *block = self->call->block;
    const sv_run *run = self->call->run;
    const sv_partial_gradient *partial = self->call->partial;
    const sv_lora *lora = task ? &block->proj_lora : &block->qkv_lora;
    if (sv_lora_exists(lora))
        sv_lora_add_gradients(
            lora, task ? &block->scale : &block->qkv_base, task ? &block->proj : &block->qkv, run,
            sv_partial_gradient_total(run, &partial[task ? PROJ_WEIGHT : QKV_WEIGHT], self->chunks),
            sv_partial_gradient_total(run, &partial[task ? PROJ_BIAS : QKV_BIAS], self->chunks),
            sv_worker_scratch(&run->exec, worker));
}

/* Derived weights have no slot in the gradient array, so their partial gradients are reduced here.
 */
static void reduce_derived_gradients(const attention_call *call, size_t chunks)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    const sv_partial_gradient *partial = call->partial;
    if (block->folded)
        sv_attention_add_derived_gradients(
            block, run, sv_partial_gradient_total(run, &partial[QKV_WEIGHT], chunks),
            sv_partial_gradient_total(run, &partial[QKV_BIAS], chunks));
    if (sv_lora_exists(&block->qkv_lora))
        sv_run_tasks(&run->exec, lora_task, &(lora_call){call, chunks}, 2);
    else if (sv_layer_scale_exists(&block->scale))
        sv_layer_scale_add_gradients(&block->scale, &block->proj, run,
                                     sv_partial_gradient_total(run, &partial[PROJ_WEIGHT], chunks),
                                     sv_partial_gradient_total(run, &partial[PROJ_BIAS], chunks));
}

void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    size_t chunks = sv_block_count(run->pass.n, call.chunk_images);
    sv_arena arena = {.base = run->exec.workspace};
    sv_attention_partial_gradients(call.partial, &arena, call.block, chunks);
    call.out = dx;
    call.in = dy;
    call.x = x;
    sv_run_tasks(&run->exec, chunk_task, &call, chunks);
    if (!layer->trained)
        return;
    sv_partial_gradients_reduce(run, call.partial, ATTENTION_GRADIENTS, chunks);
    reduce_score_scale(&call, chunks);
    reduce_derived_gradients(&call, chunks);
}
