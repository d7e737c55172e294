/* The shift block in inference over few tokens, as one image has in the late stages: the workers
 * share out the columns of both products, so that each reads its own part of the weights. The bits
 * are those of tiles, since no sum is split. */
#include "layers/shift_block/shift_internal.h"

typedef struct few_call {
    const shift_call *call;
    size_t parts1, parts2;
    real *xs, *a;   /* [tokens, c], [tokens, hidden] */
    sv_gemm_a left; /* of the product at work: xn [tokens, c], or a */
    sv_zeros zeros;
} few_call;

/* a[:, part] = gelu(xn W1^T + b1) */
static void up_task(void *argument, size_t part, uint32_t worker)
{
    (void)worker;
    const few_call *few = argument;
    const shift_call *call = few->call;
    const shift_block *block = call->block;
    const sv_epilogue epilogue = {.gelu = true, .zeros = few->zeros.fill ? &few->zeros : NULL};
    sv_linear_forward_columns(&block->fc1, call->run, few->a, &few->left, call->tokens,
                              sv_column_partition(block->hidden, few->parts1, part), &epilogue);
}

/* y[:, part] = xs + a W2^T + b2, or xs + gelu(a W2^T + b2) */
static void down_task(void *argument, size_t part, uint32_t worker)
{
    (void)worker;
    const few_call *few = argument;
    const shift_call *call = few->call;
    const shift_block *block = call->block;
    const sv_epilogue epilogue = {.gelu = block->last_gelu, .residual = few->xs};
    sv_linear_forward_columns(&block->fc2, call->run, call->out, &few->left, call->tokens,
                              sv_column_partition(block->map.channels, few->parts2, part),
                              &epilogue);
}

bool sv_shift_are_few(const shift_call *call)
{
    return !call->block->group_norm && sv_is_small_m(call->run, call->tokens);
}

/* The first half: few->xs and few->a. */
static few_call start_few(const shift_call *call)
{
    const shift_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, 0)};
    size_t c = block->map.channels, hidden = block->hidden;
    size_t least = sv_min_partition_columns(run->exec.gemm, call->tokens);
    few_call few = {.call = call,
                    .parts1 = sv_column_partition_count(hidden, least),
                    .parts2 = sv_column_partition_count(c, least)};
    real *xn = sv_arena_reals(&arena, SV_SMALL_M, c);
    few.a = sv_arena_reals(&arena, SV_SMALL_M, hidden);
    few.xs = sv_arena_reals(&arena, SV_SMALL_M, c);
    real *mean = sv_arena_reals(&arena, SV_SMALL_M, 2), *rstd = mean + SV_SMALL_M;
    char *made = sv_arena_take(&arena, sv_packed_a_bytes(&run->exec, SV_SMALL_M, c), 1, 1);
    kernels->shift(few.xs, call->in, &block->map, 0, call->tokens);
    kernels->layer_norm(xn, mean, rstd, few.xs, run->weights + block->norm_weight,
                        run->weights + block->norm_bias, call->tokens, c, block->eps);
    few.zeros = sv_shift_zeros(call, xn, mean, rstd, 0, call->tokens);
    few.left = sv_pack_a(&run->exec, xn, call->tokens, c, made);
    sv_run_tasks(&run->exec, up_task, &few, few.parts1);
    return few;
}

void sv_shift_block_few(const shift_call *call)
{
    few_call few = start_few(call);
    /* Its few parts each make it ready for themselves sooner than one worker for all of them. */
    few.left = (sv_gemm_a){few.a, call->block->hidden, 1, NULL};
    sv_run_tasks(&call->run->exec, down_task, &few, few.parts2);
}

shift_rows sv_shift_few_hidden(const shift_call *call)
{
    few_call few = start_few(call);
    return (shift_rows){.xs = few.xs, .a = few.a};
}
