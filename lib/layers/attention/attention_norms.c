/* What an attention block does between its matmuls: layer norms of queries and keys before their
 * rotation, and of the heads' outputs before the projection. Henry et al. 2020 and Dehghani et al.
 * 2023 norm queries and keys; Wang et al. 2022 the outputs. Reference:
 * tests/reference/plain_attention.c. */
#include "layers/attention/attention_internal.h"

#include <string.h>

/* The queries or the keys of one token: rows of `heads` heads, and their moments. */
typedef struct qk_rows {
    size_t at;     /* of the first head in the columns of qkv, and of queries and keys */
    size_t moment; /* index of the first head's moments among the 2 heads of a token */
    sv_norm norm;
    size_t weight_gradient, bias_gradient; /* indices of partial gradients */
} qk_rows;

static void find_rows(qk_rows rows[2], const attention_block *block, size_t first)
{
    const size_t at = first * block->head_dim;
    rows[0] = (qk_rows){at, first, block->query_norm, QUERY_NORM_WEIGHT, QUERY_NORM_BIAS};
    rows[1] = (qk_rows){block->heads_width + at, block->heads + first, block->key_norm,
                        KEY_NORM_WEIGHT, KEY_NORM_BIAS};
}

/* q = norm(q) and k = norm(k), each head's channels by themselves. */
static void normalize_queries_and_keys(const attention_call *call, const attention_work *work,
                                       size_t first, size_t heads)
{
    const attention_block *block = call->block;
    qk_rows rows[2];
    find_rows(rows, block, first);
    for (size_t t = 0; t < call->tokens; t++)
        for (size_t i = 0; i < 2; i++) {
            real *x = work->qkv + t * block->qkv_width + rows[i].at;
            const size_t moment = 2 * t * block->heads + rows[i].moment;
            sv_norm_forward(&rows[i].norm, call->run, x, work->qk_mean + moment,
                            work->qk_rstd + moment, x, heads, block->head_dim, block->eps);
        }
}

void sv_attention_prepare(const attention_call *call, const attention_work *work, size_t first,
                          size_t heads)
{
    if (sv_norm_exists(&call->block->query_norm))
        normalize_queries_and_keys(call, work, first, heads);
    if (call->block->rotary.rows > 0)
        sv_attention_rotate(call, work->qkv, first, heads, false);
}

void sv_attention_prepare_again(const attention_call *call, const attention_work *work)
{
    const attention_block *block = call->block;
    const size_t width = 2 * block->heads_width;
    if (sv_norm_exists(&block->query_norm))
        for (size_t t = 0; t < call->tokens; t++)
            memcpy(work->qk + t * width, work->qkv + t * block->qkv_width, width * sizeof(real));
    sv_attention_prepare(call, work, 0, block->heads);
}

/* Of q = norm(x) and k = norm(x'), whose gradients are in work->dqkv. */
static void queries_and_keys_backward(const attention_call *call, const attention_work *work,
                                      size_t image)
{
    const attention_block *block = call->block;
    const size_t heads = block->heads, d = block->head_dim;
    qk_rows rows[2];
    find_rows(rows, block, 0);
    for (size_t t = 0; t < call->tokens; t++)
        for (size_t i = 0; i < 2; i++) {
            real *dy = work->dqkv + t * block->qkv_width + rows[i].at;
            const real *x = work->qk + 2 * t * block->heads_width + rows[i].at;
            const size_t moment = 2 * t * heads + rows[i].moment;
            const real *mean = work->qk_mean + moment, *rstd = work->qk_rstd + moment;
            if (block->base.trained)
                sv_norm_add_gradients(&rows[i].norm, call->run,
                                      sv_attention_partial(call, rows[i].weight_gradient, image),
                                      sv_attention_partial(call, rows[i].bias_gradient, image), dy,
                                      x, mean, rstd, heads, d);
            sv_norm_backward(&rows[i].norm, call->run, dy, dy, x, mean, rstd, heads, d);
        }
}

void sv_attention_prepare_backward(const attention_call *call, const attention_work *work,
                                   size_t image)
{
    const attention_block *block = call->block;
    if (block->rotary.rows > 0) {
        if (block->rotary.frequencies != SV_NO_PARAMETER && block->base.trained)
            sv_attention_add_frequencies(call, work, image);
        sv_attention_rotate(call, work->dqkv, 0, block->heads, true);
    }
    if (sv_norm_exists(&block->query_norm))
        queries_and_keys_backward(call, work, image);
}

void sv_attention_normalize_output(const attention_call *call, const attention_heads *heads,
                                   size_t row, size_t rows)
{
    const attention_block *block = call->block;
    const size_t groups = block->output_groups, width = block->heads_width;
    real *o = heads->o + row * width;
    sv_norm_forward(&block->output_norm, call->run, o, heads->output_mean + row * groups,
                    heads->output_rstd + row * groups, o, rows * groups, width / groups,
                    block->output_eps);
    if (block->differential)
        call->run->exec.context->kernels->scale(o, block->output_scale, rows * width);
}

void sv_attention_normalize_output_backward(const attention_call *call, const attention_work *work,
                                            size_t image)
{
    const attention_block *block = call->block;
    const sv_norm *norm = &block->output_norm;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const size_t elements = call->tokens * block->heads_width;
    const size_t groups = call->tokens * block->output_groups, c = elements / groups;
    const real *o = call->saved.o + image * elements;
    const real *mean = call->saved.output_mean + image * groups;
    const real *rstd = call->saved.output_rstd + image * groups;
    sv_norm_again(norm, call->run, work->normed_o, o, mean, rstd, groups, c);
    if (block->differential) {
        kernels->scale(work->normed_o, block->output_scale, elements);
        kernels->scale(work->doutput, block->output_scale, elements);
    }
    if (block->base.trained)
        sv_norm_add_gradients(norm, call->run,
                              sv_attention_partial(call, OUTPUT_NORM_WEIGHT, image),
                              sv_attention_partial(call, OUTPUT_NORM_BIAS, image), work->doutput, o,
                              mean, rstd, groups, c);
    sv_norm_backward(norm, call->run, work->doutput, work->doutput, o, mean, rstd, groups, c);
}
