/* Differential attention (Ye et al. 2024): a head has two maps of attention weights, each from half
 * of the channels of its queries and keys, and its values are weighted by their difference.
 *   p_m = dropout(softmax(scale q_m k_m^T)),  m = 1, 2
 *   o   = (p_1 - lambda p_2) v
 *   lambda = exp(q1 . k1) - exp(q2 . k2) + lambda_init    of four parameters
 * A root-mean-square norm of each head's o, times 1 - lambda_init, follows (attention_norms.c).
 * General path: attention_block.c. Reference: tests/reference/plain_differential.c. */
#include "layers/attention/attention_internal.h"
#include "layers/dropout_bits.h"

#include <math.h>
#include <string.h>

/* exp(q . k) of vector pair 0 or 1. */
static double exponential(const attention_block *block, const real *weights, size_t pair)
{
    const real *q = weights + block->lambda[2 * pair], *k = weights + block->lambda[2 * pair + 1];
    double sum = 0;
    for (size_t i = 0; i < block->map_dim; i++)
        sum += (double)q[i] * (double)k[i];
    return exp(sum);
}

real sv_attention_lambda(const attention_block *block, const real *weights)
{
    return (real)(exponential(block, weights, 0) - exponential(block, weights, 1) +
                  block->lambda_init);
}

void sv_attention_add_lambda(const attention_call *call, size_t chunks)
{
    const attention_block *block = call->block;
    const real *weights = call->run->weights, *dlambdas = call->partial[SCORE_SCALE].sums;
    double dlambda = 0;
    for (size_t i = 0; i < chunks * block->heads; i++)
        dlambda += (double)dlambdas[i];
    for (size_t pair = 0; pair < 2; pair++) {
        const double d = (pair == 0 ? dlambda : -dlambda) * exponential(block, weights, pair);
        const size_t q = block->lambda[2 * pair], k = block->lambda[2 * pair + 1];
        real *dq = sv_gradient(call->run, q), *dk = sv_gradient(call->run, k);
        for (size_t i = 0; dq && i < block->map_dim; i++)
            dq[i] += (real)(d * (double)weights[k + i]);
        for (size_t i = 0; dk && i < block->map_dim; i++)
            dk[i] += (real)(d * (double)weights[q + i]);
    }
}

/* The rows of scores of map `map` of the image, from query `first` on. */
static sv_attention_rows multiply_queries(const attention_call *call, const attention_work *work,
                                          const attention_heads *heads, real *scores, size_t image,
                                          size_t map, size_t first)
{
    const attention_block *block = call->block;
    const size_t row = block->qkv_width;
    const sv_attention_rows rows = sv_attention_rows_of(call, heads, image, map, first);
    const sv_gemm_a queries = {work->qkv + first * row + map * block->map_dim, row, 1, NULL};
    const sv_gemm_c c = {scores, call->tokens, 0, NULL, NULL};
    sv_matmul(&call->run->exec, &c, &queries, &work->map_keys_t[map % 2], rows.rows);
    return rows;
}

static const real *keys_of(const attention_block *block, const real *qkv, size_t map)
{
    return qkv + block->heads_width + map * block->map_dim;
}

/* Forward */

/* A block of queries of one head. */
static void attend(const attention_call *call, const attention_work *work,
                   const attention_heads *heads, size_t image, size_t head, size_t first)
{
    const attention_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    real *const p[2] = {work->scores, work->difference};
    size_t count = 0;
    for (size_t m = 0; m < 2; m++) {
        const sv_attention_rows rows =
            multiply_queries(call, work, heads, p[m], image, 2 * head + m, first);
        kernels->attention_softmax(p[m], p[m], p[m], &rows);
        count = rows.rows;
    }
    kernels->subtract_scaled(p[0], p[1], call->lambda, count * call->tokens);
    sv_attention_report(call, p[0], image, head, first, count);
    const sv_gemm_c output = {heads->o + first * block->heads_width + head * block->head_width,
                              block->heads_width, 0, NULL, NULL};
    const sv_gemm_a weights = {p[0], call->tokens, 1, NULL};
    sv_matmul(&call->run->exec, &output, &weights, &work->values, count);
}

void sv_attention_differential_head(const attention_call *call, attention_work *work,
                                    const attention_heads *heads, size_t image, size_t head)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    const size_t tokens = call->tokens, w = block->head_width, row = block->qkv_width;
    for (size_t map = 2 * head; map < 2 * head + 2; map++) {
        uint32_t *mask = sv_attention_mask(call, image, map);
        sv_pack_b(&run->exec, &work->map_keys_t[map % 2], keys_of(block, work->qkv, map), 1, row,
                  block->map_dim, tokens);
        if (mask)
            sv_dropout_mask(run, block->base.number, 0, block->dropout_threshold, mask,
                            (image * block->maps + map) * call->mask_blocks, call->mask_blocks,
                            tokens);
    }
    sv_pack_b(&run->exec, &work->values, work->qkv + row - block->heads_width + head * w, row, 1,
              tokens, w);
    for (size_t first = 0; first < tokens; first += call->queries)
        attend(call, work, heads, image, head, first);
}

