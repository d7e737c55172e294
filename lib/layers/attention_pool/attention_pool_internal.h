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

/* The activations that the backward reads. */
typedef struct pool_saved {
    real *p; /* [n, heads, T] */
    real *z; /* [n, heads, c] */
    real *o; /* [n, c] */
} pool_saved;

/* The workspace of the backward. */
typedef struct pool_gradients {
    real *d_o; /* [n, c] */
    real *dz;  /* [n, heads, c] */
    real *ds;  /* of the scores before the softmax, [n, T, heads] */
    real *du;  /* of the folded query, [heads, c] */
    real *dq;  /* [c] */
} pool_gradients;

/* A worker's scratch. */
typedef struct pool_work {
    real *by_token; /* [T, heads] */
    real *by_head;  /* [heads, T] */
    void *packed;   /* packed B of any matmul of the layer that is not with a packed weight */
} pool_work;

/* attention_pool_memory.c: the layouts of memory, for n images. */
pool_saved sv_attention_pool_saved(sv_arena *arena, const attention_pool *layer, size_t n);
pool_gradients sv_attention_pool_gradients(sv_arena *arena, const attention_pool *layer, size_t n);
pool_work sv_attention_pool_work(sv_arena *arena, const attention_pool *layer, const sv_exec *exec);

/* Packed A of the projection and of its backward. */
void *sv_attention_pool_packed_a(sv_arena *arena, const attention_pool *layer, const sv_exec *exec);

/* Sets *memory to what a pass over up to run->pass.n images needs. */
void sv_attention_pool_plan(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory);

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
