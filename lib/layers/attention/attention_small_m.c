/* The attention block in inference on few images: each image's heads and then its rows are shared
 * out among the workers. A worker makes the queries, keys and values of its heads itself, since
 * fetching what another one has made takes longer. The bits are those of an image a task. */
#include "layers/attention/attention_internal.h"

typedef struct few_call {
    const attention_call *call;
    attention_heads
        heads;     /* of the image at work, in the first worker's scratch: all write there */
    size_t shares; /* of the heads */
    size_t tile;   /* rows of one task */
    size_t image;
} few_call;

/* Asks for the weights of one head, which what has run since the last image has driven out of the
 * L2. */
static void fetch_head(const attention_block *block, const sv_run *run, size_t head)
{
    enum { LINE = 64 };
    const sv_gemm_b *b = &block->qkv.forward;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t w = block->width;
    for (size_t first = head * w; first < b->n; first += block->inner) {
        size_t from = run->exec.gemm->packed_b_bytes(kernels, b->k, first);
        size_t end = run->exec.gemm->packed_b_bytes(kernels, b->k, first + w);
        for (; from < end; from += LINE)
            __builtin_prefetch((const char *)b->packed + from, 0, 2);
    }
}

static void heads_task(void *argument, size_t share, uint32_t worker)
{
    const few_call *few = argument;
    const attention_call *call = few->call;
    const attention_block *block = call->block;
    size_t w = block->width;
    size_t head = share * block->heads / few->shares;
    size_t end = (share + 1) * block->heads / few->shares;
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    attention_work work = sv_attention_work(&arena, block, call->run);
    fetch_head(block, call->run, head);
    sv_attention_normalise(call, &work, few->image);
    /* Made ready once, for the products of several heads. */
    sv_gemm_a xn =
        sv_pack_a(&call->run->exec, work.xn, call->tokens, block->base.in.channels, work.left);
    for (; head < end; head++) {
        for (size_t first = head * w; first < block->row; first += block->inner)
            sv_linear_forward_columns(&block->qkv, call->run, work.qkv, &xn, call->tokens,
                                      (sv_column_range){first, w}, NULL);
        if (head + 1 < end)
            fetch_head(block, call->run, head + 1);
        sv_attention_head(call, &work, &few->heads, few->image, head);
    }
}

static void finish_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const few_call *few = argument;
    const attention_call *call = few->call;
    size_t row = task * few->tile;
    sv_attention_finish(call, &few->heads, few->image, row,
                        sv_block_length(call->tokens, row, few->tile));
}

void sv_attention_small_m(const attention_call *call)
{
    const sv_run *run = call->run;
    sv_pool *pool = run->exec.context->pool;
    size_t heads = call->block->heads, threads = sv_pool_threads(pool);
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, 0)};
    few_call few = {.call = call,
                    .heads = sv_attention_work(&arena, call->block, run).heads,
                    .shares = heads < threads ? heads : threads,
                    .tile = sv_token_block_size(run, call->tokens, call->block->inner)};
    for (; few.image < run->pass.n; few.image++) {
        sv_pool_run(pool, heads_task, &few, few.shares);
        sv_pool_run(pool, finish_task, &few, sv_block_count(call->tokens, few.tile));
    }
}