/* Backward */

/* A block of queries of one map, whose gradient is `sign` times work->dp. Recomputes the map as
 * work->dropped or, without dropout, work->p, and returns that:
 *   ds = scale p (keep sign dp - sum(keep sign dp p));  dq = ds k;  dk += ds^T q */
static const real *map_backward(const attention_call *call, attention_work *work,
                                const attention_heads *heads, size_t image, size_t map,
                                size_t first, real sign)
{
    const attention_block *block = call->block;
    const sv_exec *exec = &call->run->exec;
    const sv_kernels *kernels = exec->context->kernels;
    const size_t tokens = call->tokens, d = block->map_dim, row = block->qkv_width;
    real *ds = work->scores, *dqkv = work->dqkv + map * d;
    sv_attention_rows rows = multiply_queries(call, work, heads, ds, image, map, first);
    real *dropped = rows.mask ? work->dropped : work->p;
    kernels->attention_softmax_recompute(work->p, dropped, ds, &rows);
    rows.scale *= sign;
    kernels->attention_softmax_backward(ds, work->p, dropped, work->dp, NULL, &rows);
    const sv_gemm_c dq = {dqkv + first * row, row, 0, NULL, NULL};
    const sv_gemm_c dk = {dqkv + block->heads_width, row, first > 0, NULL, NULL};
    const sv_gemm_a ds_rows = {ds, tokens, 1, NULL}, ds_t = {ds, 1, tokens, NULL};
    sv_matmul(exec, &dq, &ds_rows, &work->map_keys[map % 2], rows.rows);
    sv_pack_b(exec, &work->queries, work->qkv + first * row + map * d, row, 1, rows.rows, d);
    sv_matmul(exec, &dk, &ds_t, &work->queries, tokens);
    return dropped;
}

/* A block of queries of one head. With p = p_1 - lambda p_2 it is
 *   dp = doutput v^T;  dv += p^T doutput;  dlambda = -sum(dp p_2)
 * Returns dlambda. */
static real attend_backward(const attention_call *call, attention_work *work,
                            const attention_heads *heads, size_t image, size_t head, size_t first)
{
    const attention_block *block = call->block;
    const sv_exec *exec = &call->run->exec;
    const sv_kernels *kernels = exec->context->kernels;
    const size_t tokens = call->tokens, width = block->heads_width, row = block->qkv_width;
    const size_t at = head * block->head_width;
    const size_t count = sv_block_length(tokens, first, call->queries);
    const real *doutput = work->doutput + first * width + at;
    const sv_gemm_a doutput_rows = {doutput, width, 1, NULL},
                    p_t = {work->difference, 1, tokens, NULL};
    const sv_gemm_c dp = {work->dp, tokens, 0, NULL, NULL},
                    dv = {work->dqkv + row - width + at, row, first > 0, NULL, NULL};
    sv_matmul(exec, &dp, &doutput_rows, &work->values_t, count);
    const real *p = map_backward(call, work, heads, image, 2 * head, first, 1);
    memcpy(work->difference, p, count * tokens * sizeof(real));
    p = map_backward(call, work, heads, image, 2 * head + 1, first, -call->lambda);
    kernels->subtract_scaled(work->difference, p, call->lambda, count * tokens);
    sv_pack_b(exec, &work->doutputs, doutput, width, 1, count, block->head_width);
    sv_matmul(exec, &dv, &p_t, &work->doutputs, tokens);
    real dlambda;
    kernels->dots(&dlambda, p, work->dp, 1, count * tokens);
    return -dlambda;
}

real sv_attention_differential_head_backward(const attention_call *call, attention_work *work,
                                             size_t image, size_t head)
{
    const attention_block *block = call->block;
    const sv_exec *exec = &call->run->exec;
    const attention_heads heads = sv_attention_heads(call, work, image);
    const size_t tokens = call->tokens, w = block->head_width, row = block->qkv_width;
    real dlambda = 0;
    for (size_t map = 2 * head; map < 2 * head + 2; map++) {
        const real *keys = keys_of(block, work->qkv, map);
        sv_pack_b(exec, &work->map_keys_t[map % 2], keys, 1, row, block->map_dim, tokens);
        sv_pack_b(exec, &work->map_keys[map % 2], keys, row, 1, tokens, block->map_dim);
    }
    sv_pack_b(exec, &work->values_t, work->qkv + row - block->heads_width + head * w, 1, row, w,
              tokens);
    for (size_t first = 0; first < tokens; first += call->queries)
        dlambda += attend_backward(call, work, &heads, image, head, first);
    return dlambda;
}
