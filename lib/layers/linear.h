/* The product that all layers share: weights and their packed copies, weight gradients. */
#ifndef SV_LINEAR_H
#define SV_LINEAR_H

#include "autograd/layer.h"
#include "autograd/parameter.h"
#include "gemm/gemm.h"

/* A weight [out, in] and a bias [out], at `weight` and `bias` in the flat arrays; bias
 * SV_NO_PARAMETER: none. Or of the layer's own making, wherever that has put them. */
typedef struct sv_linear {
    size_t out, in, weight, bias;
    const real *derived, *derived_bias; /* NULL: those of the model */
    sv_gemm_b forward;                  /* y = x W^T + b: [in, out] */
    sv_gemm_b backward;                 /* dx = dy W: [out, in] */
} sv_linear;

/* Sets `linear`, and makes it one of the layer's products; not where `weight` is SV_NO_PARAMETER: a
 * product that the model has not. At most SV_LAYER_LINEARS of a layer. */
void sv_linear_init(sv_linear *linear, sv_layer *layer, size_t out, size_t in, size_t weight,
                    size_t bias);

/* A product whose weight and bias the layer makes of others (sv_layer_ops.derive_weights). */
void sv_linear_init_derived(sv_linear *linear, sv_layer *layer, size_t out, size_t in);

/* Packed copies of a layer's weights, in `memory` of sv_pack_bytes: those that the forward reads,
 * or those that the backward of a run that trains reads; different workers may make them, of which
 * `worker` is one. */
size_t sv_pack_bytes(const sv_layer *layer, const sv_run *run);
void sv_pack(sv_layer *layer, const sv_run *run, char *memory, int backward, uint32_t worker);

/* Bytes of what a backend packs of a right-hand side [k, n], in whole lines of memory. */
size_t sv_packed_b_bytes(const sv_gemm *gemm, const sv_exec *exec, size_t k, size_t n);

/* NULL: none. */
const real *sv_linear_bias(const sv_linear *linear, const sv_run *run);

/* y[tokens, out] = x[tokens, in] W^T + b, and dx[tokens, in] = dy[tokens, out] W: on this thread
 * alone. y and dx then go through the epilogue; NULL: none. */
void sv_linear_forward(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                       size_t tokens, const sv_epilogue *epilogue);
void sv_linear_backward(const sv_linear *linear, const sv_run *run, real *dx, const real *dy,
                        size_t tokens, const sv_epilogue *epilogue);

/* A part of columns, where gemm.h allows a cut. */
typedef struct sv_column_range {
    size_t first, count;
} sv_column_range;

/* The same for some columns of y, or of dx. */
void sv_linear_forward_columns(const sv_linear *linear, const sv_run *run, real *y,
                               const sv_gemm_a *x, size_t tokens, sv_column_range columns,
                               const sv_epilogue *epilogue);
void sv_linear_backward_columns(const sv_linear *linear, const sv_run *run, real *dx,
                                const sv_gemm_a *dy, size_t tokens, sv_column_range columns,
                                const sv_epilogue *epilogue);

/* y += x W^T, for some columns of y. */
void sv_linear_add_columns(const sv_linear *linear, const sv_run *run, real *y, const sv_gemm_a *x,
                           size_t tokens, sv_column_range columns);

/* All columns of y = x W^T + b, and of dx = dy W, without an epilogue, cut by sv_linear_partition
 * into tasks of the pool. `made` has sv_packed_a_bytes of SV_SMALL_M and the widest row. */
void sv_linear_forward_parallel(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                                size_t tokens, void *made);
void sv_linear_backward_parallel(const sv_linear *linear, const sv_run *run, real *dx,
                                 const real *dy, size_t tokens, void *made);

/* c[m, n] = or += a b of two matrices of activations, on this thread. */
void sv_matmul(const sv_exec *exec, const sv_gemm_c *c, const sv_gemm_a *a, const sv_gemm_b *b,
               size_t m);

/* Makes `operand` of b[k,n], into the memory at operand->packed. */
void sv_pack_b(const sv_exec *exec, sv_gemm_b *operand, const real *b, size_t row, size_t column,
               size_t k, size_t n);

/* x[tokens, width] as the left-hand side of several products: what the backend makes of it is made
 * here, in `memory` of sv_packed_a_bytes. */
size_t sv_packed_a_bytes(const sv_exec *exec, size_t tokens, size_t width);
sv_gemm_a sv_pack_a(const sv_exec *exec, const real *x, size_t tokens, size_t width, void *memory);

/* A weight gradient to be computed: dweight[out, in] += dy[tokens, out]^T x[tokens, in]. */
typedef struct sv_weight_gradient_job {
    real *dweight;
    const real *dy, *x;
    size_t out, in, tokens;
} sv_weight_gradient_job;

