/* Token blocks and column partitions. */
#include "layers/linear/partition.h"

/* A block of 256 rows of up to 512 elements, or of 128 wider ones, stays in L2 with the weights
 * beside it; below 32 rows a micropanel is read too often. 8 blocks keep several workers busy. */
enum { BLOCK_MAX = 256, BLOCK_MAX_WIDE = 128, WIDE = 512, BLOCK_MIN = 32, BLOCKS_WANTED = 8 };

static size_t full_block(size_t tokens, size_t width)
{
    size_t block = width <= WIDE ? BLOCK_MAX : BLOCK_MAX_WIDE;
    while (block > BLOCK_MIN && tokens < BLOCKS_WANTED * block)
        block /= 2;
    return block;
}

/* For tokens too few for full blocks: blocks of equal length, a multiple of 4 of them, which two
 * and four workers share evenly. */
static size_t even_block(size_t tokens)
{
    enum { MULTIPLE = 4 };
    size_t blocks = sv_block_count(sv_block_count(tokens, BLOCK_MIN), MULTIPLE) * MULTIPLE;
    return sv_block_count(tokens, blocks);
}

size_t sv_token_block_size(const sv_run *run, size_t tokens, size_t width)
{
    if (run->exec.serial)
        return sv_size_min(tokens, BLOCK_MAX);
    if (!run->pass.training && tokens > SV_SMALL_M_TOKENS && tokens < BLOCKS_WANTED * BLOCK_MIN)
        return even_block(tokens);
    return full_block(tokens, width);
}

/* A smaller inference pass may have larger blocks: up to SV_SMALL_M_TOKENS tokens are not split. */
size_t sv_token_block_size_max(const sv_run *run, size_t tokens, size_t width)
{
    size_t block = sv_token_block_size(run, tokens, width);
    return run->pass.training ? block : sv_size_max(block, SV_SMALL_M_TOKENS);
}

size_t sv_min_partition_columns(const sv_gemm *gemm, size_t tokens)
{
    enum { NARROW = 96, WIDE_PARTITION = 192 };
    return tokens <= SV_SMALL_M_TOKENS && !gemm->pack_a ? NARROW : WIDE_PARTITION;
}

/* Micropanels to distribute; if there is a remainder, the last micropanel stays with it. */
static size_t whole_panels(size_t columns)
{
    size_t panels = columns / SV_GEMM_SPLIT_COLUMNS;
    return columns % SV_GEMM_SPLIT_COLUMNS && panels > 0 ? panels - 1 : panels;
}

size_t sv_column_partition_count(size_t columns, size_t min)
{
    return sv_size_max(whole_panels(columns) * SV_GEMM_SPLIT_COLUMNS / min, 1);
}

sv_column_range sv_column_partition(size_t columns, size_t partitions, size_t index)
{
    size_t panels = whole_panels(columns), longer = panels % partitions;
    size_t first = index * (panels / partitions) + sv_size_min(index, longer);
    size_t end = first + panels / partitions + (index < longer);
    first *= SV_GEMM_SPLIT_COLUMNS;
    end = index + 1 < partitions ? end * SV_GEMM_SPLIT_COLUMNS : columns;
    return (sv_column_range){first, end - first};
}

/* A weight of more than 131072 elements, 512 KiB, does not stay in L2; 256 rows then share each
 * read of it. */
enum { LARGE_WEIGHT = 131072, LARGE_WEIGHT_BLOCK = 256 };

/* Token blocks alone if the weight stays in L2, otherwise larger ones and column partitions. */
sv_linear_partition sv_linear_partition_of(const sv_gemm *gemm, size_t tokens, size_t columns,
                                           size_t in, size_t out)
{
    sv_linear_partition partition = {.tokens = tokens,
                                     .columns = columns,
                                     .token_block = full_block(tokens, sv_size_max(in, out)),
                                     .column_partitions = 1};
    if (in * out > LARGE_WEIGHT) {
        partition.token_block = LARGE_WEIGHT_BLOCK;
        partition.column_partitions =
            sv_column_partition_count(columns, sv_min_partition_columns(gemm, tokens));
    }
    return partition;
}

size_t sv_linear_partition_tasks(const sv_linear_partition *partition)
{
    return sv_block_count(partition->tokens, partition->token_block) * partition->column_partitions;
}

sv_linear_work_item sv_linear_work_item_of(const sv_linear_partition *partition, size_t task)
{
    size_t first = task / partition->column_partitions * partition->token_block;
    return (sv_linear_work_item){
        first, sv_block_length(partition->tokens, first, partition->token_block),
        sv_column_partition(partition->columns, partition->column_partitions,
                            task % partition->column_partitions)};
}
