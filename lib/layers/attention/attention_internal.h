/* What the files of the attention block share: the layer, its memory, and one pass through it. */
#ifndef SV_ATTENTION_INTERNAL_H
#define SV_ATTENTION_INTERNAL_H

#include "layers/create.h"
#include "layers/linear/lora.h"
#include "layers/linear/partial_gradients.h"
#include "layers/norm.h"

/* The rotary position embedding. */
typedef struct attention_rotary {
    size_t rows, columns; /* of the grid; 0: there is no such embedding */
    size_t prefix;        /* tokens before the grid */
    bool halves;
    bool columns_first;
    size_t frequencies; /* offset; SV_NO_PARAMETER: the angles are fixed */
    const real *phases; /* sv_rotary.phases: of the layer's own memory or derived */
} attention_rotary;

/* The layer. Offsets are into the flat arrays of the parameter table; T is the tokens of an image.
 *
 * In the folded form (attention_folded.c) every head works on head_width = c columns: the
 * normalised tokens are the keys of all heads, and a head's values are its contribution to the
 * branch, so that no projection is left. Everything else is the same, so both forms run through the
 * same code. */
typedef struct attention_block {
    sv_layer base;
    size_t heads, head_dim;
    size_t maps, map_dim; /* maps of attention weights, and the channels of a map's queries: heads
                             and head_dim; with differential attention twice and half as many */
    bool differential;
    size_t lambda[4]; /* offsets of q1, k1, q2, k2 [map_dim] of differential attention */
    double lambda_init;
    bool folded;
    size_t head_width;    /* columns of a query, a key and a value: head_dim, folded c */
    size_t heads_width;   /* heads * head_width */
    size_t qkv_width;     /* columns of qkv's output: 3 heads_width, folded 2 heads_width */
    sv_linear qkv;        /* gives queries, keys and values; folded: derived, queries and values */
    sv_linear proj;       /* folded: not computed, has the offsets of the parameters alone */
    sv_layer_scale scale; /* of proj; not with the folded form */
    sv_lora qkv_lora, proj_lora; /* not with the folded form */
    sv_layer_scale qkv_base;     /* with qkv_lora: the parameters of qkv, which has no LayerScale */
    size_t weight, bias; /* offsets, of queries, keys and values; bias may be SV_NO_PARAMETER */
    bool identity;       /* there is no projection: heads_width is c */
    sv_norm norm;
    size_t temperature; /* SV_NO_PARAMETER: scores are divided by sqrt(head_dim) */
    bool per_head;      /* the temperature is one factor per head; otherwise one divisor */
    bool masked;        /* masks the diagonal of the scores */
    bool no_key_bias;
    sv_norm query_norm, key_norm, output_norm;
    size_t output_groups; /* of heads_width channels that output_norm norms by themselves: 1; with
                             differential attention the heads */
    real output_eps;
    real output_scale; /* factor of output_norm's output */
    attention_rotary rotary;
    bool prepares; /* queries and keys are normalised or rotated */
    real eps;
    double drop_path;
    uint32_t dropout_threshold; /* of the attention weights: the rate is threshold / 65536 */
    real dropout_scale;         /* of the elements that dropout keeps */
    real fixed_phases[];        /* of a rotary position embedding without learnt frequencies */
} attention_block;

/* What the backward needs of the forward; it recomputes queries, keys, values and scores. */
typedef struct attention_saved {
    real *mean, *rstd;               /* [tokens] */
    real *o;                         /* [tokens, heads_width]: the heads' outputs; folded: NULL */
    real *output_mean, *output_rstd; /* [tokens, groups]: of output_norm; NULL without it */
    real *row_max, *inv_row_sum;     /* [n, maps, T]: from which the softmax is recomputed */
    uint32_t *mask;                  /* [n, maps, ceil(T / 32), T]; NULL without dropout */
    real *drop_path_scale;           /* [n]; NULL without DropPath */
} attention_saved;

/* The gradients that are summed over images, in the order of the partial gradients. */
enum {
    QKV_WEIGHT,
    PROJ_WEIGHT,
    QKV_BIAS,
    PROJ_BIAS,
    NORM_WEIGHT,
    NORM_BIAS,
    SCORE_SCALE, /* [heads]: of the factor of each head's scores; differential: of lambda */
    QUERY_NORM_WEIGHT,
    QUERY_NORM_BIAS,
    KEY_NORM_WEIGHT,
    KEY_NORM_BIAS,
    OUTPUT_NORM_WEIGHT,
    OUTPUT_NORM_BIAS,
    FREQUENCIES,
    ATTENTION_GRADIENTS
};

