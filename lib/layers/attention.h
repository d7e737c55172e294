/* The inside of the attention block: its memory, shared by its forward and its backward. */
#ifndef SV_ATTENTION_H
#define SV_ATTENTION_H

#include "layers/create.h"
#include "layers/shares.h"

typedef struct attention_block {
    sv_layer base;
    size_t heads, head_dim, inner; /* inner = heads * head_dim */
    sv_linear qkv, proj;
    int identity;                  /* no projection: inner is the width */
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
    real *mean, *rstd; /* [tokens] */
    real *o;           /* [tokens, inner]: the heads' outputs */
    uint32_t *mask;    /* [n * heads * blocks, T] bits of 32 queries, NULL without dropout */
    real *path;        /* [n], NULL without DropPath */
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

/* A worker's scratch, for one image. Scores are made for so many queries at a time that they stay
 * in cache: memory is linear in the tokens. */
typedef struct attention_work {
    real *xn, *qkv;               /* [T, c], [T, 3 inner] */
    real *o;                      /* [T, inner]: of the forward */
    real *dbranch, *dxn;          /* [T, c] */
    real *doutput, *dqkv;         /* [T, inner], [T, 3 inner] */
    real *scores, *p, *kept, *dp; /* [queries, T] */
    sv_operand keys_t, values_t;  /* [d, T] */
    sv_operand keys, values;      /* [T, d] */
    sv_operand queries, doutputs; /* [queries, d] */
    void *left;                   /* what is made of xn, in inference */
    void *weight_scratch;         /* of a weight gradient */
} attention_work;

typedef struct attention_call {
    const attention_block *block;
    const sv_run *run;
    attention_saved saved;
    sv_share shares[ATTENTION_SHARES];
    real *out;
    const real *in, *x;
    size_t tokens;       /* of an image */
    size_t queries;      /* of one block of scores */
    size_t mask_blocks;  /* of 32 queries, of one head */
    size_t group_images; /* of one group */
} attention_call;

attention_saved sv_attention_saved(sv_arena *arena, const attention_block *block, size_t n);
void sv_attention_shares(sv_share list[ATTENTION_SHARES], sv_arena *arena,
                         const attention_block *block, size_t groups);
attention_work sv_attention_work(sv_arena *arena, const attention_block *block, const sv_run *run);

attention_call sv_attention_call(const sv_layer *layer, const sv_run *run, void *saved);

/* A block of scores of one head of an image, from query `first`. */
sv_attention_rows sv_attention_rows_of(const attention_call *call, size_t image, size_t head,
                                       size_t first);

/* The first mask word of an image's head; NULL without dropout. */
uint32_t *sv_attention_mask(const attention_call *call, size_t image, size_t head);

/* work's xn = norm(x) of an image. */
void sv_attention_normalise(const attention_call *call, const attention_work *work, size_t image);

/* One head of one image, from work's qkv to its columns of o[T, inner]. */
void sv_attention_head(const attention_call *call, attention_work *work, real *o, size_t image,
                       size_t head);

/* y = x + path (o Wproj^T + b) for `rows` rows from token `first` of the batch. */
void sv_attention_finish(const attention_call *call, const real *o, size_t first, size_t rows);

/* The forward of a call, in inference, on few images. */
void sv_attention_few(const attention_call *call);

void sv_attention_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                          const real *x);
void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x);

#endif
