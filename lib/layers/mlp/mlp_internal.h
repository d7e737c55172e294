/* What the files of the MLP block share: the layer, its memory, and one pass through it. */
#ifndef SV_MLP_INTERNAL_H
#define SV_MLP_INTERNAL_H

#include "layers/create.h"
#include "layers/layer_scale.h"
#include "layers/norm.h"

/* The layer. Offsets are into the flat arrays of the parameter table. */
typedef struct mlp_block {
    sv_layer base;
    sv_shift_geometry shift; /* shift.group 0: the block has no shift */
    sv_linear fc1, fc2;   /* [hidden_channels, c] (gated: twice the rows), [c, hidden_channels] */
    sv_layer_scale scale; /* of fc2 */
    sv_norm norm, hidden_norm;
    size_t hidden_channels;
    bool norm_per_image; /* group norm with one group; otherwise layer norm of each token */
    bool last_gelu;      /* GELU follows fc2 too */
    sv_activation activation;
    bool gated;   /* SwiGLU in place of the GELU */
    bool chunked; /* mlp_chunks.c computes the backward */
    real eps;
    double drop_path;
    uint32_t dropout_threshold; /* the rate is threshold / 65536 */
    real dropout_scale;         /* of the elements that dropout keeps */
    /* Which channel groups of a token are 0 after the shift on a small feature map, so that fc1
     * skips them; period 0: it skips none. The norm would not leave these groups 0: `correction`,
     * [groups, 2, hidden_channels], is derived from the weights and makes up for that
     * (mlp_zero_skipping.c). */
    sv_zero_groups zeros;
    const real *correction;
} mlp_block;

/* What the backward needs of the forward: two activations and one bit per dropout mask element. */
typedef struct mlp_saved {
    real *x_shifted;                 /* [tokens, c] */
    real *pre_gelu;                  /* [tokens, fc1.out]: input of the GELU, or of SwiGLU */
    real *pre_last_gelu;             /* [tokens, c]: input of the last GELU; NULL without one */
    real *mean, *rstd;               /* [tokens]; equal within an image if norm_per_image */
    real *hidden_mean, *hidden_rstd; /* [tokens]; NULL without the norm of hidden channels */
    uint32_t *hidden_mask;           /* [tokens / 32, hidden_channels]; NULL without dropout */
    uint32_t *branch_mask;           /* [tokens / 32, c]; NULL without dropout */
    real *drop_path_scale;           /* [n]: 0 or 1 / (1 - rate); NULL without DropPath */
} mlp_saved;

/* The workspace of the general backward, for one image block. */
typedef struct mlp_image_block {
    real *hidden, *dhidden;                      /* [tokens of the image block, hidden_channels],
                                                    [the same, fc1.out] */
    real *dbranch, *x_norm, *dx_shifted;         /* [tokens of the image block, c] */
    real *dfc1_bias;                             /* partial sums [token blocks, fc1.out] */
    real *dfc2_bias, *dnorm_weight, *dnorm_bias; /* partial sums [token blocks, c] */
    /* partial sums [token blocks, hidden_channels]; NULL without the norm of hidden channels */
    real *dhidden_norm_weight, *dhidden_norm_bias;
    real *derived; /* gradients of fc2's derived weight and bias; with LayerScale alone */
} mlp_image_block;

/* The rows of one token block in the forward. In training x_shifted, mean, rstd and pre_gelu are
 * rows of mlp_saved; in inference with group norm the first three are. Everything else lies in the
 * worker's scratch. */
typedef struct mlp_rows {
    const real *x_shifted; /* [tokens, c]; the layer's input if the block has no shift */
    real *shift_into;      /* where x_shifted is written; NULL: it is the layer's input itself */
    real *mean, *rstd;     /* [tokens] */
    real *hidden_mean, *hidden_rstd; /* [tokens], likewise */
    real *pre_gelu;                  /* [tokens, fc1.out]; NULL: neither saved nor gated */
    real *hidden;                    /* [tokens, hidden_channels]: input of fc2 */
    real *x_norm;                    /* [tokens, c] */
    char *packed_a;                  /* packed x_norm, of a small M; inference only */
} mlp_rows;

/* One pass. In the backward `in` is dy and `out` is dx, which is NULL if nobody needs it. */
typedef struct mlp_call {
    const mlp_block *block;
    const sv_run *run;
    mlp_saved saved;
    real *out;
    const real *in;
    size_t tokens; /* of the batch */
    size_t image_tokens;
    size_t token_block; /* tokens of a full token block */
    /* The general backward alone: the current image block. */
    mlp_image_block work;
    size_t first, count;                 /* its first token and its tokens */
    sv_weight_gradient_job gradients[2]; /* of fc1 and fc2 */
    size_t gradient_tasks;               /* of both jobs */
    real *dfc2_weight, *dfc2_bias;       /* where the gradients of fc2 are added up */
} mlp_call;

extern const sv_layer_ops sv_mlp_ops;

/* mlp_create.c: initialises a cleared block; its position in the list of layers is set later. */
void sv_mlp_init(mlp_block *block, const sv_layer_source *source, const sv_mlp_options *options);

