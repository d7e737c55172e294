/* How a pass is split into tasks: token blocks, partitions of columns, and both for one matmul.
 * Every split is a function of shapes and of the backend alone, never of the number of threads, so
 * the bits do not depend on it. */
#ifndef SV_PARTITION_H
#define SV_PARTITION_H

#include "autograd/layer.h"
#include "gemm/gemm.h"
#include "gemm/small_m.h"

/* Whether the pass has so few tokens that the workers split the columns of its matmuls. */
static inline bool sv_is_small_m(const sv_run *run, size_t tokens)
{
    return !run->pass.training && !run->exec.serial && tokens <= SV_SMALL_M_TOKENS;
}

/* Tokens of one task, so that its activations stay in L2. `width` is the widest row that the task
 * writes. In training it is a multiple of 32, the tokens of one word of a dropout mask. A serial
 * pass takes as many tokens as there are, up to a limit. */
size_t sv_token_block_size(const sv_run *run, size_t tokens, size_t width);

/* An upper bound of the token block of any pass over `tokens` tokens or fewer, for planning memory.
 * In inference it is at least SV_SMALL_M_TOKENS, since a small pass takes up to so many tokens at
 * once. */
size_t sv_token_block_size_max(const sv_run *run, size_t tokens, size_t width);

/* Blocks of `block` elements that `all` elements make up, the last one possibly shorter. */
static inline size_t sv_block_count(size_t all, size_t block)
{
    return (all + block - 1) / block;
}

/* Elements of the block that begins at `first`. */
static inline size_t sv_block_length(size_t all, size_t first, size_t block)
{
    return all - first < block ? all - first : block;
}

/* An upper bound of the number of token blocks of any pass over at most `tokens` tokens, to plan
 * memory. `block` is the tokens of a full block. A smaller pass halves its blocks until it has 8 or
 * more, so it has 16 at most. */
static inline size_t sv_token_block_count_max(size_t tokens, size_t block)
{
    size_t count = sv_block_count(tokens, block);
    return count > 16 ? count : 16;
}

/* Columns first to first + count - 1 of a matrix, which one call of sv_gemm.matmul may compute. */
typedef struct sv_column_range {
    size_t first, count;
} sv_column_range;

/* The smallest number of columns that a partition of a matmul over `tokens` tokens should have.
 * Narrow partitions balance better, but each of them packs A for itself. */
size_t sv_min_partition_columns(const sv_gemm *gemm, size_t tokens);

/* The number of partitions of at least `min` columns each; at least one. */
size_t sv_column_partition_count(size_t columns, size_t min);

/* Partition `index` of `partitions`: whole micropanels, distributed evenly. If `columns` is not a
 * multiple of SV_GEMM_SPLIT_COLUMNS, the last partition also takes the final micropanel and the
 * remainder. */
sv_column_range sv_column_partition(size_t columns, size_t partitions, size_t index);

/* The work items of a matmul [tokens, columns] with a weight [out, in]: token blocks; if the weight
 * is too large for L2, also column partitions, so that each part of it is read once per block. */
typedef struct sv_linear_partition {
    size_t tokens, columns;
    size_t token_block, column_partitions;
} sv_linear_partition;

typedef struct sv_linear_work_item {
    size_t first, tokens;
    sv_column_range columns;
} sv_linear_work_item;

sv_linear_partition sv_linear_partition_of(const sv_gemm *gemm, size_t tokens, size_t columns,
                                           size_t in, size_t out);
size_t sv_linear_partition_tasks(const sv_linear_partition *partition);
sv_linear_work_item sv_linear_work_item_of(const sv_linear_partition *partition, size_t task);

#endif
