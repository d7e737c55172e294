/* The shift block backward where the weights are small: a group of images a task, some images at a
 * time. They go through the whole backward while they are in cache, their share of the weight
 * gradients too. */
#include "layers/partial_gradients.h"
#include "layers/shift_block/shift_internal.h"

/* Weights of both products, in bytes, that stay in L2 beside the tokens at work. */
enum { SMALL_WEIGHTS = 768 << 10, TOKENS_AT_ONCE = 256 };

static size_t weight_bytes(const shift_block *block)
{
    return 2 * block->hidden * block->map.channels * sizeof(real);
}

int sv_shift_has_groups(const shift_block *block)
{
    return weight_bytes(block) <= SMALL_WEIGHTS;
}

/* Gradients that are sums over images. */
enum { WEIGHT1, WEIGHT2, BIAS1, BIAS2, NORM_WEIGHT, NORM_BIAS, SHARES };

static void take_shares(sv_partial_gradient list[SHARES], sv_arena *arena, const shift_block *block,
                        size_t groups)
{
    size_t c = block->map.channels, hidden = block->hidden;
    list[WEIGHT1] = (sv_partial_gradient){block->fc1.weight, hidden * c, NULL};
    list[WEIGHT2] = (sv_partial_gradient){block->fc2.weight, c * hidden, NULL};
    list[BIAS1] = (sv_partial_gradient){block->fc1.bias, hidden, NULL};
    list[BIAS2] = (sv_partial_gradient){block->fc2.bias, c, NULL};
    list[NORM_WEIGHT] = (sv_partial_gradient){block->norm_weight, c, NULL};
    list[NORM_BIAS] = (sv_partial_gradient){block->norm_bias, c, NULL};
    sv_partial_gradients_take(arena, list, SHARES, groups);
}

/* A worker's scratch for some images. */
typedef struct group_work {
    real *a, *dhidden;              /* [tokens, hidden] */
    real *dbranch, *xn, *dxn, *dxs; /* [tokens, c] */
    void *weight_scratch;
} group_work;

static size_t images_at_once(const shift_block *block, size_t images)
{
    size_t wanted = TOKENS_AT_ONCE / sv_shape_tokens(block->base.in);
    wanted = wanted ? wanted : 1;
    return wanted < images ? wanted : images;
}

static group_work take_work(sv_arena *arena, const shift_block *block)
{
    group_work work;
    size_t c = block->map.channels, image = sv_shape_tokens(block->base.in);
    size_t tokens = image > TOKENS_AT_ONCE ? image : TOKENS_AT_ONCE;
    work.a = sv_arena_reals(arena, tokens, block->hidden);
    work.dhidden = sv_arena_reals(arena, tokens, block->hidden);
    work.dbranch = sv_arena_reals(arena, tokens, c);
    work.xn = sv_arena_reals(arena, tokens, c);
    work.dxn = sv_arena_reals(arena, tokens, c);
    work.dxs = sv_arena_reals(arena, tokens, c);
    work.weight_scratch = sv_arena_take(arena, SV_GEMM_SCRATCH, 1, 1);
    return work;
}

void sv_shift_groups_memory(const shift_block *block, size_t n, sv_arena *shared, sv_arena *worker)
{
    sv_partial_gradient shares[SHARES];
    take_shares(shares, shared, block, sv_reduction_chunks_max(n, weight_bytes(block)));
    take_work(worker, block);
}

typedef struct group_call {
    const shift_call *call;
    sv_partial_gradient shares[SHARES];
    size_t images; /* of a group */
} group_call;

