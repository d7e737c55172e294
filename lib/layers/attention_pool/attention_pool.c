/* Attention pooling (Lee et al. 2019; Zhai et al. 2023): a learnt query attends to all T tokens of
 * an image. With p the weights of head h, a sum of which is 1, values are mapped after the sum:
 *   p[h] = softmax over t of u[h] . x[t] / sqrt(head_dim)      u: attention_pool_query.c
 *   z[h] = sum over t of p[h, t] x[t]
 *   o[h] = Wv[h] z[h] + bv[h]                                   [h]: the rows of head h
 *   y    = Wo o + bo
 * That takes 2 T c heads multiply-adds for keys and values in place of 2 T c c. Tasks are images,
 * and for the values heads. Reference: tests/reference/plain_pool.c. */
#include "layers/attention_pool/attention_pool_internal.h"

#include <math.h>
#include <string.h>

/* One pass. In the backward `in` is dy and `out` is dx, which is NULL if nobody needs it. */
typedef struct pool_call {
    const attention_pool *layer;
    const sv_run *run;
    pool_saved saved;
    pool_gradients gradients;
    real *out;
    const real *in, *x;
    size_t tokens, c, heads, head_dim;
} pool_call;

static pool_call make_call(const sv_layer *layer, const sv_run *run, void *saved, sv_arena *rest)
{
    const attention_pool *pool = (const attention_pool *)layer;
    sv_arena arena = {.base = saved};
    return (pool_call){.layer = pool,
                       .run = run,
                       .saved = sv_attention_pool_saved(saved ? &arena : rest, pool, run->pass.n),
                       .tokens = sv_shape_tokens(layer->in),
                       .c = layer->in.channels,
                       .heads = pool->heads,
                       .head_dim = pool->head_dim};
}

static pool_work worker_work(const pool_call *call, uint32_t worker)
{
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    return sv_attention_pool_work(&arena, call->layer, &call->run->exec);
}

/* The softmax of the scores of one image, a row for each head. */
static sv_attention_rows softmax_rows(const pool_call *call)
{
    return (sv_attention_rows){.rows = call->heads,
                               .columns = call->tokens,
                               .scale = 1 / (real)sqrt((double)call->head_dim),
                               .keep = 1};
}

/* c[m, n] = a[m, k] b[k, n] of activations, or += */
static void multiply(const pool_call *call, const pool_work *work, sv_gemm_c c, sv_gemm_a a,
                     sv_gemm_b b, size_t m)
{
    sv_gemm_b packed = {.packed = work->packed};
    sv_pack_b(&call->run->exec, &packed, b.b, b.row_stride, b.column_stride, b.k, b.n);
    sv_matmul(&call->run->exec, &c, &a, &packed, m);
}

/* Forward */

/* p and z of one image. */
static void pool_task(void *argument, size_t image, uint32_t worker)
{
    const pool_call *call = argument;
    const size_t tokens = call->tokens, c = call->c, heads = call->heads;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const sv_attention_rows rows = softmax_rows(call);
    const pool_work work = worker_work(call, worker);
    const real *x = call->x + image * tokens * c;
    real *p = call->saved.p + image * heads * tokens;
    sv_linear_forward(&call->layer->scores, call->run, work.by_token, x, tokens, NULL);
    kernels->transpose(p, work.by_token, tokens, heads);
    kernels->attention_softmax(p, p, p, &rows);
    multiply(call, &work, (sv_gemm_c){.c = call->saved.z + image * heads * c, .ldc = c},
             (sv_gemm_a){p, tokens, 1, NULL},
             (sv_gemm_b){.b = x, .k = tokens, .n = c, .row_stride = c, .column_stride = 1}, heads);
}

/* The rows of head `head` of the weight of the values. */
static const real *value_weight(const pool_call *call, size_t head)
{
    return call->run->weights + call->layer->value_weight + head * call->head_dim * call->c;
}

