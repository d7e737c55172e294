/* The folded query of attention pooling. The query is the same for all images, so a head's scores
 * are a linear map of the tokens:
 *   q = Wq latent + bq;  u[h] = Wk[h]^T q[h];  q[h] . (Wk[h] x + bk[h]) = u[h] . x + a constant
 * where [h] are the rows of head h. The constant, and with it the bias of the keys, has no effect
 * on the softmax. u and q are derived weights. */
#include "layers/attention_pool/attention_pool_internal.h"

#include <string.h>

size_t sv_attention_pool_derived_elements(const sv_layer *layer)
{
    const attention_pool *pool = (const attention_pool *)layer;
    return pool->heads * (layer->in.channels + 1) + layer->in.channels;
}

void sv_attention_pool_place(sv_layer *layer, const real *memory)
{
    attention_pool *pool = (attention_pool *)layer;
    sv_linear_place_derived(&pool->scores, memory);
    pool->query = memory + pool->heads * (layer->in.channels + 1);
}

/* y += factor * x, unless y is NULL. */
static void add_scaled(real *y, const real *x, real factor, size_t elements)
{
    for (size_t i = 0; y && i < elements; i++)
        y[i] += factor * x[i];
}

static real dot(const real *a, const real *b, size_t elements)
{
    real sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += a[i] * b[i];
    return sum;
}

void sv_attention_pool_derive(const sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    (void)scratch;
    const attention_pool *pool = (const attention_pool *)layer;
    const size_t c = layer->in.channels, d = pool->head_dim;
    const real *weights = run->weights;
    real *u = memory, *query = memory + pool->heads * (c + 1);
    memset(memory, 0, pool->heads * (c + 1) * sizeof *memory);
    for (size_t j = 0; j < c; j++) {
        query[j] = dot(weights + pool->query_weight + j * c, weights + pool->latent, c) +
                   weights[pool->query_bias + j];
        add_scaled(u + j / d * c, weights + pool->key_weight + j * c, query[j], c);
    }
    if (run->exec.on_packed)
        run->exec.on_packed(run->exec.packed_argument, pool->query_weight);
}

typedef struct query_call {
    const attention_pool *layer;
    const sv_run *run;
    real *dq;
    const real *du;
} query_call;

/* Of u[h] = Wk[h]^T q[h]:  dq[h] = Wk[h] du[h];  dWk[h] += q[h] du[h]^T */
static void keys_task(void *argument, size_t head, uint32_t worker)
{
    (void)worker;
    const query_call *call = argument;
    const attention_pool *pool = call->layer;
    const size_t c = pool->base.in.channels, d = pool->head_dim;
    const real *du = call->du + head * c;
    for (size_t j = head * d; j < (head + 1) * d; j++) {
        call->dq[j] = dot(call->run->weights + pool->key_weight + j * c, du, c);
        add_scaled(sv_gradient(call->run, pool->key_weight + j * c), du, pool->query[j], c);
    }
}

/* Of q = Wq latent + bq:  dWq += dq latent^T;  dbq += dq;  dlatent += Wq^T dq */
void sv_attention_pool_query_backward(const attention_pool *layer, const sv_run *run, real *dq,
                                      const real *du)
{
    const size_t c = layer->base.in.channels;
    query_call call = {layer, run, dq, du};
    sv_run_tasks(&run->exec, keys_task, &call, layer->heads);
    for (size_t j = 0; j < c; j++) {
        add_scaled(sv_gradient(run, layer->query_weight + j * c), run->weights + layer->latent,
                   dq[j], c);
        add_scaled(sv_gradient(run, layer->latent), run->weights + layer->query_weight + j * c,
                   dq[j], c);
    }
    sv_add_to_gradient(run, layer->query_bias, dq, c);
}