/* The group's share of the gradients of `tokens` tokens from number `token`. */
static void add_to_shares(const group_call *groups, size_t group, const group_work *work,
                          size_t token, size_t tokens)
{
    const shift_call *call = groups->call;
    const sv_gemm *gemm = call->run->exec.gemm;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = call->block->map.channels, hidden = call->block->hidden;
    real *shares[SHARES];
    for (size_t i = 0; i < SHARES; i++)
        shares[i] = sv_partial_gradient_of(&groups->shares[i], group);
    sv_gemm_weight_gradient(gemm, kernels, shares[WEIGHT1], c, work->dhidden, hidden, work->xn, c,
                            hidden, c, tokens, work->weight_scratch);
    sv_gemm_weight_gradient(gemm, kernels, shares[WEIGHT2], hidden, work->dbranch, c, work->a,
                            hidden, c, hidden, tokens, work->weight_scratch);
    kernels->add_rows(shares[BIAS1], work->dhidden, tokens, hidden);
    kernels->add_rows(shares[BIAS2], work->dbranch, tokens, c);
    kernels->norm_backward_parameters(shares[NORM_WEIGHT], shares[NORM_BIAS], work->dxn,
                                      call->saved.xs + token * c, call->saved.mean + token,
                                      call->saved.rstd + token, tokens, c);
}

/* dxs = dy + norm'(dxn);  dx = shift'(dxs) */
static void finish(const shift_call *call, const group_work *work, size_t token, size_t tokens)
{
    const shift_block *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const real *weight = call->run->weights + block->norm_weight;
    size_t c = block->map.channels, image = call->image_tokens;
    if (!call->out)
        return;
    if (block->group_norm)
        for (size_t i = 0; i < tokens; i += image)
            kernels->group_norm_backward(
                work->dxs + i * c, work->dxn + i * c, call->saved.xs + (token + i) * c,
                call->saved.mean + token + i, call->saved.rstd + token + i, weight, image, c);
    else
        kernels->layer_norm_backward(work->dxs, work->dxn, call->saved.xs + token * c,
                                     call->saved.mean + token, call->saved.rstd + token, weight,
                                     tokens, c);
    kernels->add(work->dxs, call->in + token * c, tokens * c);
    kernels->shift_backward(call->out + token * c, work->dxs, &block->map, 0, tokens);
}

/* Whole images of a group, `tokens` tokens of the batch from number `token`. */
static void images_backward(const group_call *groups, size_t group, const group_work *work,
                            size_t token, size_t tokens)
{
    const shift_call *call = groups->call;
    const shift_block *block = call->block;
    const shift_saved *saved = &call->saved;
    const sv_run *run = call->run;
    size_t c = block->map.channels;
    sv_shift_branch_backward(call, work->dbranch, work->dhidden, work->a, token, tokens);
    sv_linear_backward(&block->fc1, run, work->dxn, work->dhidden, tokens, NULL);
    run->exec.context->kernels->norm_apply(work->xn, saved->xs + token * c, saved->mean + token,
                                           saved->rstd + token, run->weights + block->norm_weight,
                                           run->weights + block->norm_bias, tokens, c);
    add_to_shares(groups, group, work, token, tokens);
    finish(call, work, token, tokens);
}

static void group_task(void *argument, size_t group, uint32_t worker)
{
    const group_call *groups = argument;
    const shift_call *call = groups->call;
    const shift_block *block = call->block;
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    group_work work = take_work(&arena, block);
    size_t first = group * groups->images;
    size_t end = first + sv_block_length(call->run->pass.n, first, groups->images);
    size_t most = images_at_once(block, groups->images);
    sv_partial_gradients_clear(groups->shares, SHARES, group);
    for (; first < end; first += most) {
        size_t images = sv_block_length(end, first, most);
        images_backward(groups, group, &work, first * call->image_tokens,
                        images * call->image_tokens);
    }
}

void sv_shift_groups_backward(const shift_call *call)
{
    const shift_block *block = call->block;
    const sv_run *run = call->run;
    group_call all = {.call = call,
                      .images = sv_reduction_chunk_images(run->pass.n, weight_bytes(block))};
    size_t groups = sv_block_count(run->pass.n, all.images);
    sv_arena arena = {.base = run->exec.workspace};
    take_shares(all.shares, &arena, block, groups);
    sv_run_tasks(&run->exec, group_task, &all, groups);
    sv_partial_gradients_reduce(run, all.shares, SHARES, groups);
}
