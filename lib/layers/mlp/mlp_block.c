/* The MLP block, general path. A shift of channel groups may come before the MLP: then it is the
 * block of ShiftViT (Wang et al. 2022).
 *   x_shifted = shift(x)                                      or x
 *   pre_gelu  = W1 norm(x_shifted) + b1
 *   hidden    = dropout(gelu(pre_gelu))
 *   branch    = dropout(W2 hidden + b2)                       or dropout(gelu(W2 hidden + b2))
 * Gated:  hidden = dropout(silu(u) * v),  [u v] = pre_gelu.  With LayerScale W2 and b2 are derived.
 * A norm of the hidden channels may follow: mlp_norm.c.
 *   y         = x_shifted + drop_path_scale * branch
 * The forward takes one token block after another through the whole block, while it is in cache.
 * The backward recomputes norm and GELU instead of saving their outputs.
 * Reference: tests/reference/plain_shiftvit.c. Special paths: mlp_small_m.c, mlp_chunks.c. */
#include "layers/dropout_bits.h"
#include "layers/mlp/mlp_internal.h"

#include <string.h>

/* Forward */

static mlp_rows locate_rows(const mlp_call *call, size_t first, uint32_t worker)
{
    const mlp_block *block = call->block;
    size_t c = block->base.in.channels;
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    mlp_rows rows = sv_mlp_worker_rows(&arena, block, call->run, call->token_block);
    if (call->run->pass.training)
        rows.pre_gelu = call->saved.pre_gelu + first * block->fc1.out;
    if (call->saved.hidden_mean) {
        rows.hidden_mean = call->saved.hidden_mean + first;
        rows.hidden_rstd = call->saved.hidden_rstd + first;
    }
    if (call->saved.x_shifted) {
        rows.shift_into = call->saved.x_shifted + first * c;
        rows.mean = call->saved.mean + first;
        rows.rstd = call->saved.rstd + first;
    } else if (block->shift.group == 0) {
        rows.shift_into = NULL;
    }
    rows.x_shifted = rows.shift_into ? rows.shift_into : call->in + first * c;
    return rows;
}

/* x_shifted = shift(x);  x_norm = norm(x_shifted). Group norm has done the shift for its moments.
 */
static void shift_and_normalize(const mlp_call *call, const mlp_rows *rows, size_t first,
                                size_t tokens)
{
    const mlp_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->base.in.channels;
    if (block->norm_per_image) {
        sv_norm_again(&block->norm, call->run, rows->x_norm, rows->x_shifted, rows->mean,
                      rows->rstd, tokens, c);
        return;
    }
    if (rows->shift_into)
        kernels->shift(rows->shift_into, call->in, &block->shift, first, tokens);
    sv_norm_forward(&block->norm, call->run, rows->x_norm, rows->mean, rows->rstd, rows->x_shifted,
                    tokens, c, block->eps);
}

/* Draws dropout mask `which` of this layer for a token block that begins at token `first`, a
 * multiple of 32. `words` is the mask of the batch; NULL: no dropout. */
static sv_dropout draw_mask(const mlp_call *call, uint32_t *words, uint32_t which, size_t first,
                            size_t tokens, size_t c)
{
    /* In a parallel block the attention has the masks of the block's number. */
    enum { PARALLEL = 1 << 28 };
    const mlp_block *block = call->block;
    if (words)
        sv_dropout_mask(call->run, block->base.number + (call->run->exec.residual ? PARALLEL : 0),
                        which, block->dropout_threshold, words + first / 32 * c, first / 32,
                        (tokens + 31) / 32, c);
    return (sv_dropout){words, block->dropout_scale};
}

/* hidden = dropout(silu(u) * v),  [u v] = W1 x_norm + b1 */
static void gated_forward(const mlp_call *call, const mlp_rows *rows, size_t first, size_t tokens)
{
    const mlp_block *block = call->block;
    size_t m = block->hidden_channels;
    sv_linear_forward(&block->fc1, call->run, rows->pre_gelu, rows->x_norm, tokens, NULL);
    call->run->exec.context->kernels->swiglu(
        rows->hidden, rows->pre_gelu, draw_mask(call, call->saved.hidden_mask, 0, first, tokens, m),
        (sv_rows){first, tokens, m, m});
}

