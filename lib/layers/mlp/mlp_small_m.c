/* The MLP block in inference over few tokens, as one image has in the late stages. Reading the
 * weights takes the time there, so the workers split the columns of both matmuls and each reads its
 * own part of the weights once. No sum is split, so the bits are those of the general path,
 * mlp_block.c. Reference: tests/reference/plain_shiftvit.c. */
#include "layers/mlp/mlp_internal.h"

typedef struct small_call {
    const mlp_call *call;
    size_t fc1_partitions, fc2_partitions;
    mlp_rows rows; /* all, in the first worker's scratch */
    sv_gemm_a a;   /* of the current matmul: x_norm, or hidden */
    sv_zero_skipping zeros;
} small_call;

/* hidden[:, partition] = gelu(x_norm W1^T + b1) */
static void fc1_task(void *argument, size_t partition, uint32_t worker)
{
    (void)worker;
    const small_call *small = argument;
    const mlp_call *call = small->call;
    const mlp_block *block = call->block;
    const sv_epilogue epilogue = {.gelu = true,
                                  .activation = block->activation,
                                  .zeros = small->zeros.correction ? &small->zeros : NULL};
    sv_linear_forward_columns(
        &block->fc1, call->run, small->rows.hidden, &small->a, call->tokens,
        sv_column_partition(block->hidden_channels, small->fc1_partitions, partition), &epilogue);
}

/* y[:, partition] = x_shifted + hidden W2^T + b2, or x_shifted + gelu(hidden W2^T + b2) */
static void fc2_task(void *argument, size_t partition, uint32_t worker)
{
    (void)worker;
    const small_call *small = argument;
    const mlp_call *call = small->call;
    const mlp_block *block = call->block;
    const sv_epilogue epilogue = {.gelu = block->last_gelu,
                                  .residual = sv_mlp_residual(call, small->rows.x_shifted, 0)};
    sv_linear_forward_columns(
        &block->fc2, call->run, call->out, &small->a, call->tokens,
        sv_column_partition(block->base.in.channels, small->fc2_partitions, partition), &epilogue);
}

bool sv_mlp_is_small_m(const mlp_call *call)
{
    return !call->block->norm_per_image && !call->block->gated &&
           sv_is_small_m(call->run, call->tokens);
}

/* x_shifted and hidden of all tokens. */
static small_call compute_hidden(const mlp_call *call)
{
    const mlp_block *block = call->block;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    sv_arena arena = {.base = sv_worker_scratch(&run->exec, 0)};
    size_t c = block->base.in.channels, hidden_channels = block->hidden_channels;
    size_t min = sv_min_partition_columns(run->exec.gemm, call->tokens);
    small_call small = {.call = call,
                        .fc1_partitions = sv_column_partition_count(hidden_channels, min),
                        .fc2_partitions = sv_column_partition_count(c, min),
                        .rows = sv_mlp_worker_rows(&arena, block, run, SV_SMALL_M_TOKENS)};
    mlp_rows *rows = &small.rows;
    rows->x_shifted = rows->shift_into;
    kernels->shift(rows->shift_into, call->in, &block->shift, 0, call->tokens);
    sv_norm_forward(&block->norm, run, rows->x_norm, rows->mean, rows->rstd, rows->x_shifted,
                    call->tokens, c, block->eps);
    small.zeros = sv_mlp_zero_skipping(call, rows->x_norm, rows->mean, rows->rstd, 0, call->tokens);
    small.a = sv_pack_a(&run->exec, rows->x_norm, call->tokens, c, rows->packed_a);
    sv_run_tasks(&run->exec, fc1_task, &small, small.fc1_partitions);
    sv_mlp_hidden_norm(call, rows, call->tokens);
    return small;
}

void sv_mlp_small_m_forward(const mlp_call *call)
{
    small_call small = compute_hidden(call);
    /* fc2 has few partitions: each packs A for itself sooner than one worker would for all. */
    small.a = (sv_gemm_a){small.rows.hidden, call->block->hidden_channels, 1, NULL};
    sv_run_tasks(&call->run->exec, fc2_task, &small, small.fc2_partitions);
}

mlp_rows sv_mlp_small_m_hidden(const mlp_call *call)
{
    return compute_hidden(call).rows;
}
