/* A whole product with a weight, its tasks spread over the pool. */
#include "layers/linear.h"

typedef struct spread_call {
    const sv_linear *linear;
    const sv_run *run;
    real *out;
    sv_left in;
    sv_linear_cut cut;
} spread_call;

/* Few tokens, whose columns are shared out, are made ready for all parts. */
static spread_call start_call(const sv_linear *linear, const sv_run *run, real *out, const real *in,
                              size_t tokens, const sv_operand *weight, void *made)
{
    spread_call call = {
        .linear = linear,
        .run = run,
        .out = out,
        .in = {in, weight->k, 1, NULL},
        .cut = sv_linear_cut_of(run->gemm, tokens, weight->n, linear->in, linear->out)};
    if (tokens <= SV_FEW_TOKENS && call.cut.parts > 1)
        call.in = sv_left_make(run, in, tokens, weight->k, made);
    return call;
}

static sv_left rows_from(const spread_call *call, size_t first)
{
    sv_left rows = call->in;
    rows.a += first * rows.row;
    return rows;
}

static void run_call(spread_call *call, sv_task task)
{
    sv_run_tasks(call->run, task, call, sv_linear_cut_tasks(&call->cut));
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const spread_call *call = argument;
    sv_linear_part part = sv_linear_part_of(&call->cut, task);
    sv_left rows = rows_from(call, part.first);
    sv_linear_forward_part(call->linear, call->run, call->out + part.first * call->linear->out,
                           &rows, part.tokens, part.columns, NULL);
}

void sv_linear_forward_spread(const sv_linear *linear, const sv_run *run, real *y, const real *x,
                              size_t tokens, void *made)
{
    spread_call call = start_call(linear, run, y, x, tokens, &linear->forward, made);
    run_call(&call, forward_task);
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const spread_call *call = argument;
    sv_linear_part part = sv_linear_part_of(&call->cut, task);
    sv_left rows = rows_from(call, part.first);
    sv_linear_backward_part(call->linear, call->run, call->out + part.first * call->linear->in,
                            &rows, part.tokens, part.columns, NULL);
}

void sv_linear_backward_spread(const sv_linear *linear, const sv_run *run, real *dx, const real *dy,
                               size_t tokens, void *made)
{
    spread_call call = start_call(linear, run, dx, dy, tokens, &linear->backward, made);
    run_call(&call, backward_task);
}