/* hidden = dropout(gelu(W1 x_norm + b1)), or the same gated. Where zeros are skipped,
 * sv_mlp_zero_skipping clears the zero channel groups of x_norm, and the correction term stands for
 * them. */
static void fc1_forward(const mlp_call *call, const mlp_rows *rows, size_t first, size_t tokens)
{
    const mlp_block *block = call->block;
    if (block->gated) {
        gated_forward(call, rows, first, tokens);
        return;
    }
    const sv_zero_skipping zeros =
        sv_mlp_zero_skipping(call, rows->x_norm, rows->mean, rows->rstd, first, tokens);
    const sv_epilogue epilogue = {.dropout = draw_mask(call, call->saved.hidden_mask, 0, first,
                                                       tokens, block->hidden_channels),
                                  .first_token = first,
                                  .gelu = true,
                                  .activation = block->activation,
                                  .save_pre_gelu = rows->pre_gelu,
                                  .zeros = zeros.correction ? &zeros : NULL};
    sv_linear_forward(&block->fc1, call->run, rows->hidden, rows->x_norm, tokens, &epilogue);
}

/* y = x_shifted + drop_path_scale * branch */
static void fc2_forward(const mlp_call *call, const mlp_rows *rows, size_t first, size_t tokens)
{
    const mlp_block *block = call->block;
    const mlp_saved *saved = &call->saved;
    size_t c = block->base.in.channels;
    const sv_epilogue epilogue = {
        .dropout = draw_mask(call, saved->branch_mask, 1, first, tokens, c),
        .first_token = first,
        .gelu = block->last_gelu,
        .save_pre_gelu = saved->pre_last_gelu ? saved->pre_last_gelu + first * c : NULL,
        .residual = sv_mlp_residual(call, rows->x_shifted, first),
        .drop_path_scale = saved->drop_path_scale,
        .image_tokens = call->image_tokens,
        .not_in_cache = true};
    sv_linear_forward(&block->fc2, call->run, call->out + first * c, rows->hidden, tokens,
                      &epilogue);
}

mlp_rows sv_mlp_hidden(const mlp_call *call, size_t first, size_t tokens, uint32_t worker)
{
    mlp_rows rows = locate_rows(call, first, worker);
    shift_and_normalize(call, &rows, first, tokens);
    fc1_forward(call, &rows, first, tokens);
    sv_mlp_hidden_norm(call, &rows, tokens);
    return rows;
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    const mlp_call *call = argument;
    size_t first = task * call->token_block;
    size_t tokens = sv_block_length(call->tokens, first, call->token_block);
    mlp_rows rows = sv_mlp_hidden(call, first, tokens, worker);
    fc2_forward(call, &rows, first, tokens);
}

/* mean and rstd of one image, for group norm. */
static void moments_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const mlp_call *call = argument;
    const mlp_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->base.in.channels, first = image * call->image_tokens;
    real *x_shifted = call->saved.x_shifted + first * c;
    kernels->shift(x_shifted, call->in, &block->shift, first, call->image_tokens);
    kernels->norm_moments(call->saved.mean + first, call->saved.rstd + first, x_shifted,
                          call->image_tokens, c, block->eps);
}

void sv_mlp_prepare(mlp_call *call)
{
    if (call->block->norm_per_image)
        sv_run_tasks(&call->run->exec, moments_task, call, call->run->pass.n);
}

void sv_mlp_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    mlp_call call = sv_mlp_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.drop_path_scale)
        sv_draw_drop_path_scales(run, layer->number, call.block->drop_path,
                                 call.saved.drop_path_scale);
    if (sv_mlp_is_small_m(&call)) {
        sv_mlp_small_m_forward(&call);
        return;
    }
    sv_mlp_prepare(&call);
    sv_run_tasks(&run->exec, forward_task, &call, sv_block_count(call.tokens, call.token_block));
}

/* Backward. Image blocks come one after the other. Each passes its token blocks from dy to
 * dx_shifted; then come its weight gradients, split by elements of the output so that no sum is
 * split, and beside them the shift's adjoint. */

