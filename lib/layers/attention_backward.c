/* The attention block backward, one panel of images after another: each image's gradients of
 * queries, keys and values, with the scores made once more instead of kept; then the weight
 * gradients of the panel, cut by output. */
#include "layers/attention.h"

#include <string.h>

/* One head of one image at work. */
typedef struct head_rows {
    const real *q, *k, *v; /* [T, d] in rows of 3 inner */
    real *dq, *dk, *dv;    /* likewise */
    const real *doutput;   /* [T, d] in rows of inner */
    const uint32_t *mask;
    real scale;
} head_rows;

/* Queries first..: raw = q k^T, p = softmax(scale raw), and the gradients of all that they touch.
 *   dv += (keep p)^T do;  dp = keep (do v^T);  ds = p (dp - sum(dp p));
 *   dq = scale ds k;  dk += scale ds^T q;  the sum of ds * raw, the gradient of scale, comes back.
 */
static real attend_backward(const attention_call *call, const attention_work *work,
                            const head_rows *head, size_t first)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    size_t here = sv_tile_here(tokens, first, call->queries);
    size_t scores = here * tokens;
    const real *q = head->q + first * row, *doutput = head->doutput + first * block->inner;
    real *p = work->p, *dp = work->dp, *ds = work->ds;
    kernels->tile_multiply(work->raw, tokens, q, row, 1, work->keys_t, here, tokens, d, 0);
    memcpy(p, work->raw, scores * sizeof(real));
    kernels->scale(p, head->scale, scores);
    kernels->attention_softmax(p, p, here, tokens, block->masked, first);

    kernels->tile_multiply(dp, tokens, doutput, block->inner, 1, work->values_t, here, tokens, d,
                           0);
    const real *kept = p;
    if (head->mask) {
        kernels->residual_backward(dp, dp, head->mask, block->scale, NULL, 1, first, here, tokens);
        kernels->residual_backward(ds, p, head->mask, block->scale, NULL, 1, first, here, tokens);
        kept = ds;
    }
    kernels->tile_pack(work->doutput_packed, doutput, block->inner, 1, here, d);
    kernels->tile_multiply(head->dv, row, kept, 1, tokens, work->doutput_packed, tokens, d, here,
                           first > 0);

    kernels->attention_softmax_backward(ds, p, dp, here, tokens);
    real dscale = kernels->dot(ds, work->raw, scores);
    kernels->scale(ds, head->scale, scores);
    kernels->tile_multiply(head->dq + first * row, row, ds, tokens, 1, work->keys, here, d, tokens,
                           0);
    kernels->tile_pack(work->queries, q, row, 1, here, d);
    kernels->tile_multiply(head->dk, row, ds, 1, tokens, work->queries, tokens, d, here, first > 0);
    return dscale;
}

static real head_backward(const attention_call *call, const attention_work *work,
                          const head_rows *head)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t tokens = call->tokens, d = block->head_dim, row = 3 * block->inner;
    kernels->tile_pack(work->keys_t, head->k, 1, row, d, tokens);
    kernels->tile_pack(work->values_t, head->v, 1, row, d, tokens);
    kernels->tile_pack(work->keys, head->k, row, 1, tokens, d);
    real dscale = 0;
    for (size_t first = 0; first < tokens; first += call->queries)
        dscale += attend_backward(call, work, head, first);
    return dscale;
}

static void heads_backward(const attention_call *call, const attention_work *work, size_t image)
{
    const attention_block *block = call->block;
    size_t d = block->head_dim, row = 3 * block->inner, local = image - call->first;
    const real *qkv = call->saved.qkv + image * call->tokens * row;
    real *dqkv = call->panel.dqkv + local * call->tokens * row;
    for (size_t i = 0; i < block->heads; i++) {
        head_rows head = {.q = qkv + i * d,
                          .k = qkv + block->inner + i * d,
                          .v = qkv + 2 * block->inner + i * d,
                          .dq = dqkv + i * d,
                          .dk = dqkv + block->inner + i * d,
                          .dv = dqkv + 2 * block->inner + i * d,
                          .doutput = work->doutput + i * d,
                          .mask = sv_attention_mask(call, image, i),
                          .scale = sv_attention_scale(block, call->run->weights, i)};
        call->panel.dscale[local * block->heads + i] = head_backward(call, work, &head);
    }
}

/* The image's share of the gradients that are sums over tokens. */
static void image_sums(const attention_call *call, size_t image, const real *dxn)
{
    const attention_block *block = call->block;
    const attention_panel *panel = &call->panel;
    const sv_kernels *kernels = call->run->context->kernels;
    size_t tokens = call->tokens, c = block->base.in.channels, local = image - call->first;
    size_t wide = 3 * block->inner, token = image * tokens;
    real *dqkv_bias = panel->dqkv_bias + local * wide, *dproj_bias = panel->dproj_bias + local * c;
    real *dweight = panel->dweight + local * c, *dbias = panel->dbias + local * c;
    memset(dqkv_bias, 0, wide * sizeof(real));
    memset(dproj_bias, 0, c * sizeof(real));
    memset(dweight, 0, c * sizeof(real));
    memset(dbias, 0, c * sizeof(real));
    kernels->add_rows(dqkv_bias, panel->dqkv + local * tokens * wide, tokens, wide);
    kernels->add_rows(dproj_bias, panel->dbranch + local * tokens * c, tokens, c);
    kernels->norm_backward_parameters(dweight, dbias, dxn, call->x + token * c,
                                      call->saved.mean + token, call->saved.rstd + token, tokens,
                                      c);
}

