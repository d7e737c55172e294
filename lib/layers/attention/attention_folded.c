/* The folded form of attention: one weight for queries and keys (QK), one for values and projection
 * (VO). For a head with Q, K, V [d, c], biases a, b, v and its columns P [c, d] of the projection,
 * and normalised tokens x_i:
 *
 *     (Q x_i + a) . (K x_j + b) = (K^T Q x_i + K^T a) . x_j + terms that are the same for all j
 *     P (V x_j + v)             = P V x_j + P v
 *
 * The softmax over j ignores terms that are the same for all j, so the keys' bias has no effect and
 * no gradient. K^T Q and P V [c, c] therefore yield queries and values, the tokens are the keys,
 * and a head's weighted values are its contribution to the branch. For c small beside d that is
 * less arithmetic and fewer activations. Derivation: docs/derivations/attention.md. The folded
 * block is compared with tests/reference/plain_attention.c, which does not fold. */
#include "layers/attention/attention_internal.h"
#include "layers/linear/small_matmul.h"

#include <string.h>

/* Multiply-adds per head and token: 4 d c for the weights and 2 d T for scores and values against
 * 2 c c and 2 c T. */
bool sv_attention_is_folded(const attention_block *block)
{
    const uint64_t c = block->base.in.channels, d = block->head_dim,
                   tokens = sv_shape_tokens(block->base.in);
    return !block->identity && !sv_layer_scale_exists(&block->scale) &&
           c * (c + tokens) < d * (2 * c + tokens);
}

/* One head's weights and biases in the model; without biases q_bias and v_bias are NULL. */
typedef struct head_weights {
    const real *q, *k, *v; /* [d, c] */
    const real *p;         /* [c, d] in rows of `inner` */
    const real *q_bias, *v_bias;
    size_t inner; /* heads * d */
} head_weights;

static head_weights weights_of(const attention_block *block, const sv_run *run, size_t head)
{
    size_t c = block->base.in.channels, d = block->head_dim, inner = block->heads * d;
    const real *q = run->weights + block->weight + head * d * c;
    const real *bias =
        block->bias == SV_NO_PARAMETER ? NULL : run->weights + block->bias + head * d;
    return (head_weights){.q = q,
                          .k = q + inner * c,
                          .v = q + 2 * inner * c,
                          .p = run->weights + block->proj.weight + head * d,
                          .q_bias = bias,
                          .v_bias = bias ? bias + 2 * inner : NULL,
                          .inner = inner};
}

size_t sv_attention_derive_bytes(const attention_block *block, const sv_run *run)
{
    size_t c = block->base.in.channels, widest = sv_size_max(block->head_dim, c);
    return sv_small_matmul_bytes(&run->exec, widest, widest);
}

/* Elements of the derived weight [qkv_width, c] and its bias [qkv_width]; 0 if not folded. */
size_t sv_attention_derived_elements(const sv_layer *layer)
{
    const attention_block *block = (const attention_block *)layer;
    return block->folded ? block->qkv_width * (block->base.in.channels + 1) : 0;
}

/* One head of w[2, heads, c, c] and bias[2, heads, c]:
 *   w[0] = K^T Q;  w[1] = P V;  bias[0] = K^T a;  bias[1] = P v */
static void derive_head(const attention_block *block, const sv_run *run, size_t head, real *w,
                        real *bias, void *scratch)
{
    size_t c = block->base.in.channels, d = block->head_dim, inner = block->heads_width;
    head_weights of = weights_of(block, run, head);
    real *queries = w + head * c * c, *values = queries + inner * c;
    real *query_bias = bias + head * c, *value_bias = query_bias + inner;
    sv_matrix q = {of.q, c, 1}, k = {of.k, c, 1}, k_t = {of.k, 1, c}, v = {of.v, c, 1};
    sv_matrix p = {of.p, of.inner, 1}, p_t = {of.p, 1, of.inner};
    sv_add_matmul(&run->exec, &(sv_small_matmul){queries, c, k_t, q, c, d, c}, scratch);
    sv_add_matmul(&run->exec, &(sv_small_matmul){values, c, p, v, c, d, c}, scratch);
    if (!of.q_bias)
        return;
    sv_matrix a = {of.q_bias, d, 1}, v_bias = {of.v_bias, d, 1};
    sv_add_matmul(&run->exec, &(sv_small_matmul){query_bias, c, a, k, 1, d, c}, scratch);
    sv_add_matmul(&run->exec, &(sv_small_matmul){value_bias, c, v_bias, p_t, 1, d, c}, scratch);
}