/* Returns the first token of token block `task`, counted within the image block, and in *tokens the
 * tokens of the token block. */
static size_t locate_token_block(const mlp_call *call, size_t task, size_t *tokens)
{
    size_t first = task * call->token_block;
    *tokens = sv_block_length(call->count, first, call->token_block);
    return first;
}

/* dbranch = drop_path_scale * keep * dy [* gelu'(pre_last_gelu)]
 * dhidden = (dbranch W2) * keep * gelu'(pre_gelu),  hidden = keep * gelu(pre_gelu)
 *           gated: d[u v] of silu(u) * v
 * of  y = x_shifted + drop_path_scale * branch,  keep being a dropout mask times its scale. */
void sv_mlp_branch_backward(const mlp_call *call, const mlp_branch_gradients *out, size_t first,
                            size_t tokens)
{
    real *dbranch = out->dbranch, *dhidden = out->dhidden, *hidden = out->hidden;
    const mlp_block *block = call->block;
    const mlp_saved *saved = &call->saved;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->base.in.channels;
    const sv_rows rows = {first, tokens, c, c};
    const sv_dropout dropped = {saved->branch_mask, block->dropout_scale};
    kernels->residual_backward(dbranch, call->in + first * c,
                               block->last_gelu ? SV_NO_DROPOUT : dropped, saved->drop_path_scale,
                               call->image_tokens, rows);
    if (block->last_gelu)
        kernels->gelu_backward(NULL, dbranch, saved->pre_last_gelu + first * c, dropped, rows);
    if (sv_mlp_has_hidden_norm(block)) {
        sv_mlp_hidden_norm_backward(call, out, first, tokens);
        return;
    }
    const sv_dropout hidden_dropout = {saved->hidden_mask, block->dropout_scale};
    const real *pre_gelu = saved->pre_gelu + first * block->fc1.out;
    if (block->gated) {
        size_t m = block->hidden_channels;
        sv_linear_backward(&block->fc2, call->run, hidden, dbranch, tokens, NULL);
        kernels->swiglu_backward(hidden, dhidden, pre_gelu, hidden_dropout,
                                 (sv_rows){first, tokens, m, m});
        return;
    }
    const sv_epilogue epilogue = {.dropout = hidden_dropout,
                                  .first_token = first,
                                  .activation = block->activation,
                                  .pre_gelu = pre_gelu,
                                  .hidden = hidden};
    sv_linear_backward(&block->fc2, call->run, dhidden, dbranch, tokens, &epilogue);
}

/* The partial sums of token block `task` for the gradients of biases and norm parameters.
 * `first` counts within the image block. */
static void sum_over_tokens(const mlp_call *call, size_t task, size_t first, size_t tokens,
                            const real *dx_norm)
{
    const mlp_image_block *work = &call->work;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = call->block->base.in.channels, width = call->block->fc1.out;
    size_t token = call->first + first;
    real *dfc1_bias = work->dfc1_bias + task * width;
    real *dfc2_bias = work->dfc2_bias + task * c;
    real *dnorm_weight = work->dnorm_weight + task * c, *dnorm_bias = work->dnorm_bias + task * c;
    memset(dfc1_bias, 0, width * sizeof(real));
    memset(dfc2_bias, 0, c * sizeof(real));
    memset(dnorm_weight, 0, c * sizeof(real));
    memset(dnorm_bias, 0, c * sizeof(real));
    kernels->add_rows(dfc1_bias, work->dhidden + first * width, tokens, width);
    kernels->add_rows(dfc2_bias, work->dbranch + first * c, tokens, c);
    sv_norm_add_gradients(&call->block->norm, call->run, dnorm_weight, dnorm_bias, dx_norm,
                          call->saved.x_shifted + token * c, call->saved.mean + token,
                          call->saved.rstd + token, tokens, c);
}

/* Where token block `task` writes its part of the branch's backward; `first` counts within the
 * image block. Clears its partial sums of the norm of hidden channels. */
