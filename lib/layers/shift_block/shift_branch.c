/* The first half of the shift block's backward, which panels and groups of images have in common.
 */
#include "layers/shift_block/shift_internal.h"

void sv_shift_branch_backward(const shift_call *call, real *dbranch, real *dhidden, real *a,
                              size_t token, size_t tokens)
{
    const shift_block *block = call->block;
    const shift_saved *saved = &call->saved;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->map.channels, hidden = block->hidden;
    const sv_rows rows = {token, tokens, c, c};
    const sv_dropped dropped = {saved->mask2, block->scale};
    kernels->residual_backward(dbranch, call->in + token * c,
                               block->last_gelu ? SV_NOT_DROPPED : dropped, saved->path,
                               call->image_tokens, rows);
    if (block->last_gelu)
        kernels->gelu_backward(NULL, dbranch, saved->u2 + token * c, dropped, rows);
    const sv_epilogue epilogue = {.dropped = {saved->mask1, block->scale},
                                  .first_token = token,
                                  .pre_gelu = saved->u + token * hidden,
                                  .hidden = a};
    sv_linear_backward(&block->fc2, call->run, dhidden, dbranch, tokens, &epilogue);
}