/* mlp_memory.c: the layouts of memory. Each function runs twice: while planning, on an arena that
 * only measures, and in a pass, where it returns the addresses. */

/* In training, the activations saved for the backward. In inference with group norm, the statistics
 * of the images in the workspace: they are needed before an image is divided into token blocks. */
mlp_saved sv_mlp_saved(sv_arena *arena, const mlp_block *block, size_t n, bool training);

mlp_image_block sv_mlp_image_block(sv_arena *arena, const mlp_block *block, const sv_run *run);

/* Tokens of a full image block of a batch of n: whole images. */
size_t sv_mlp_image_block_tokens(const mlp_block *block, size_t n);

/* The rows of a token block in a worker's scratch. */
mlp_rows sv_mlp_worker_rows(sv_arena *arena, const mlp_block *block, const sv_run *run,
                            size_t tokens);

/* Bytes of one worker's scratch in the forward and in the general backward. */
size_t sv_mlp_worker_bytes(const mlp_block *block, const sv_run *run, bool *overflow);

/* Sets *memory to what a pass over up to run->pass.n images needs. */
void sv_mlp_plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory);

/* Returns the call of a pass through `layer`. The caller sets its `in` and `out`. */
mlp_call sv_mlp_call(const sv_layer *layer, const sv_run *run, void *saved);

/* mlp_block.c: the general path, and the steps of it that special paths share. */

void sv_mlp_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x);
void sv_mlp_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x);

/* What is added from token `first` on: to the branch in the forward, to its gradient in the
 * backward; `own` unless the pass has another residual. */
static inline const real *sv_mlp_residual(const mlp_call *call, const real *own, size_t first)
{
    const real *residual = call->run->exec.residual;
    return residual ? residual + first * call->block->base.in.channels : own;
}

/* Computes what token blocks need of whole images: with group norm the moments. */
void sv_mlp_prepare(mlp_call *call);

/* Computes x_shifted and, from it, hidden for `tokens` tokens of the batch from token `first`. */
mlp_rows sv_mlp_hidden(const mlp_call *call, size_t first, size_t tokens, uint32_t worker);

/* What the backward from dy to dhidden writes for some tokens: gradients, and hidden recomputed.
 * The gradients of the norm of hidden channels, [hidden_channels], are added to; NULL: they are not
 * wanted. */
typedef struct mlp_branch_gradients {
    real *dbranch, *dhidden, *hidden;
    real *dhidden_norm_weight, *dhidden_norm_bias;
} mlp_branch_gradients;

/* Computes them for `tokens` tokens of the batch from token `first`. */
void sv_mlp_branch_backward(const mlp_call *call, const mlp_branch_gradients *out, size_t first,
                            size_t tokens);

/* mlp_norm.c: the norm of the hidden channels. */

static inline bool sv_mlp_has_hidden_norm(const mlp_block *block)
{
    return sv_norm_exists(&block->hidden_norm);
}

/* hidden = norm(hidden), if the block has that norm. */
void sv_mlp_hidden_norm(const mlp_call *call, const mlp_rows *rows, size_t tokens);

/* The backward from dbranch to dhidden of a block with that norm. */
void sv_mlp_hidden_norm_backward(const mlp_call *call, const mlp_branch_gradients *out,
                                 size_t first, size_t tokens);

/* mlp_small_m.c: inference over few tokens. */

/* Whether the pass is inference on all workers with at most SV_SMALL_M_TOKENS tokens, so that its
 * matmuls are split by columns. Never with group norm or SwiGLU. */
bool sv_mlp_is_small_m(const mlp_call *call);
void sv_mlp_small_m_forward(const mlp_call *call);

/* x_shifted and hidden of all tokens, in the first worker's scratch. */
mlp_rows sv_mlp_small_m_hidden(const mlp_call *call);

/* mlp_chunks.c: the backward in reduction chunks. */

/* Whether the weights are small enough for that backward. */
bool sv_mlp_is_chunked(const mlp_block *block);

/* Takes the workspace and one worker's scratch of that backward, for a batch of n, from arenas that
 * measure. */
void sv_mlp_chunks_memory(const mlp_block *block, size_t n, sv_arena *workspace, sv_arena *worker);
void sv_mlp_chunks_backward(const mlp_call *call);

/* mlp_zero_skipping.c: zero channel groups of x_norm on small feature maps. */

/* Elements of the correction term: for each zero group g the vectors (W1 w)[g] and (W1 b)[g],
 * [hidden_channels] each. 0: the block has no zero groups. */
size_t sv_mlp_correction_elements(const mlp_block *block);

/* Bytes of scratch of sv_mlp_derive_correction. */
size_t sv_mlp_correction_bytes(const mlp_block *block, const sv_run *run);

/* Writes the correction term of the present weights to `memory`. */
void sv_mlp_derive_correction(const mlp_block *block, const sv_run *run, real *memory,
                              char *scratch);

/* Clears the zero channel groups of x_norm and returns their description for the epilogue; its
 * `correction` is NULL if the pass skips nothing. */
sv_zero_skipping sv_mlp_zero_skipping(const mlp_call *call, real *x_norm, const real *mean,
                                      const real *rstd, size_t first, size_t tokens);

#endif