/* What the heads of one image write. */
typedef struct attention_heads {
    real *o;                         /* [T, heads_width] */
    real *row_max, *inv_row_sum;     /* [maps, T]; NULL: not wanted */
    real *output_mean, *output_rstd; /* [T, groups]: what the projection writes; NULL without
                                        output_norm */
} attention_heads;

/* A worker's scratch for one image. Scores are computed for attention_call.queries queries at a
 * time, so that they stay in L2 and memory is linear in T. In the shapes below, `queries` is that
 * number. */
typedef struct attention_work {
    real *x_norm, *qkv; /* [T, c], [T, qkv_width] */
    attention_heads heads;
    sv_gemm_b keys_t, values; /* packed: [head_width, T], [T, head_width] */
    real *scores;             /* [queries, T] */
    real *qk_mean, *qk_rstd;  /* [T, 2, heads]: of the norms of queries and keys */
    void *packed_a;           /* packed x_norm; inference only */
    /* Differential attention alone: [queries, T], and the packed keys of both maps, [map_dim, T]
     * and, in the backward, [T, map_dim]. */
    real *difference;
    sv_gemm_b map_keys_t[2], map_keys[2];
    /* The backward alone: */
    real *dbranch, *dx_norm; /* [T, c] */
    real *dkeys;             /* [T, c]; folded: gradient of the tokens as keys */
    real *doutput, *dqkv;    /* [T, heads_width] (folded: dbranch), [T, qkv_width] */
    real *p, *dropped, *dp;  /* [queries, T]: p = softmax, dropped = dropout(p), gradient of p */
    real *qk;                /* [T, 2 heads_width]: queries and keys before their norms */
    real *normed_o;          /* [T, heads_width]: output_norm of the heads' outputs */
    sv_gemm_b values_t;      /* packed: [head_width, T] */
    sv_gemm_b keys;          /* packed: [T, head_width] */
    sv_gemm_b queries, doutputs; /* packed: [queries, head_width]; folded: doutputs of every block
                                    of queries, since all heads share them */
    size_t doutputs_bytes;       /* of one block of queries */
    void *gemm_scratch;          /* of a weight gradient */
} attention_work;

/* One pass. In the backward `in` is dy and `out` is dx, which is NULL if nobody needs it. */
typedef struct attention_call {
    const attention_block *block;
    const sv_run *run;
    attention_saved saved;
    sv_partial_gradient partial[ATTENTION_GRADIENTS];
    real *out;
    const real *in, *x;
    size_t tokens;       /* of an image */
    size_t queries;      /* of a full block of scores, a multiple of 32 */
    size_t mask_blocks;  /* blocks of 32 queries of one head */
    size_t chunk_images; /* images of a full reduction chunk */
    real lambda;         /* of differential attention */
} attention_call;

/* attention_create.c: the bytes of a block, SIZE_MAX if they do not fit, and its initialisation in
 * cleared memory. */
size_t sv_attention_bytes(const sv_attention_options *options);
void sv_attention_init(attention_block *block, const sv_layer_source *source,
                       const sv_attention_options *options);

/* attention_memory.c: a layout, used once to measure and once to use the memory. */
void sv_attention_partial_gradients(sv_partial_gradient list[ATTENTION_GRADIENTS], sv_arena *arena,
                                    const attention_block *block, size_t chunks);
attention_work sv_attention_work(sv_arena *arena, const attention_block *block, const sv_run *run);

/* Sets *memory to what a pass over up to run->pass.n images needs. */
void sv_attention_plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory);

/* Returns the call of a pass through `layer`. The caller sets its `in`, `out` and `x`. */
attention_call sv_attention_call(const sv_layer *layer, const sv_run *run, void *saved);

/* Where the heads of an image write: to what is saved, or to a worker's scratch. */
attention_heads sv_attention_heads(const attention_call *call, const attention_work *work,
                                   size_t image);

/* Describes a block of scores of one head (or map) of an image, from query `first`. */
sv_attention_rows sv_attention_rows_of(const attention_call *call, const attention_heads *heads,
                                       size_t image, size_t head, size_t first);

/* The dropout mask of one head (or map) of an image; NULL without dropout. */
uint32_t *sv_attention_mask(const attention_call *call, size_t image, size_t head);

/* attention_block.c: the general path, and the steps of it that special paths share. */
void sv_attention_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                          const real *x);
void sv_attention_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x);

/* work->x_norm = norm(x) of an image; folded: packs it as the keys too. */
void sv_attention_normalize(const attention_call *call, attention_work *work, size_t image);

/* One head of one image: from work->qkv to its columns of heads->o. */
void sv_attention_head(const attention_call *call, attention_work *work,
                       const attention_heads *heads, size_t image, size_t head);

/* Writes the attention weights p[rows, T] of a head to the caller's array if they are wanted. */
void sv_attention_report(const attention_call *call, const real *p, size_t image, size_t head,
                         size_t first, size_t rows);

