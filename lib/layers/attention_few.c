/* The attention block in inference on few images: each image's rows, then its heads, then its rows
 * again are shared out among the workers. The bits are those of an image a task. */
#include "layers/attention.h"

/* Rows of one task. */
enum { ROWS = 48 };

typedef struct few_call {
    const attention_call *call;
    attention_work work; /* the first worker's, which all write to: xn, qkv, o */
    real *mean, *rstd;
    size_t image;
} few_call;

/* qkv of some rows. */
static void project_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const few_call *few = argument;
    const attention_call *call = few->call;
    const attention_block *block = call->block;
    const real *weights = call->run->weights;
    size_t c = block->base.in.channels, first = task * ROWS;
    size_t rows = sv_tile_here(call->tokens, first, ROWS);
    real *xn = few->work.xn + first * c;
    call->run->context->kernels->layer_norm(xn, few->mean + first, few->rstd + first,
                                            call->in + (few->image * call->tokens + first) * c,
                                            weights + block->norm_weight,
                                            weights + block->norm_bias, rows, c, block->eps);
    sv_linear_forward(&block->qkv, call->run, few->work.qkv + first * 3 * block->inner, xn, rows);
}

static void head_task(void *argument, size_t head, uint32_t worker)
{
    const few_call *few = argument;
    const attention_call *call = few->call;
    sv_arena arena = {.base = sv_worker_scratch(call->run, worker)};
    attention_work work = sv_attention_work(&arena, call->block, call->run);
    work.qkv = few->work.qkv;
    sv_attention_head(call, &work, few->work.o, few->image, head);
}

static void finish_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const few_call *few = argument;
    const attention_call *call = few->call;
    size_t first = task * ROWS;
    sv_attention_finish(call, few->work.o + first * call->block->inner,
                        few->image * call->tokens + first, sv_tile_here(call->tokens, first, ROWS));
}

void sv_attention_few(const attention_call *call)
{
    const sv_run *run = call->run;
    sv_pool *pool = run->context->pool;
    size_t tiles = sv_tile_count(call->tokens, ROWS);
    sv_arena arena = {.base = sv_worker_scratch(run, 0)};
    few_call few = {.call = call, .work = sv_attention_work(&arena, call->block, run)};
    /* Scores come after the statistics, which nobody reads again. */
    few.mean = few.work.scores;
    few.rstd = few.work.scores + call->tokens;
    for (; few.image < run->n; few.image++) {
        sv_pool_run(pool, project_task, &few, tiles);
        sv_pool_run(pool, head_task, &few, call->block->heads);
        sv_pool_run(pool, finish_task, &few, tiles);
    }
}