void sv_attention_derive_weights(const sv_layer *layer, const sv_run *run, real *memory,
                                 char *scratch)
{
    const attention_block *block = (const attention_block *)layer;
    real *bias = memory + block->qkv_width * block->base.in.channels;
    memset(memory, 0, sv_attention_derived_elements(layer) * sizeof(real));
    for (size_t head = 0; head < block->heads; head++)
        derive_head(block, run, head, memory, bias, scratch);
    if (run->exec.on_packed) {
        run->exec.on_packed(run->exec.packed_argument, block->weight);
        run->exec.on_packed(run->exec.packed_argument, block->proj.weight);
    }
}

typedef struct gradient_call {
    const attention_block *block;
    const sv_run *run;
    const real *dw, *dbias;
} gradient_call;

/* Adds a product to a gradient, if there is one. */
static void add_product(const sv_run *run, const sv_small_matmul *product, void *scratch)
{
    if (product->c)
        sv_add_matmul(&run->exec, product, scratch);
}

/* Adds the gradients of the model's weights, given the gradient dw of a head's folded ones.
 * From w[0] = K^T Q:  dQ += K dw[0];    dK += Q dw[0]^T.
 * From w[1] = P V:    dV += P^T dw[1];  dP += dw[1] V^T. */
static void add_weights(const gradient_call *call, size_t head, void *scratch)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t c = block->base.in.channels, d = block->head_dim;
    head_weights of = weights_of(block, run, head);
    const real *dqueries = call->dw + head * c * c, *dvalues = dqueries + block->heads_width * c;
    const size_t weight = block->weight + head * d * c, part = of.inner * c;
    real *dq = sv_gradient(run, weight), *dk = sv_gradient(run, weight + part);
    real *dv = sv_gradient(run, weight + 2 * part);
    real *dp = sv_gradient(run, block->proj.weight + head * d);
    sv_matrix q = {of.q, c, 1}, k = {of.k, c, 1}, v_t = {of.v, 1, c}, p_t = {of.p, 1, of.inner};
    sv_matrix dw_q = {dqueries, c, 1}, dw_q_t = {dqueries, 1, c}, dw_v = {dvalues, c, 1};
    add_product(run, &(sv_small_matmul){dq, c, k, dw_q, d, c, c}, scratch);
    add_product(run, &(sv_small_matmul){dk, c, q, dw_q_t, d, c, c}, scratch);
    add_product(run, &(sv_small_matmul){dv, c, p_t, dw_v, d, c, c}, scratch);
    add_product(run, &(sv_small_matmul){dp, of.inner, dw_v, v_t, c, c, d}, scratch);
}

/* Of bias[0] = K^T a:  da += K dbias[0];  dK += a dbias[0]^T.
 * Of bias[1] = P v:    dv += P^T dbias[1];  dP += dbias[1] v^T. */
static void add_biases(const gradient_call *call, size_t head, void *scratch)
{
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t c = block->base.in.channels, d = block->head_dim;
    head_weights of = weights_of(block, run, head);
    const real *dquery_bias = call->dbias + head * c,
               *dvalue_bias = dquery_bias + block->heads_width;
    const size_t bias = block->bias + head * d;
    real *da = sv_gradient(run, bias), *dv = sv_gradient(run, bias + 2 * of.inner);
    real *dk = sv_gradient(run, block->weight + (of.inner + head * d) * c);
    real *dp = sv_gradient(run, block->proj.weight + head * d);
    sv_matrix k_t = {of.k, 1, c}, p = {of.p, of.inner, 1};
    sv_matrix a = {of.q_bias, 1, 1}, v = {of.v_bias, d, 1};
    sv_matrix da_row = {dquery_bias, c, 1}, dv_row = {dvalue_bias, c, 1},
              dv_column = {dvalue_bias, 1, 1};
    add_product(run, &(sv_small_matmul){da, d, da_row, k_t, 1, c, d}, scratch);
    add_product(run, &(sv_small_matmul){dk, c, a, da_row, d, 1, c}, scratch);
    add_product(run, &(sv_small_matmul){dv, d, dv_row, p, 1, c, d}, scratch);
    add_product(run, &(sv_small_matmul){dp, of.inner, dv_column, v, c, 1, d}, scratch);
}

static void gradient_task(void *argument, size_t head, uint32_t worker)
{
    const gradient_call *call = argument;
    char *scratch = sv_worker_scratch(&call->run->exec, worker);
    add_weights(call, head, scratch);
    if (call->block->bias != SV_NO_PARAMETER)
        add_biases(call, head, scratch);
}

void sv_attention_add_derived_gradients(const attention_block *block, const sv_run *run,
                                        const real *dw, const real *dbias)
{
    gradient_call call = {block, run, dw, dbias};
    sv_run_tasks(&run->exec, gradient_task, &call, block->heads);
}
