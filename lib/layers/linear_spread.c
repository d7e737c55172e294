/* A whole product with a weight, its tasks spread over the pool. */
#include "layers/linear.h"

typedef struct spread_call {
    const sv_linear *linear;
    const sv_run *run;
    real *out;
    sv_gemm_a in;
    sv_linear_partition cut;
} spread_call;

/* Few tokens, whose columns are shared out, are made ready for all parts. */
static spread_call start_call(const sv_linear *linear, const sv_run *run, real *out, const real *in,
                              size_t tokens, const sv_gemm_b *weight, void *made)
{
    spread_call call = {
        .linear = linear,
        .run = run,
        .out = out,
        .in = {in, weight->k, 1, NULL},
        .cut = sv_linear_partition_of(run->exec.gemm, tokens, weight->n, linear->in, linear->out)};
    if (tokens <= SV_SMALL_M && call.cut.stripes > 1)
        call.in = sv_pack_a(&run->exec, in, tokens, weight->k, made);
    return call;
}

static sv_gemm_a rows_from(const spread_call *call, size_t first)
{
    sv_gemm_a rows = call->in;
    rows.a += first * rows.row_stride;
    return rows;
}

static void run_call(spread_call *call, sv_task task)
{
    sv_run_tasks(&call->run->exec, task, call, sv_linear_partition_tasks(&call->cut));
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const spread_call *call = argument;
    sv_linear_work_item part = sv_linear_work_item_of(&call->cut, task);
    sv_gemm_a rows = rows_from(call, part.first);
    sv_linear_forward_columns(call->linear, call->run, call->out + part.first * call->linear->out,
                              &rows, part.tokens, part.columns, NULL);
}

void sv_linear_forward_parallel(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                                size_t tokens, void *made)
{
    spread_call call = start_call(linear, run, y, x, tokens, &linear->forward, made);
    run_call(&call, forward_task);
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const spread_call *call = argument;
    sv_linear_work_item part = sv_linear_work_item_of(&call->cut, task);
    sv_gemm_a rows = rows_from(call, part.first);
    sv_linear_backward_columns(call->linear, call->run, call->out + part.first * call->linear->in,
                               &rows, part.tokens, part.columns, NULL);
}

void sv_linear_backward_parallel(const sv_linear *linear, const sv_run *run, real *dx,
                                 const real *dy, size_t tokens, void *made)
{
    spread_call call = start_call(linear, run, dx, dy, tokens, &linear->backward, made);
    run_call(&call, backward_task);
}