static mlp_branch_gradients branch_gradients(const mlp_call *call, size_t task, size_t first)
{
    const mlp_image_block *work = &call->work;
    const size_t hidden = call->block->hidden_channels, c = call->block->base.in.channels;
    mlp_branch_gradients out = {.dbranch = work->dbranch + first * c,
                                .dhidden = work->dhidden + first * call->block->fc1.out,
                                .hidden = work->hidden + first * hidden};
    if (sv_mlp_has_hidden_norm(call->block) && call->block->base.trained) {
        out.dhidden_norm_weight = work->dhidden_norm_weight + task * hidden;
        out.dhidden_norm_bias = work->dhidden_norm_bias + task * hidden;
        memset(out.dhidden_norm_weight, 0, hidden * sizeof(real));
        memset(out.dhidden_norm_bias, 0, hidden * sizeof(real));
    }
    return out;
}

/* From dy of a token block to dx_norm = dhidden W1, and with layer norm on to
 * dx_shifted = dy + norm'(dx_norm). Group norm needs dx_norm of the whole image: norm_task. */
static void backward_task(void *argument, size_t task, uint32_t worker)
{
    const mlp_call *call = argument;
    const mlp_block *block = call->block;
    const mlp_image_block *work = &call->work;
    const mlp_saved *saved = &call->saved;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t c = block->base.in.channels, tokens;
    size_t first = locate_token_block(call, task, &tokens), token = call->first + first;
    const mlp_branch_gradients branch = branch_gradients(call, task, first);
    const real *x_shifted = saved->x_shifted + token * c;
    real *dx_shifted = work->dx_shifted + first * c;
    real *dx_norm =
        block->norm_per_image ? dx_shifted : (real *)(void *)sv_worker_scratch(&run->exec, worker);
    sv_mlp_branch_backward(call, &branch, token, tokens);
    sv_linear_backward(&block->fc1, run, dx_norm, branch.dhidden, tokens, NULL);
    if (block->base.trained) {
        sv_norm_again(&block->norm, run, work->x_norm + first * c, x_shifted, saved->mean + token,
                      saved->rstd + token, tokens, c);
        sum_over_tokens(call, task, first, tokens, dx_norm);
    }
    if (block->norm_per_image)
        return;
    sv_norm_backward(&block->norm, run, dx_shifted, dx_norm, x_shifted, saved->mean + token,
                     saved->rstd + token, tokens, c);
    kernels->add(dx_shifted, sv_mlp_residual(call, call->in + token * c, token), tokens * c);
}

/* dx_shifted = dy + group_norm'(dx_norm) of one image; dx_norm lies in dx_shifted. */
static void norm_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const mlp_call *call = argument;
    const mlp_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->base.in.channels, tokens = call->image_tokens;
    size_t first = image * tokens, token = call->first + first;
    real *dx_shifted = call->work.dx_shifted + first * c;
    kernels->group_norm_backward(dx_shifted, dx_shifted, call->saved.x_shifted + token * c,
                                 call->saved.mean + token, call->saved.rstd + token,
                                 call->run->weights + block->norm.weight, tokens, c);
    kernels->add(dx_shifted, sv_mlp_residual(call, call->in + token * c, token), tokens * c);
}

/* Tasks of dW1 += dhidden^T x_norm, then of dW2 += dbranch^T hidden, then token blocks of
 * dx = shift'(dx_shifted). */
static void gradient_task(void *argument, size_t task, uint32_t worker)
{
    const mlp_call *call = argument;
    size_t c = call->block->base.in.channels, tokens;
    size_t fc1_tasks = sv_weight_gradient_tasks(&call->gradients[0]);
    void *scratch = sv_worker_scratch(&call->run->exec, worker);
    if (task < fc1_tasks) {
        sv_weight_gradient_task(call->run, &call->gradients[0], task, scratch);
    } else if (task < call->gradient_tasks) {
        sv_weight_gradient_task(call->run, &call->gradients[1], task - fc1_tasks, scratch);
    } else {
        size_t first = locate_token_block(call, task - call->gradient_tasks, &tokens);
        call->run->exec.context->kernels->shift_backward(call->out + (call->first + first) * c,
                                                         call->work.dx_shifted, &call->block->shift,
                                                         first, tokens);
    }
}

