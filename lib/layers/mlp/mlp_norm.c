/* The layer norm of the hidden channels in an MLP block, which EVA-02 has (Fang et al. 2023):
 *   hidden_norm = norm(hidden);  branch = dropout(W2 hidden_norm + b2)
 * hidden_norm takes the place of hidden. General path: mlp_block.c. */
#include "layers/mlp/mlp_internal.h"

void sv_mlp_hidden_norm(const mlp_call *call, const mlp_rows *rows, size_t tokens)
{
    const mlp_block *block = call->block;
    if (sv_mlp_has_hidden_norm(block))
        sv_norm_forward(&block->hidden_norm, call->run, rows->hidden, rows->hidden_mean,
                        rows->hidden_rstd, rows->hidden, tokens, block->hidden_channels,
                        block->eps);
}

/* hidden = keep * gelu(pre_gelu), or gated */
static void recompute_hidden(const mlp_call *call, real *hidden, const real *pre_gelu,
                             sv_dropout dropout, sv_rows rows)
{
    const mlp_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    if (block->gated)
        kernels->swiglu(hidden, pre_gelu, dropout, rows);
    else if (block->activation == SV_GELU)
        kernels->gelu(hidden, NULL, pre_gelu, dropout, rows);
    else
        kernels->sigmoid_gate(hidden, NULL, pre_gelu, sv_activation_gate(block->activation),
                              dropout, rows);
}

/* dhidden *= keep * gelu'(pre_gelu); gated: dhidden from the gradient of the product, which
 * `hidden` holds. */
static void activation_backward(const mlp_call *call, const mlp_branch_gradients *out,
                                const real *pre_gelu, sv_dropout dropout, sv_rows rows)
{
    const mlp_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    if (block->gated)
        kernels->swiglu_backward(out->hidden, out->dhidden, pre_gelu, dropout, rows);
    else if (block->activation == SV_GELU)
        kernels->gelu_backward(NULL, out->dhidden, pre_gelu, dropout, rows);
    else
        kernels->sigmoid_gate_backward(NULL, out->dhidden, pre_gelu,
                                       sv_activation_gate(block->activation), dropout, rows);
}

/* Of hidden_norm = norm(hidden):  dhidden = norm'(dbranch W2), then back through the activation. On
 * return `hidden` holds hidden_norm, which the gradient of W2 reads. Without a gate the gradient is
 * in dhidden all the time; with a gate, whose gradient is twice as wide, it begins in `hidden`. */
void sv_mlp_hidden_norm_backward(const mlp_call *call, const mlp_branch_gradients *out,
                                 size_t first, size_t tokens)
{
    const mlp_block *block = call->block;
    const mlp_saved *saved = &call->saved;
    const sv_norm *norm = &block->hidden_norm;
    const size_t width = block->hidden_channels;
    const sv_rows rows = {first, tokens, width, width};
    const sv_dropout dropout = {saved->hidden_mask, block->dropout_scale};
    const real *pre_gelu = saved->pre_gelu + first * block->fc1.out;
    const real *mean = saved->hidden_mean + first, *rstd = saved->hidden_rstd + first;
    real *gradient = block->gated ? out->hidden : out->dhidden;
    real *hidden = block->gated ? out->dhidden : out->hidden;
    sv_linear_backward(&block->fc2, call->run, gradient, out->dbranch, tokens, NULL);
    recompute_hidden(call, hidden, pre_gelu, dropout, rows);
    if (out->dhidden_norm_weight)
        sv_norm_add_gradients(norm, call->run, out->dhidden_norm_weight, out->dhidden_norm_bias,
                              gradient, hidden, mean, rstd, tokens, width);
    sv_norm_backward(norm, call->run, gradient, gradient, hidden, mean, rstd, tokens, width);
    activation_backward(call, out, pre_gelu, dropout, rows);
    sv_norm_again(norm, call->run, out->hidden, out->hidden, mean, rstd, tokens, width);
}