/* A job is cut into pieces of the output, so no sums are split. Piece number `piece` of it, with
 * the worker's scratch of SV_GEMM_SCRATCH bytes. */
size_t sv_weight_gradient_tasks(const sv_weight_gradient_job *job);
void sv_weight_gradient_task(const sv_run *run, const sv_weight_gradient_job *job, size_t piece,
                             void *scratch);

/* All pieces of `count` jobs on the pool; each worker's scratch at the start of its own. */
void sv_weight_gradients(const sv_run *run, const sv_weight_gradient_job *jobs, size_t count);

/* Tokens that one task takes, so that its activations stay in L2; in training a
 * multiple of 32, a function of the shapes alone; alone, as many as there are, up to a limit.
 * `width` is the widest row. */
size_t sv_token_block_size(const sv_run *run, size_t tokens, size_t width);

/* The most that a task takes of `tokens` or fewer, few tokens that it takes whole included. */
size_t sv_token_block_size_max(const sv_run *run, size_t tokens, size_t width);

static inline size_t sv_block_count(size_t tokens, size_t tile)
{
    return (tokens + tile - 1) / tile;
}

/* Of `all` things from number `first`, at most `most`: what one tile has. */
static inline size_t sv_block_length(size_t all, size_t first, size_t most)
{
    return all - first < most ? all - first : most;
}

/* The most tiles of up to `tokens` tokens, smaller batches included: a batch too small for 8 full
 * tiles is cut into smaller ones, 16 at the most. */
static inline size_t sv_token_block_count_max(size_t tokens, size_t tile)
{
    size_t count = sv_block_count(tokens, tile);
    return count > 16 ? count : 16;
}

/* Panels that are shared out; of columns that are no whole number of them the last part has one
 * more, and the rest. */
static inline size_t sv_whole_split_columns(size_t columns)
{
    size_t panels = columns / SV_GEMM_SPLIT_COLUMNS;
    return columns % SV_GEMM_SPLIT_COLUMNS && panels > 0 ? panels - 1 : panels;
}

/* As many parts of some columns as there are times `least` of them. */
static inline size_t sv_column_partition_count(size_t columns, size_t least)
{
    size_t parts = sv_whole_split_columns(columns) * SV_GEMM_SPLIT_COLUMNS / least;
    return parts < 1 ? 1 : parts;
}

/* The panels are shared out alike, so that no worker waits long for another's last part. */
static inline sv_column_range sv_column_partition(size_t columns, size_t parts, size_t part)
{
    size_t panels = sv_whole_split_columns(columns), wide = panels % parts;
    size_t first = part * (panels / parts) + (part < wide ? part : wide);
    size_t end = first + panels / parts + (part < wide);
    first *= SV_GEMM_SPLIT_COLUMNS;
    end = part + 1 < parts ? end * SV_GEMM_SPLIT_COLUMNS : columns;
    return (sv_column_range){first, end - first};
}

/* Tokens so few that the time goes into reading the weights: then inference shares out the columns
 * among the workers and not the tokens. */
enum { SV_SMALL_M = 64 };

/* The columns that a part should have at least, of a product over some tokens. Small parts are
 * shared out better, but each makes of its left-hand side what its backend needs. */
static inline size_t sv_min_partition_columns(const sv_gemm *gemm, size_t tokens)
{
    enum { SMALL = 96, LARGE = 192 };
    return tokens <= SV_SMALL_M && !gemm->pack_a ? SMALL : LARGE;
}

/* How a product [tokens, columns] with a weight [in, out] is cut into tasks: tiles of rows; of a
 * weight too large for L2 also parts of the columns, so that each part is read once.
 * A function of the shapes and the backend alone. */
typedef struct sv_linear_partition {
    size_t tokens, columns; /* of the product */
    size_t block, stripes;  /* rows of a block, parts of the columns */
} sv_linear_partition;

/* What one task does: rows first.., and some columns. */
typedef struct sv_linear_work_item {
    size_t first, tokens;
    sv_column_range columns;
} sv_linear_work_item;

sv_linear_partition sv_linear_partition_of(const sv_gemm *gemm, size_t tokens, size_t columns,
                                           size_t in, size_t out);
size_t sv_linear_partition_tasks(const sv_linear_partition *cut);
sv_linear_work_item sv_linear_work_item_of(const sv_linear_partition *cut, size_t task);

static inline int sv_is_small_m(const sv_run *run, size_t tokens)
{
    return !run->pass.training && !run->exec.serial && tokens <= SV_SMALL_M;
}

/* The scratch of worker number `worker`. */
static inline char *sv_worker_scratch(const sv_exec *exec, uint32_t worker)
{
    return exec->worker_scratch + worker * exec->worker_bytes;
}

static inline real *sv_arena_reals(sv_arena *arena, size_t rows, size_t columns)
{
    return sv_arena_take(arena, rows, columns, sizeof(real));
}

#endif