/* dbranch = path dy;  do = dbranch Wproj;  dqkv by heads;  dxn = dqkv Wqkv;  dx = dy + norm'(dxn)
 */
static void image_task(void *argument, size_t local, uint32_t worker)
{
    const attention_call *call = argument;
    const attention_block *block = call->block;
    const attention_saved *saved = &call->saved;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->context->kernels;
    size_t image = call->first + local, tokens = call->tokens, c = block->base.in.channels;
    size_t token = image * tokens, place = local * tokens;
    const real *dy = call->in + token * c, *x = call->x + token * c;
    const real *weight = run->weights + block->norm_weight;
    const real *mean = saved->mean + token, *rstd = saved->rstd + token;
    sv_arena arena = {.base = sv_worker_scratch(run, worker)};
    attention_work work = sv_attention_work(&arena, block, run->context, 1);
    real *dbranch = call->panel.dbranch + place * c, *dx = call->out + token * c;
    kernels->residual_backward(dbranch, dy, NULL, 1, saved->path, tokens, token, tokens, c);
    if (block->identity)
        memcpy(work.doutput, dbranch, tokens * c * sizeof(real));
    else
        sv_linear_backward(&block->proj, run, work.doutput, dbranch, tokens);
    heads_backward(call, &work, image);
    kernels->norm_apply(call->panel.xn + place * c, x, mean, rstd, weight,
                        run->weights + block->norm_bias, tokens, c);
    sv_linear_backward(&block->qkv, run, work.dxn, call->panel.dqkv + place * 3 * block->inner,
                       tokens);
    image_sums(call, image, work.dxn);
    if (!call->out)
        return;
    kernels->layer_norm_backward(dx, work.dxn, x, mean, rstd, weight, tokens, c);
    kernels->add(dx, dy, tokens * c);
}

/* d(1 / tau) and d(scale[head]), the images in order. */
static void add_scale(const attention_call *call)
{
    const attention_block *block = call->block;
    if (block->temperature == SV_NO_PARAMETER)
        return;
    real *gradient = call->run->gradients + block->temperature;
    real tau = call->run->weights[block->temperature];
    for (size_t image = 0; image < call->here; image++)
        for (size_t head = 0; head < block->heads; head++) {
            real dscale = call->panel.dscale[image * block->heads + head];
            if (block->per_head)
                gradient[head] += dscale;
            else
                gradient[0] -= dscale / (tau * tau);
        }
}

/* Adds the images' shares in their order. */
static void add_sums(const attention_call *call)
{
    const attention_block *block = call->block;
    const attention_panel *panel = &call->panel;
    const sv_kernels *kernels = call->run->context->kernels;
    real *gradients = call->run->gradients;
    size_t c = block->base.in.channels, images = call->here;
    if (block->qkv_bias != SV_NO_PARAMETER)
        kernels->add_rows(gradients + block->qkv_bias, panel->dqkv_bias, images, 3 * block->inner);
    if (block->proj_bias != SV_NO_PARAMETER)
        kernels->add_rows(gradients + block->proj_bias, panel->dproj_bias, images, c);
    kernels->add_rows(gradients + block->norm_weight, panel->dweight, images, c);
    kernels->add_rows(gradients + block->norm_bias, panel->dbias, images, c);
    add_scale(call);
}

static void run_panel(attention_call *call)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t c = block->base.in.channels, tokens = call->here * call->tokens;
    const real *o = call->saved.o + call->first * call->tokens * block->inner;
    sv_pool_run(run->context->pool, image_task, call, call->here);
    sv_weight_job jobs[] = {
        {run->gradients + block->qkv.weight, call->panel.dqkv, call->panel.xn, 3 * block->inner, c,
         tokens},
        {run->gradients + block->proj.weight, call->panel.dbranch, o, c, block->inner, tokens}};
    sv_weight_gradients(run, jobs, block->identity ? 1 : 2);
    add_sums(call);
}

void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x)
{
    attention_call call = sv_attention_call(layer, run, saved);
    sv_arena arena = {.base = run->shared};
    call.panel = sv_attention_panel(&arena, call.block, run->n);
    call.out = dx;
    call.in = dy;
    call.x = x;
    for (; call.first < run->n; call.first += call.panel_images) {
        call.here = sv_tile_here(run->n, call.first, call.panel_images);
        run_panel(&call);
    }
}