/* o[h] = Wv[h] z[h] + bv[h], for all images. */
static void values_task(void *argument, size_t head, uint32_t worker)
{
    const pool_call *call = argument;
    const size_t c = call->c, d = call->head_dim;
    const pool_work work = worker_work(call, worker);
    multiply(
        call, &work,
        (sv_gemm_c){.c = call->saved.o + head * d,
                    .ldc = c,
                    .bias = call->run->weights + call->layer->value_bias + head * d},
        (sv_gemm_a){call->saved.z + head * c, call->heads * c, 1, NULL},
        (sv_gemm_b){
            .b = value_weight(call, head), .k = c, .n = d, .row_stride = 1, .column_stride = c},
        call->run->pass.n);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    sv_arena workspace = {.base = run->exec.workspace};
    const attention_pool *pool = (const attention_pool *)layer;
    void *packed_a = sv_attention_pool_packed_a(&workspace, pool, &run->exec);
    pool_call call = make_call(layer, run, saved, &workspace);
    call.x = x;
    sv_run_tasks(&run->exec, pool_task, &call, run->pass.n);
    sv_run_tasks(&run->exec, values_task, &call, call.heads);
    sv_linear_forward_parallel(&pool->proj, run, y, call.saved.o, run->pass.n, packed_a);
}

/* Backward */

/* Of o[h] = Wv[h] z[h] + bv[h]:  dz[h] = Wv[h]^T do[h];  dWv[h] += the sum over the images of
 * do[h] z[h]^T */
static void values_backward_task(void *argument, size_t head, uint32_t worker)
{
    const pool_call *call = argument;
    const sv_exec *exec = &call->run->exec;
    const size_t c = call->c, d = call->head_dim, row = call->heads * c;
    const pool_work work = worker_work(call, worker);
    const real *d_o = call->gradients.d_o + head * d;
    multiply(
        call, &work, (sv_gemm_c){.c = call->gradients.dz + head * c, .ldc = row},
        (sv_gemm_a){d_o, c, 1, NULL},
        (sv_gemm_b){
            .b = value_weight(call, head), .k = d, .n = c, .row_stride = c, .column_stride = 1},
        call->run->pass.n);
    real *dweight = sv_gradient(call->run, call->layer->value_weight + head * d * c);
    if (dweight)
        sv_gemm_weight_gradient(exec->gemm, exec->context->kernels, dweight, c, d_o, c,
                                call->saved.z + head * c, row, d, c, call->run->pass.n,
                                sv_worker_scratch(exec, worker));
}

/* Of z[h] = sum over t of p[h, t] x[t] and of the softmax, for one image:
 *   dp[h, t] = dz[h] . x[t];  ds = softmax'(dp)
 *   dx[t] = sum over h of p[h, t] dz[h] + ds[h, t] u[h] */
static void pool_backward_task(void *argument, size_t image, uint32_t worker)
{
    const pool_call *call = argument;
    const size_t tokens = call->tokens, c = call->c, heads = call->heads;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const sv_attention_rows rows = softmax_rows(call);
    const pool_work work = worker_work(call, worker);
    const real *x = call->x + image * tokens * c, *p = call->saved.p + image * heads * tokens;
    const real *dz = call->gradients.dz + image * heads * c;
    real *ds = call->gradients.ds + image * tokens * heads;
    multiply(call, &work, (sv_gemm_c){.c = work.by_token, .ldc = heads}, (sv_gemm_a){x, c, 1, NULL},
             (sv_gemm_b){.b = dz, .k = c, .n = heads, .row_stride = 1, .column_stride = c}, tokens);
    kernels->transpose(work.by_head, work.by_token, tokens, heads);
    kernels->attention_softmax_backward(work.by_head, p, p, work.by_head, NULL, &rows);
    kernels->transpose(ds, work.by_head, heads, tokens);
    if (!call->out)
        return;
    real *dx = call->out + image * tokens * c;
    sv_linear_backward(&call->layer->scores, call->run, dx, ds, tokens, NULL);
    multiply(call, &work, (sv_gemm_c){.c = dx, .ldc = c, .accumulate = 1},
             (sv_gemm_a){p, 1, tokens, NULL},
             (sv_gemm_b){.b = dz, .k = heads, .n = c, .row_stride = c, .column_stride = 1}, tokens);
}