static void set_gradient_jobs(mlp_call *call)
{
    const mlp_block *block = call->block;
    const mlp_image_block *work = &call->work;
    size_t c = block->base.in.channels, hidden_channels = block->hidden_channels;
    call->gradients[0] = (sv_weight_gradient_job){sv_gradient(call->run, block->fc1.weight),
                                                  work->dhidden,
                                                  work->x_norm,
                                                  block->fc1.out,
                                                  c,
                                                  call->count};
    call->gradients[1] = (sv_weight_gradient_job){call->dfc2_weight, work->dbranch, work->hidden, c,
                                                  hidden_channels,   call->count};
    call->gradient_tasks = sv_weight_gradient_tasks(&call->gradients[0]) +
                           sv_weight_gradient_tasks(&call->gradients[1]);
}

/* Adds the token blocks' partial sums to the gradients, in index order. */
static void reduce_sums(const mlp_call *call, size_t token_blocks)
{
    const mlp_block *block = call->block;
    const mlp_image_block *work = &call->work;
    const sv_run *run = call->run;
    const size_t c = block->base.in.channels, hidden = block->hidden_channels;
    sv_add_rows_to_gradient(run, block->fc1.bias, work->dfc1_bias, token_blocks, block->fc1.out);
    if (call->dfc2_bias)
        run->exec.context->kernels->add_rows(call->dfc2_bias, work->dfc2_bias, token_blocks, c);
    sv_add_rows_to_gradient(run, block->norm.weight, work->dnorm_weight, token_blocks, c);
    sv_add_rows_to_gradient(run, block->norm.bias, work->dnorm_bias, token_blocks, c);
    sv_add_rows_to_gradient(run, block->hidden_norm.weight, work->dhidden_norm_weight, token_blocks,
                            hidden);
    sv_add_rows_to_gradient(run, block->hidden_norm.bias, work->dhidden_norm_bias, token_blocks,
                            hidden);
}

static void image_block_backward(mlp_call *call)
{
    const sv_exec *exec = &call->run->exec;
    size_t token_blocks = sv_block_count(call->count, call->token_block);
    sv_run_tasks(exec, backward_task, call, token_blocks);
    if (call->block->norm_per_image)
        sv_run_tasks(exec, norm_task, call, call->count / call->image_tokens);
    if (call->block->base.trained)
        set_gradient_jobs(call);
    sv_run_tasks(exec, gradient_task, call, call->gradient_tasks + (call->out ? token_blocks : 0));
    if (call->block->base.trained)
        reduce_sums(call, token_blocks);
}

/* Chooses where the gradients of fc2 are added up: in the model's gradients, or, with LayerScale,
 * in those of its derived weight. */
static void locate_fc2_gradients(mlp_call *call)
{
    const mlp_block *block = call->block;
    size_t elements = sv_layer_scale_elements(&block->scale, &block->fc2);
    if (elements > 0) {
        memset(call->work.derived, 0, elements * sizeof(real));
        call->dfc2_weight = call->work.derived;
        call->dfc2_bias = call->work.derived + block->fc2.out * block->fc2.in;
    } else {
        call->dfc2_weight = sv_gradient(call->run, block->fc2.weight);
        call->dfc2_bias = sv_gradient(call->run, block->fc2.bias);
    }
}

void sv_mlp_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)x;
    mlp_call call = sv_mlp_call(layer, run, saved);
    call.out = dx;
    call.in = dy;
    if (call.block->chunked) {
        sv_mlp_chunks_backward(&call);
        return;
    }
    sv_arena arena = {.base = run->exec.workspace};
    size_t image_block = sv_mlp_image_block_tokens(call.block, run->pass.n);
    call.work = sv_mlp_image_block(&arena, call.block, run);
    if (layer->trained)
        locate_fc2_gradients(&call);
    for (; call.first < call.tokens; call.first += image_block) {
        call.count = sv_block_length(call.tokens, call.first, image_block);
        image_block_backward(&call);
    }
    if (layer->trained && sv_layer_scale_exists(&call.block->scale))
        sv_layer_scale_add_gradients(&call.block->scale, &call.block->fc2, run, call.dfc2_weight,
                                     call.dfc2_bias);
}
