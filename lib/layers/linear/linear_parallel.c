/* The linear map on all workers: token blocks and column partitions are the tasks. */
#include "layers/linear/linear.h"

typedef struct parallel_call {
    const sv_linear *linear;
    const sv_run *run;
    real *out;
    sv_gemm_a in;
    sv_linear_partition partition;
} parallel_call;

/* With few tokens and several column partitions, A is packed once and shared by all of them. */
static parallel_call start_call(const sv_linear *linear, const sv_run *run, real *out,
                                const real *in, size_t tokens, const sv_gemm_b *weight,
                                void *packed_a)
{
    parallel_call call = {.linear = linear,
                          .run = run,
                          .out = out,
                          .in = {in, weight->k, 1, NULL},
                          .partition = sv_linear_partition_of(run->exec.gemm, tokens, weight->n,
                                                              linear->in, linear->out)};
    if (tokens <= SV_SMALL_M_TOKENS && call.partition.column_partitions > 1)
        call.in = sv_pack_a(&run->exec, in, tokens, weight->k, packed_a);
    return call;
}

static sv_gemm_a rows_from(const parallel_call *call, size_t first)
{
    sv_gemm_a rows = call->in;
    rows.a += first * rows.row_stride;
    return rows;
}

static void run_call(parallel_call *call, sv_task task)
{
    sv_run_tasks(&call->run->exec, task, call, sv_linear_partition_tasks(&call->partition));
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const parallel_call *call = argument;
    sv_linear_work_item item = sv_linear_work_item_of(&call->partition, task);
    sv_gemm_a rows = rows_from(call, item.first);
    sv_linear_forward_columns(call->linear, call->run, call->out + item.first * call->linear->out,
                              &rows, item.tokens, item.columns, NULL);
}

void sv_linear_forward_parallel(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                                size_t tokens, void *packed_a)
{
    parallel_call call = start_call(linear, run, y, x, tokens, &linear->forward, packed_a);
    run_call(&call, forward_task);
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const parallel_call *call = argument;
    sv_linear_work_item item = sv_linear_work_item_of(&call->partition, task);
    sv_gemm_a rows = rows_from(call, item.first);
    sv_linear_backward_columns(call->linear, call->run, call->out + item.first * call->linear->in,
                               &rows, item.tokens, item.columns, NULL);
}

void sv_linear_backward_parallel(const sv_linear *linear, const sv_run *run, real *dx,
                                 const real *dy, size_t tokens, void *packed_a)
{
    parallel_call call = start_call(linear, run, dx, dy, tokens, &linear->backward, packed_a);
    run_call(&call, backward_task);
}