/* Of u[h] . x[t] and y = Wo o + bo, sums over all images:  du[h] = ds[h, t] x[t];  dWo += dy o^T */
static void add_gradients(const pool_call *call)
{
    const attention_pool *layer = call->layer;
    const sv_run *run = call->run;
    const size_t n = run->pass.n, c = call->c, heads = call->heads;
    const pool_gradients *gradients = &call->gradients;
    const sv_weight_gradient_job jobs[2] = {
        {gradients->du, gradients->ds, call->x, heads, c, n * call->tokens},
        {sv_gradient(run, layer->proj.weight), call->in, call->saved.o, c, c, n}};
    memset(gradients->du, 0, heads * c * sizeof(real));
    sv_weight_gradients(run, jobs, 2);
    sv_add_rows_to_gradient(run, layer->proj.bias, call->in, n, c);
    sv_add_rows_to_gradient(run, layer->value_bias, gradients->d_o, n, c);
    sv_attention_pool_query_backward(layer, run, gradients->dq, gradients->du);
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    sv_arena workspace = {.base = run->exec.workspace};
    const attention_pool *pool = (const attention_pool *)layer;
    void *packed_a = sv_attention_pool_packed_a(&workspace, pool, &run->exec);
    pool_call call = make_call(layer, run, saved, &workspace);
    call.gradients = sv_attention_pool_gradients(&workspace, pool, run->pass.n);
    call.out = dx;
    call.in = dy;
    call.x = x;
    sv_linear_backward_parallel(&pool->proj, run, call.gradients.d_o, dy, run->pass.n, packed_a);
    sv_run_tasks(&run->exec, values_backward_task, &call, call.heads);
    sv_run_tasks(&run->exec, pool_backward_task, &call, run->pass.n);
    if (layer->trained)
        add_gradients(&call);
}

static const sv_layer_ops ATTENTION_POOL_OPS = {.name = "attention pooling",
                                                .keeps_input = true,
                                                .derived_elements =
                                                    sv_attention_pool_derived_elements,
                                                .place_derived = sv_attention_pool_place,
                                                .derive_weights = sv_attention_pool_derive,
                                                .plan_workspace = sv_attention_pool_plan,
                                                .forward = forward,
                                                .backward = backward};

sv_layer *sv_attention_pool_create(const sv_layer_source *source,
                                   const sv_attention_pool_options *options)
{
    attention_pool *layer = sv_layer_new(source, sizeof *layer, &ATTENTION_POOL_OPS);
    if (!layer)
        return NULL;
    sv_layer *base = &layer->base;
    const size_t c = options->in.channels, tokens = sv_shape_tokens(options->in);
    base->in = options->in;
    base->out = (sv_shape){1, 1, c};
    layer->heads = options->heads;
    layer->head_dim = c / options->heads;
    sv_linear_init_derived(&layer->scores, base, layer->heads, c);
    sv_layer_linear(base, &layer->proj, source, options->proj, c, c);
    layer->latent = sv_layer_parameter(base, source, options->latent, "");
    layer->query_weight = sv_layer_parameter(base, source, options->query, ".weight");
    layer->query_bias = sv_layer_parameter(base, source, options->query, ".bias");
    layer->key_weight = sv_layer_parameter(base, source, options->key_value, ".weight");
    layer->value_weight = layer->key_weight + c * c;
    layer->value_bias = sv_layer_parameter(base, source, options->key_value, ".bias") + c;
    /* u[h] . x[t] and z. The weights of query and keys are multiplied once for all images. */
    base->activation_multiply_adds =
        sv_count_times(sv_count_times(2 * (uint64_t)c, tokens), layer->heads);
    base->shared_multiply_adds = sv_count_times(2 * (uint64_t)c, c);
    return base;
}
