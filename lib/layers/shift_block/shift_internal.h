/* The inside of the shift block: its memory, shared by its forward and its backward. */
#ifndef SV_SHIFT_BLOCK_H
#define SV_SHIFT_BLOCK_H

#include "layers/create.h"
#include "layers/linear.h"

typedef struct shift_block {
    sv_layer base;
    sv_shift_geometry map;
    sv_linear fc1, fc2;
    size_t norm_weight, norm_bias; /* offsets */
    size_t hidden;
    int group_norm;
    int last_gelu; /* GELU after the second product too */
    real eps;
    double drop_path;
    uint32_t threshold; /* of the dropout masks; 0: no dropout */
    real scale;         /* of what dropout keeps */
    /* The zero channel groups of a small feature map; period 0: none. Their correction term is
     * derived from weights: fill[group, (factor of -mean rstd, rest), hidden]. */
    sv_gaps zeros;
    const real *fill;
} shift_block;

/* What stays from forward to backward: 12 C bytes a token and a bit for each mask. */
typedef struct shift_saved {
    real *xs;          /* [tokens, c]: the shifted input */
    real *u;           /* [tokens, hidden]: the input of GELU */
    real *u2;          /* [tokens, c]: the input of the last GELU, NULL without */
    real *mean, *rstd; /* [tokens] */
    uint32_t *mask1;   /* [tokens / 32, hidden], NULL without dropout */
    uint32_t *mask2;   /* [tokens / 32, c] */
    real *path;        /* [n]: 0 or 1 / (1 - rate); NULL without DropPath */
} shift_saved;

/* Scratch of the backward, for one panel of images. */
typedef struct shift_panel {
    real *a, *dhidden;        /* [panel tokens, hidden] */
    real *dbranch, *xn, *dxs; /* [panel tokens, c] */
    real *dbias1;             /* [tiles, hidden], then each [tiles, c] */
    real *dbias2, *dweight, *dbias;
} shift_panel;

/* A tile's rows: in what is saved for the backward, or in the worker's scratch. u, GELU's input, is
 * NULL where it is not kept; moved, where xs is made, where it is the block's input itself. */
typedef struct shift_rows {
    const real *xs;
    real *moved, *mean, *rstd, *u, *a, *xn;
} shift_rows;

typedef struct shift_call {
    const shift_block *block;
    const sv_run *run;
    shift_saved saved;
    shift_panel panel;
    real *out;
    const real *in;
    size_t tokens; /* of the batch */
    size_t image_tokens;
    size_t tile;
    size_t panel_tokens; /* of a full panel: whole images */
    size_t first, here;  /* the panel at work: its first token and its tokens */
    sv_weight_gradient_job jobs[2];
    size_t pieces; /* of both jobs */
} shift_call;

/* Lays out what is kept (training) or what the forward needs of the shared scratch (group norm in
 * inference: the statistics of an image come before its tiles). */
shift_saved sv_shift_saved(sv_arena *arena, const shift_block *block, size_t n, int training);

shift_panel sv_shift_panel(sv_arena *arena, const shift_block *block, const sv_run *run);

/* Tokens of one panel: whole images, as many as keep its scratch near 8 MiB. */
size_t sv_shift_panel_tokens(const shift_block *block, size_t n);

size_t sv_shift_tile(const shift_block *block, const sv_run *run);

/* Bytes of one worker's scratch. */
size_t sv_shift_worker_bytes(const shift_block *block, const sv_run *run, bool *overflow);

/* Sets a cleared block, its name in the list of layers apart. */
void sv_shift_block_init(shift_block *block, const sv_parameter_table *table,
                         const sv_shift_options *options);

shift_call sv_shift_call(const sv_layer *layer, const sv_run *run, void *saved);

void sv_shift_block_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                            const real *x);
/* The forward's parts. Before any tile: what it needs of whole images. Of a tile: its xs, and
 * a = keep1 * gelu(W1 norm(xs) + b1). */
void sv_shift_prepare(shift_call *call);
shift_rows sv_shift_hidden(const shift_call *call, size_t first, size_t tokens, uint32_t worker);

/* Whether a call has so few tokens that its products are shared out by columns; the forward of such
 * a call; and all its xs and a, in the first worker's scratch. */
bool sv_shift_are_few(const shift_call *call);
void sv_shift_block_few(const shift_call *call);
shift_rows sv_shift_few_hidden(const shift_call *call);

/* What fills the zeros: numbers, scratch to make them, the making. */
size_t sv_shift_fill_elements(const shift_block *block);
size_t sv_shift_fill_bytes(const shift_block *block, const sv_run *run);
void sv_shift_make_fill(shift_block *block, const sv_run *run, real *memory, char *scratch);

/* Clears some tokens' xn in the gaps, where a call leaves these out; then what fills them. */
sv_zeros sv_shift_zeros(const shift_call *call, real *xn, const real *mean, const real *rstd,
                        size_t first, size_t tokens);

/* The backward's first half, for `tokens` tokens of the batch from number `token`:
 * dbranch = path * keep2 * dy;  dhidden = (dbranch W2) * keep1 * gelu'(u);  a = keep1 * gelu(u). */
void sv_shift_branch_backward(const shift_call *call, real *dbranch, real *dhidden, real *a,
                              size_t token, size_t tokens);

/* The backward by groups of images, where the weights are small enough; what it needs of scratch.
 */
int sv_shift_has_groups(const shift_block *block);
void sv_shift_groups_memory(const shift_block *block, size_t n, sv_arena *shared, sv_arena *worker);
void sv_shift_groups_backward(const shift_call *call);

void sv_shift_block_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                             const real *dy, const real *x);

#endif
