/* The attention block in inference on few images: the workers share one image's heads, then its
 * rows. Each worker computes the queries, keys and values of its own heads, since fetching what
 * another worker has computed takes longer. The bits are those of the general path,
 * attention_block.c. Reference: tests/reference/plain_attention.c. */
#include "layers/attention/attention_internal.h"

typedef struct small_call {
    const attention_call *call;
    attention_heads heads; /* of the current image, in the first worker's scratch */
    size_t partitions;     /* of the heads: one per worker, at most one per head */
    size_t token_block;    /* rows of one task of the projection */
    size_t image;
} small_call;

bool sv_attention_is_small_m(const attention_call *call)
{
    const sv_run *run = call->run;
    return !run->pass.training && !run->exec.serial && run->pass.n <= SV_SMALL_M_HEADS_IMAGES &&
           call->block->qkv.forward.split;
}

/* Prefetches the packed weights of one head into L2; the work since the previous image has evicted
 * them. */
static void prefetch_head(const attention_block *block, const sv_run *run, size_t head)
{
    enum { LINE = 64 };
    const sv_gemm_b *b = &block->qkv.forward;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t w = block->head_width;
    for (size_t first = head * w; first < b->n; first += block->heads_width) {
        size_t from = run->exec.gemm->packed_b_bytes(kernels, b->k, first);
        size_t end = run->exec.gemm->packed_b_bytes(kernels, b->k, first + w);
        for (; from < end; from += LINE)
            __builtin_prefetch((const char *)b->packed + from, 0, 2);
    }
}

/* The heads of one partition: norm, then per head q, k, v and its attention. */
static void heads_task(void *argument, size_t partition, uint32_t worker)
{
    const small_call *small = argument;
    const attention_call *call = small->call;
    const attention_block *block = call->block;
    const sv_run *run = call->run;
    size_t w = block->head_width;
    size_t head = partition * block->heads / small->partitions;
    size_t end = (partition + 1) * block->heads / small->partitions;
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, worker)};
    attention_work work = sv_attention_work(&arena, block, run);
    prefetch_head(block, run, head);
    sv_attention_normalize(call, &work, small->image);
    /* Packed once for the matmuls of all heads of the partition. */
    sv_gemm_a x_norm =
        sv_pack_a(&run->exec, work.x_norm, call->tokens, block->base.in.channels, work.packed_a);
    for (; head < end; head++) {
        for (size_t first = head * w; first < block->qkv_width; first += block->heads_width)
            sv_linear_forward_columns(&block->qkv, run, work.qkv, &x_norm, call->tokens,
                                      (sv_column_range){first, w}, NULL);
        if (head + 1 < end)
            prefetch_head(block, run, head + 1);
        if (block->prepares)
            sv_attention_prepare(call, &work, head, 1);
        sv_attention_head(call, &work, &small->heads, small->image, head);
    }
}

static void project_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const small_call *small = argument;
    const attention_call *call = small->call;
    size_t row = task * small->token_block;
    sv_attention_project(call, &small->heads, small->image, row,
                         sv_block_length(call->tokens, row, small->token_block));
}

void sv_attention_small_m(const attention_call *call)
{
    const sv_run *run = call->run;
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, 0)};
    small_call small = {
        .call = call,
        .heads = sv_attention_work(&arena, call->block, run).heads,
        .partitions = sv_size_min(call->block->heads, sv_pool_threads(run->exec.context->pool)),
        .token_block = sv_token_block_size(run, call->tokens, call->block->heads_width)};
    for (; small.image < run->pass.n; small.image++) {
        sv_run_tasks(&run->exec, heads_task, &small, small.partitions);
        sv_run_tasks(&run->exec, project_task, &small,
                     sv_block_count(call->tokens, small.token_block));
    }
}
