/* What the files of attention pooling share: the layer and the folding of its query. */
#ifndef SV_ATTENTION_POOL_INTERNAL_H
#define SV_ATTENTION_POOL_INTERNAL_H

#include "layers/create.h"
#include "layers/linear/linear.h"

/* The layer. Offsets are into the flat arrays of the parameter table. */
typedef struct attention_pool {
    sv_layer base;
    sv_linear scores; /* derived: the folded query u [heads, c]; its bias is 0 */
    sv_linear proj;   /* [c, c] */
    size_t heads, head_dim;
    size_t latent, query_weight, query_bias; /* [c], [c, c], [c] */
    size_t key_weight;                       /* [c, c], the first half of kv's weight */
    size_t value_weight, value_bias;         /* [c, c], [c]: the second halves */
    const real *query;                       /* derived: q [c] */
} attention_pool;

/* attention_pool_query.c: of the latent and the weights of query and keys */

/* Elements of u, its bias and q in one array. */
size_t sv_attention_pool_derived_elements(const sv_layer *layer);

/* Lets the layer find them in `memory`. */
void sv_attention_pool_place(sv_layer *layer, const real *memory);

/* Derives them into `memory`. */
void sv_attention_pool_derive(const sv_layer *layer, const sv_run *run, real *memory,
                              char *scratch);

/* Adds to the model's gradients what follows from that of u, du[heads, c]. dq[c] is scratch. */
void sv_attention_pool_query_backward(const attention_pool *layer, const sv_run *run, real *dq,
                                      const real *du);

#endif
