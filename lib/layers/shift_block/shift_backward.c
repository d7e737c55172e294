/* The shift block backward. Where the weights are large: one panel of images after another. First
 * its tiles: the gradients of
 * activations, with GELU and the norm computed once more instead of kept. Then, over the panel, the
 * weight gradients, cut by output, so that no sum is split; and the shift's adjoint beside them. */
#include "layers/shift_block/shift_internal.h"

#include <string.h>

/* Tile number `task` of the panel: its first token in the panel, and its tokens. */
static size_t tile_first(const shift_call *call, size_t task, size_t *tokens)
{
    size_t first = task * call->tile;
    *tokens = sv_block_length(call->here, first, call->tile);
    return first;
}

/* Each tile's share of the gradients that are sums over tokens: b1, b2, norm weight and bias. */
static void tile_sums(const shift_call *call, size_t task, size_t first, size_t tokens,
                      const real *dxn)
{
    const shift_block *block = call->block;
    const shift_panel *panel = &call->panel;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->map.channels, hidden = block->hidden, token = call->first + first;
    real *dbias1 = panel->dbias1 + task * hidden, *dbias2 = panel->dbias2 + task * c;
    real *dweight = panel->dweight + task * c, *dbias = panel->dbias + task * c;
    memset(dbias1, 0, hidden * sizeof(real));
    memset(dbias2, 0, c * sizeof(real));
    memset(dweight, 0, c * sizeof(real));
    memset(dbias, 0, c * sizeof(real));
    kernels->add_rows(dbias1, panel->dhidden + first * hidden, tokens, hidden);
    kernels->add_rows(dbias2, panel->dbranch + first * c, tokens, c);
    kernels->norm_backward_parameters(dweight, dbias, dxn, call->saved.xs + token * c,
                                      call->saved.mean + token, call->saved.rstd + token, tokens,
                                      c);
}

/* The branch;  dxn = dhidden W1;  dxs = dy + norm'(dxn), which group norm leaves to image_task. */
static void tile_task(void *argument, size_t task, uint32_t worker)
{
    const shift_call *call = argument;
    const shift_block *block = call->block;
    const shift_panel *panel = &call->panel;
    const shift_saved *saved = &call->saved;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t c = block->map.channels, hidden = block->hidden, tokens;
    size_t first = tile_first(call, task, &tokens), token = call->first + first;
    const real *xs = saved->xs + token * c, *weight = run->weights + block->norm_weight;
    real *dhidden = panel->dhidden + first * hidden, *dxs = panel->dxs + first * c;
    real *dxn = block->group_norm ? dxs : (real *)(void *)sv_worker_scratch(&run->exec, worker);
    sv_shift_branch_backward(call, panel->dbranch + first * c, dhidden, panel->a + first * hidden,
                             token, tokens);
    sv_linear_backward(&block->fc1, run, dxn, dhidden, tokens, NULL);
    kernels->norm_apply(panel->xn + first * c, xs, saved->mean + token, saved->rstd + token, weight,
                        run->weights + block->norm_bias, tokens, c);
    tile_sums(call, task, first, tokens, dxn);
    if (block->group_norm)
        return;
    kernels->layer_norm_backward(dxs, dxn, xs, saved->mean + token, saved->rstd + token, weight,
                                 tokens, c);
    kernels->add(dxs, call->in + token * c, tokens * c);
}

/* dxs = dy + group_norm'(dxn), dxn lying in dxs. */
static void image_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const shift_call *call = argument;
    const shift_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = block->map.channels, tokens = call->image_tokens;
    size_t first = image * tokens, token = call->first + first;
    real *dxs = call->panel.dxs + first * c;
    kernels->group_norm_backward(dxs, dxs, call->saved.xs + token * c, call->saved.mean + token,
                                 call->saved.rstd + token, call->run->weights + block->norm_weight,
                                 tokens, c);
    kernels->add(dxs, call->in + token * c, tokens * c);
}

/* Pieces of the weight gradients, then tiles of dx = shift'(dxs). */
static void panel_task(void *argument, size_t task, uint32_t worker)
{
    const shift_call *call = argument;
    size_t c = call->block->map.channels, tokens;
    size_t first_pieces = sv_weight_gradient_tasks(&call->jobs[0]);
    void *scratch = sv_worker_scratch(&call->run->exec, worker);
    if (task < first_pieces) {
        sv_weight_gradient_task(call->run, &call->jobs[0], task, scratch);
    } else if (task < call->pieces) {
        sv_weight_gradient_task(call->run, &call->jobs[1], task - first_pieces, scratch);
    } else {
        size_t first = tile_first(call, task - call->pieces, &tokens);
        call->run->exec.context->kernels->shift_backward(call->out + (call->first + first) * c,
                                                         call->panel.dxs, &call->block->map, first,
                                                         tokens);
    }
}

/* Adds the tiles' shares in the order of the tiles. */
static void add_sums(const shift_call *call, size_t tiles)
{
    const shift_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    real *gradients = call->run->gradients;
    size_t c = block->map.channels;
    kernels->add_rows(gradients + block->fc1.bias, call->panel.dbias1, tiles, block->hidden);
    kernels->add_rows(gradients + block->fc2.bias, call->panel.dbias2, tiles, c);
    kernels->add_rows(gradients + block->norm_weight, call->panel.dweight, tiles, c);
    kernels->add_rows(gradients + block->norm_bias, call->panel.dbias, tiles, c);
}

static void run_panel(shift_call *call)
{
    const shift_block *block = call->block;
    const sv_run *run = call->run;
    size_t c = block->map.channels, tiles = sv_block_count(call->here, call->tile);
    sv_run_tasks(&run->exec, tile_task, call, tiles);
    if (block->group_norm)
        sv_run_tasks(&run->exec, image_task, call, call->here / call->image_tokens);
    call->jobs[0] = (sv_weight_gradient_job){run->gradients + block->fc1.weight,
                                             call->panel.dhidden,
                                             call->panel.xn,
                                             block->hidden,
                                             c,
                                             call->here};
    call->jobs[1] = (sv_weight_gradient_job){run->gradients + block->fc2.weight,
                                             call->panel.dbranch,
                                             call->panel.a,
                                             c,
                                             block->hidden,
                                             call->here};
    call->pieces =
        sv_weight_gradient_tasks(&call->jobs[0]) + sv_weight_gradient_tasks(&call->jobs[1]);
    sv_run_tasks(&run->exec, panel_task, call, call->pieces + (call->out ? tiles : 0));
    add_sums(call, tiles);
}

void sv_shift_block_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                             const real *dy, const real *x)
{
    (void)x;
    shift_call call = sv_shift_call(layer, run, saved);
    call.out = dx;
    call.in = dy;
    if (sv_shift_has_groups(call.block)) {
        sv_shift_groups_backward(&call);
        return;
    }
    sv_arena arena = {.base = run->exec.workspace};
    call.panel = sv_shift_panel(&arena, call.block, run);
    for (; call.first < call.tokens; call.first += call.panel_tokens) {
        call.here = sv_block_length(call.tokens, call.first, call.panel_tokens);
        run_panel(&call);
    }
}
