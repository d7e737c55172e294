/* The inside of the attention block: its memory, shared by its forward and its backward. */
#ifndef SV_ATTENTION_H
#define SV_ATTENTION_H

#include "layers/create.h"
#include "layers/linear.h"

typedef struct attention_block {
    sv_layer base;
    size_t heads, head_dim, inner; /* inner = heads * head_dim */
    sv_linear qkv, proj;
    int identity;                                       /* no projection: inner is the width */
    size_t norm_weight, norm_bias, qkv_bias, proj_bias; /* offsets, or SV_NO_PARAMETER */
    size_t temperature;                                 /* offset; SV_NO_PARAMETER: 1 / sqrt(d) */
    int per_head; /* a factor for each head; else one divisor */
    int masked;   /* a token does not see itself */
    real eps;
    double drop_path;
    uint32_t threshold; /* of the attention weights' dropout; 0: none */
    real scale;         /* of what dropout keeps */
} attention_block;

/* What stays from forward to backward. */
typedef struct attention_saved {
    real *mean, *rstd; /* [tokens] */
    real *qkv;         /* [tokens, 3 inner] */
    real *o;           /* [tokens, inner]: the heads' outputs */
    uint32_t *mask;    /* [n * heads * blocks, T] bits of 32 queries, NULL without dropout */
    real *path;        /* [n], NULL without DropPath */
} attention_saved;

/* Scratch of the backward: one panel of images, and each image's share of the sums. */
typedef struct attention_panel {
    real *dqkv;                                              /* [panel tokens, 3 inner] */
    real *dbranch;                                           /* [panel tokens, c] */
    real *xn;                                                /* [panel tokens, c] */
    real *dqkv_bias, *dproj_bias, *dweight, *dbias, *dscale; /* [panel images, ...] */
} attention_panel;

/* A worker's scratch. Scores are made for so many queries at a time that they stay in cache: memory
 * is linear in the tokens. */
typedef struct attention_work {
    real *xn, *qkv, *o;             /* [T, ...]: the forward's, where nothing is saved */
    real *doutput, *dxn;            /* [T, inner], [T, c]: the backward's */
    real *raw, *p, *dp, *ds;        /* [queries, T] */
    real *keys_t, *values_t;        /* packed [d, T] */
    real *keys, *values;            /* packed [T, d] */
    real *queries, *doutput_packed; /* packed [queries, d] */
} attention_work;

typedef struct attention_call {
    const attention_block *block;
    const sv_run *run;
    attention_saved saved;
    attention_panel panel;
    real *out;
    const real *in, *x;
    size_t tokens;      /* of an image */
    size_t queries;     /* of one block of scores */
    size_t mask_blocks; /* of 32 queries, of one head */
    size_t panel_images;
    size_t first, here; /* images of the panel at work */
} attention_call;

size_t sv_attention_queries(size_t tokens);
attention_saved sv_attention_saved(sv_arena *arena, const attention_block *block, size_t n);
attention_panel sv_attention_panel(sv_arena *arena, const attention_block *block, size_t n);
size_t sv_attention_panel_images(const attention_block *block, size_t n);
attention_work sv_attention_work(sv_arena *arena, const attention_block *block,
                                 const svit_context *context, int training);
attention_call sv_attention_call(const sv_layer *layer, const sv_run *run, void *saved);

/* The factor of the scores of a head. */
real sv_attention_scale(const attention_block *block, const real *weights, size_t head);

/* The first mask word of an image's head; NULL without dropout. */
uint32_t *sv_attention_mask(const attention_call *call, size_t image, size_t head);

void sv_attention_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                          const real *x);
void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x);

#endif