/* y = x + drop_path_scale * (o Wproj^T + bproj), folded: x + drop_path_scale * (sum of the heads' o
 * + bproj), for `rows` rows of an image from row `row`. */
void sv_attention_project(const attention_call *call, const attention_heads *heads, size_t image,
                          size_t row, size_t rows);

/* attention_norms.c: the norms of queries and keys, and of the heads' outputs. */

/* With block->prepares: normalises, then rotates the queries and keys of `heads` heads from `first`
 * on, in work->qkv. */
void sv_attention_prepare(const attention_call *call, const attention_work *work, size_t first,
                          size_t heads);

/* The same for all heads, after it has copied queries and keys to work->qk if they have norms. */
void sv_attention_prepare_again(const attention_call *call, const attention_work *work);

/* The gradients of what sv_attention_prepare_again computed, in place in work->dqkv, and those of
 * its parameters, which are added to the image's partial gradients. */
void sv_attention_prepare_backward(const attention_call *call, const attention_work *work,
                                   size_t image);

/* With block->output_norm: heads->o = norm(heads->o), `rows` rows from row `row`. */
void sv_attention_normalize_output(const attention_call *call, const attention_heads *heads,
                                   size_t row, size_t rows);

/* The gradient of that, in place in work->doutput, and those of its parameters. Sets
 * work->normed_o. */
void sv_attention_normalize_output_backward(const attention_call *call, const attention_work *work,
                                            size_t image);

/* The partial gradient of a parameter to which an image is added. */
static inline real *sv_attention_partial(const attention_call *call, size_t which, size_t image)
{
    return sv_partial_gradient_of(&call->partial[which], image / call->chunk_images);
}

/* attention_rotary.c: the rotary position embedding. */

/* Elements of fixed phases; SIZE_MAX if the number does not fit. */
size_t sv_attention_fixed_phases(const sv_attention_options *options);

/* Initialises block->rotary and writes phases that are fixed. */
void sv_attention_rotary_init(attention_block *block, const sv_layer_source *source,
                              const sv_attention_options *options);

/* Elements of the phases that follow from learnt frequencies; 0: there are none. */
size_t sv_attention_derived_phases(const attention_block *block);

/* Derives them into `phases`. */
void sv_attention_derive_phases(const attention_block *block, const sv_run *run, real *phases);

/* Rotates the queries and keys of `heads` heads from `first` on, in qkv[T, qkv_width]; with
 * `inverse` their gradients, back. */
void sv_attention_rotate(const attention_call *call, real *qkv, size_t first, size_t heads,
                         bool inverse);

/* Adds the gradients of learnt frequencies of an image, of rotated queries and keys, to its partial
 * gradients. */
void sv_attention_add_frequencies(const attention_call *call, const attention_work *work,
                                  size_t image);

/* attention_differential.c: differential attention. */

/* The factor of the second map, from its parameters. */
real sv_attention_lambda(const attention_block *block, const real *weights);

/* Adds what follows from its gradient, the sum of the partial gradients SCORE_SCALE, to those of
 * its parameters. */
void sv_attention_add_lambda(const attention_call *call, size_t chunks);

/* sv_attention_head of such a block. */
void sv_attention_differential_head(const attention_call *call, attention_work *work,
                                    const attention_heads *heads, size_t image, size_t head);

/* One head of one image, from work->doutput to work->dqkv. Returns the gradient of the factor. */
real sv_attention_differential_head_backward(const attention_call *call, attention_work *work,
                                             size_t image, size_t head);

/* attention_small_m.c: inference on few images. */

/* Whether the pass is inference on so few images that the workers split their heads. */
bool sv_attention_is_small_m(const attention_call *call);

/* The forward of such a pass. */
void sv_attention_small_m(const attention_call *call);

/* attention_folded.c: the weights of the folded form. */

/* Whether the block can be folded and takes fewer multiply-adds then. */
bool sv_attention_is_folded(const attention_block *block);

/* Elements of the folded weight [qkv_width, c] and its bias [qkv_width]; 0 if not folded. */
size_t sv_attention_derived_elements(const sv_layer *layer);

/* Derives the folded weight and bias into `memory`, on this thread. */
void sv_attention_derive_weights(const sv_layer *layer, const sv_run *run, real *memory,
                                 char *scratch);

/* Bytes of the scratch of sv_attention_derive_weights. */
size_t sv_attention_derive_bytes(const attention_block *block, const sv_run *run);

/* Adds to the model's gradients what follows from those of the folded weight
 * dw[2 heads_width, c] and bias dbias[2 heads_width]. Runs tasks. */
void sv_attention_add_derived_gradients(const attention_block *block, const sv_run *run,
                                        const real *dw, const real *dbias);

#endif
