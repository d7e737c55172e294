/* The inside of the attention block: its memory, shared by its forward and its backward. */
#ifndef SV_ATTENTION_H
#define SV_ATTENTION_H

#include "layers/create.h"
#include "layers/partial_gradients.h"

/* What a head's products are made of. In the merged form (attention_folded.c) they are as wide as a
 * token: the normalised tokens themselves are the keys, of all heads, and a head's values are its
 * share of the branch. */
typedef struct attention_block {
    sv_layer base;
    size_t heads, head_dim;
    int merged;
    size_t width, inner;           /* of a query and a value; inner = heads * width */
    size_t row;                    /* of all that qkv makes of a token: 3 inner, merged 2 inner */
    sv_linear qkv;                 /* queries, keys and values; merged: queries and values */
    sv_linear proj;                /* merged: multiplies nothing, but names weight and bias */
    size_t weight, bias;           /* offsets: of queries, keys and values in the model */
    int identity;                  /* no projection: inner is the channels */
    size_t norm_weight, norm_bias; /* offsets */
    size_t temperature;            /* offset; SV_NO_PARAMETER: 1 / sqrt(d) */
    int per_head;                  /* a factor for each head; else one divisor */
    int masked;                    /* a token does not see itself */
    real eps;
    double drop_path;
    uint32_t threshold; /* of the attention weights' dropout; 0: none */
    real scale;         /* of what dropout keeps */
} attention_block;

/* What stays from forward to backward; queries, keys and values are made once more. */
typedef struct attention_saved {
    real *mean, *rstd;  /* [tokens] */
    real *o;            /* [tokens, inner]: the heads' outputs; merged: NULL, nothing needs them */
    real *most, *share; /* [n, heads, T]: of the softmax (sv_attention_rows) */
    uint32_t *mask;     /* [n * heads * blocks, T] bits of 32 queries, NULL without dropout */
    real *path;         /* [n], NULL without DropPath */
} attention_saved;

/* Gradients that are sums over images. */
enum {
    SHARE_QKV_WEIGHT,
    SHARE_PROJ_WEIGHT,
    SHARE_QKV_BIAS,
    SHARE_PROJ_BIAS,
    SHARE_NORM_WEIGHT,
    SHARE_NORM_BIAS,
    SHARE_SCALE, /* of each head's scores */
    ATTENTION_SHARES
};

/* What the heads of an image leave. */
typedef struct attention_heads {
    real *o;            /* [T, inner] */
    real *most, *share; /* [heads, T] */
} attention_heads;

/* A worker's scratch, for one image; w is the block's width. Scores are made for so many queries at
 * a time that they stay in cache: memory is linear in the tokens. */
typedef struct attention_work {
    real *xn, *qkv;        /* [T, c], [T, row] */
    attention_heads heads; /* of the forward; most and share where they are summed in inference */
    real *dbranch, *dxn;   /* [T, c] */
    real *dkeys;           /* [T, c]: merged, of the tokens as keys */
    real *doutput, *dqkv;  /* [T, inner], merged: dbranch; [T, row] */
    real *scores, *p, *kept, *dp; /* [queries, T] */
    sv_gemm_b keys_t, values_t;   /* [w, T] */
    sv_gemm_b keys, values;       /* [T, w] */
    sv_gemm_b queries, doutputs;  /* [queries, w]; doutputs merged: of every block of queries */
    size_t doutputs_bytes;        /* of one block's */
    void *left;                   /* what is made of xn, in inference */
    void *weight_scratch;         /* of a weight gradient */
} attention_work;

typedef struct attention_call {
    const attention_block *block;
    const sv_run *run;
    attention_saved saved;
    sv_partial_gradient shares[ATTENTION_SHARES];
    real *out;
    const real *in, *x;
    size_t tokens;       /* of an image */
    size_t queries;      /* of one block of scores */
    size_t mask_blocks;  /* of 32 queries, of one head */
    size_t group_images; /* of one group */
} attention_call;

attention_saved sv_attention_saved(sv_arena *arena, const attention_block *block, size_t n);
void sv_attention_partial_gradients(sv_partial_gradient list[ATTENTION_SHARES], sv_arena *arena,
                                    const attention_block *block, size_t groups);
attention_work sv_attention_work(sv_arena *arena, const attention_block *block, const sv_run *run);

/* sv_layer_ops.plan_workspace. */
void sv_attention_plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory);

attention_call sv_attention_call(const sv_layer *layer, const sv_run *run, void *saved);

/* A block of scores of one head of an image, from query `first`. */
sv_attention_rows sv_attention_rows_of(const attention_call *call, const attention_heads *heads,
                                       size_t image, size_t head, size_t first);

/* Where the heads of an image write: to what is kept, or to a worker's scratch. */
attention_heads sv_attention_heads(const attention_call *call, const attention_work *work,
                                   size_t image);

/* The first mask word of an image's head; NULL without dropout. */
uint32_t *sv_attention_mask(const attention_call *call, size_t image, size_t head);

/* work's xn = norm(x) of an image; merged: as keys too. */
void sv_attention_normalise(const attention_call *call, attention_work *work, size_t image);

/* One head of one image, from work's qkv to its columns of o. */
void sv_attention_head(const attention_call *call, attention_work *work,
                       const attention_heads *heads, size_t image, size_t head);

/* y = x + path (o Wproj^T + b), merged y = x + path (sum of the heads' o + b), for `rows` rows of
 * an image from number `row`. */
void sv_attention_finish(const attention_call *call, const attention_heads *heads, size_t image,
                         size_t row, size_t rows);

/* The forward of a call: an image a task; and in inference, on few images. */
void sv_attention_images(attention_call *call);
void sv_attention_small_m(const attention_call *call);

/* Whether heads of `head_dim` are cheaper merged, over so many tokens. */
bool sv_attention_is_folded(const attention_block *block);

/* sv_layer_ops.derived_elements and derive_weights of the merged form. */
size_t sv_attention_derived_elements(const sv_layer *layer);
void sv_attention_derive_weights(sv_layer *layer, const sv_run *run, real *memory, char *scratch);

/* What that needs of a worker's scratch. */
size_t sv_attention_derive_bytes(const attention_block *block, const sv_run *run);

/* Adds to the model's gradients what those of the merged weight dw[2 inner, c] and bias
 * dbias[2 inner] come to, by the pool. */
void sv_attention_add_derived_gradients(const attention_block *block, const sv_run *run,
                                        const real *dw, const real *dbias);

void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x);

#endif
