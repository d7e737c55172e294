/* The MLP block's backward for small weights: one task takes a reduction chunk, some images of the
 * batch, in groups of few images that go through the whole backward while they are in cache. Each
 * chunk sums its own partial gradient of every parameter, which stays in L2 meanwhile; the partial
 * gradients are then added in index order. General path: sv_mlp_backward in mlp_block.c.
 * Reference: tests/reference/plain_shiftvit.c. */
#include "layers/linear/partial_gradients.h"
#include "layers/mlp/mlp_internal.h"

/* Weights of at most 768 KiB stay in L2 beside 256 tokens at work. */
enum { SMALL_WEIGHTS = 768 << 10, TOKENS_AT_ONCE = 256 };

static size_t weight_bytes(const mlp_block *block)
{
    return (block->hidden_channels + block->fc1.out) * block->base.in.channels * sizeof(real);
}

bool sv_mlp_is_chunked(const mlp_block *block)
{
    return weight_bytes(block) <= SMALL_WEIGHTS;
}

/* The parameters, in the order of the partial gradients. */
enum {
    FC1_WEIGHT,
    FC2_WEIGHT,
    FC1_BIAS,
    FC2_BIAS,
    NORM_WEIGHT,
    NORM_BIAS,
    HIDDEN_NORM_WEIGHT, /* no elements without that norm */
    HIDDEN_NORM_BIAS,
    PARAMETERS
};

static void take_partial_gradients(sv_partial_gradient list[PARAMETERS], sv_arena *arena,
                                   const mlp_block *block, size_t chunks)
{
    size_t c = block->base.in.channels;
    const size_t hidden_norm = sv_mlp_has_hidden_norm(block) ? block->hidden_channels : 0;
    list[FC1_WEIGHT] = (sv_partial_gradient){block->fc1.weight, block->fc1.out * c, NULL};
    list[FC2_WEIGHT] = (sv_partial_gradient){block->fc2.weight, c * block->hidden_channels, NULL};
    list[FC1_BIAS] = (sv_partial_gradient){block->fc1.bias, block->fc1.out, NULL};
    list[FC2_BIAS] = (sv_partial_gradient){block->fc2.bias, c, NULL};
    list[NORM_WEIGHT] = (sv_partial_gradient){block->norm.weight, c, NULL};
    list[NORM_BIAS] = (sv_partial_gradient){block->norm.bias, c, NULL};
    list[HIDDEN_NORM_WEIGHT] = (sv_partial_gradient){block->hidden_norm.weight, hidden_norm, NULL};
    list[HIDDEN_NORM_BIAS] = (sv_partial_gradient){block->hidden_norm.bias, hidden_norm, NULL};
    sv_partial_gradients_take(arena, list, PARAMETERS, chunks);
}

/* A worker's scratch, for the images that it takes at once. */
typedef struct chunk_scratch {
    real *hidden, *dhidden; /* [tokens, hidden_channels], [tokens, fc1.out] */
    real *dbranch, *x_norm, *dx_norm, *dx_shifted; /* [tokens, c] */
    void *gemm_scratch;                            /* of a weight gradient */
} chunk_scratch;

static size_t images_at_once(const mlp_block *block, size_t images)
{
    size_t wanted = sv_size_max(TOKENS_AT_ONCE / sv_shape_tokens(block->base.in), 1);
    return sv_size_min(wanted, images);
}

static chunk_scratch take_scratch(sv_arena *arena, const mlp_block *block)
{
    chunk_scratch scratch;
    size_t c = block->base.in.channels;
    size_t tokens = sv_size_max(sv_shape_tokens(block->base.in), TOKENS_AT_ONCE);
    scratch.hidden = sv_arena_reals(arena, tokens, block->hidden_channels);
    scratch.dhidden = sv_arena_reals(arena, tokens, block->fc1.out);
    scratch.dbranch = sv_arena_reals(arena, tokens, c);
    scratch.x_norm = sv_arena_reals(arena, tokens, c);
    scratch.dx_norm = sv_arena_reals(arena, tokens, c);
    scratch.dx_shifted = sv_arena_reals(arena, tokens, c);
    scratch.gemm_scratch = sv_arena_take(arena, SV_GEMM_SCRATCH, 1, 1);
    return scratch;
}

void sv_mlp_chunks_memory(const mlp_block *block, size_t n, sv_arena *workspace, sv_arena *worker)
{
    sv_partial_gradient list[PARAMETERS];
    take_partial_gradients(list, workspace, block, sv_reduction_chunks_max(n, weight_bytes(block)));
    take_scratch(worker, block);
}

typedef struct chunks_call {
    const mlp_call *call;
    sv_partial_gradient partial[PARAMETERS];
    size_t images; /* of a full chunk */
} chunks_call;

/* Adds to the chunk's partial gradients what `tokens` tokens of the batch from token `first`
 * contribute: dW1 += dhidden^T x_norm;  dW2 += dbranch^T hidden;  biases and norm likewise. */
static void add_gradients(const chunks_call *all, size_t chunk, const chunk_scratch *scratch,
                          size_t first, size_t tokens)
{
    const mlp_call *call = all->call;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = call->block->base.in.channels, hidden_channels = call->block->hidden_channels;
    size_t width = call->block->fc1.out;
    real *partial[PARAMETERS];
    for (size_t i = 0; i < PARAMETERS; i++)
        partial[i] = sv_partial_gradient_of(&all->partial[i], chunk);
    const sv_weight_gradient_job jobs[2] = {
        {sv_partial_gradient_if_read(call->run, &all->partial[FC1_WEIGHT], chunk), scratch->dhidden,
         scratch->x_norm, width, c, tokens},
        {sv_partial_gradient_if_read(call->run, &all->partial[FC2_WEIGHT], chunk), scratch->dbranch,
         scratch->hidden, c, hidden_channels, tokens}};
    for (size_t i = 0; i < 2; i++)
        sv_weight_gradient_whole(call->run, &jobs[i], scratch->gemm_scratch);
    kernels->add_rows(partial[FC1_BIAS], scratch->dhidden, tokens, width);
    kernels->add_rows(partial[FC2_BIAS], scratch->dbranch, tokens, c);
    sv_norm_add_gradients(&call->block->norm, call->run, partial[NORM_WEIGHT], partial[NORM_BIAS],
                          scratch->dx_norm, call->saved.x_shifted + first * c,
                          call->saved.mean + first, call->saved.rstd + first, tokens, c);
}

/* dx_shifted = norm'(dx_norm) */
static void norm_backward(const mlp_call *call, const chunk_scratch *scratch, size_t first,
                          size_t tokens)
{
    const mlp_block *block = call->block;
    const mlp_saved *saved = &call->saved;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const real *weight = call->run->weights + block->norm.weight;
    size_t c = block->base.in.channels, image = call->image_tokens;
    if (!block->norm_per_image) {
        sv_norm_backward(&block->norm, call->run, scratch->dx_shifted, scratch->dx_norm,
                         saved->x_shifted + first * c, saved->mean + first, saved->rstd + first,
                         tokens, c);
        return;
    }
    for (size_t i = 0; i < tokens; i += image)
        kernels->group_norm_backward(scratch->dx_shifted + i * c, scratch->dx_norm + i * c,
                                     saved->x_shifted + (first + i) * c, saved->mean + first + i,
                                     saved->rstd + first + i, weight, image, c);
}

/* The whole backward of some images: `tokens` tokens of the batch from token `first`. */
static void images_backward(const chunks_call *all, size_t chunk, const chunk_scratch *scratch,
                            size_t first, size_t tokens)
{
    const mlp_call *call = all->call;
    const mlp_block *block = call->block;
    const mlp_saved *saved = &call->saved;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    size_t c = block->base.in.channels;
    mlp_branch_gradients branch = {scratch->dbranch, scratch->dhidden, scratch->hidden, NULL, NULL};
    if (block->base.trained) {
        branch.dhidden_norm_weight =
            sv_partial_gradient_of(&all->partial[HIDDEN_NORM_WEIGHT], chunk);
        branch.dhidden_norm_bias = sv_partial_gradient_of(&all->partial[HIDDEN_NORM_BIAS], chunk);
    }
    sv_mlp_branch_backward(call, &branch, first, tokens);
    sv_linear_backward(&block->fc1, run, scratch->dx_norm, scratch->dhidden, tokens, NULL);
    if (block->base.trained) {
        sv_norm_again(&block->norm, run, scratch->x_norm, saved->x_shifted + first * c,
                      saved->mean + first, saved->rstd + first, tokens, c);
        add_gradients(all, chunk, scratch, first, tokens);
    }
    if (!call->out)
        return;
    /* dx = shift'(dy + norm'(dx_norm)) */
    norm_backward(call, scratch, first, tokens);
    kernels->add(scratch->dx_shifted, sv_mlp_residual(call, call->in + first * c, first),
                 tokens * c);
    kernels->shift_backward(call->out + first * c, scratch->dx_shifted, &block->shift, 0, tokens);
}

static void chunk_task(void *argument, size_t chunk, uint32_t worker)
{
    const chunks_call *all = argument;
    const mlp_call *call = all->call;
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    chunk_scratch scratch = take_scratch(&arena, call->block);
    size_t image = chunk * all->images;
    size_t end = image + sv_block_length(call->run->pass.n, image, all->images);
    size_t at_once = images_at_once(call->block, all->images);
    sv_partial_gradients_clear(all->partial, PARAMETERS, chunk);
    for (; image < end; image += at_once)
        images_backward(all, chunk, &scratch, image * call->image_tokens,
                        sv_block_length(end, image, at_once) * call->image_tokens);
}

void sv_mlp_chunks_backward(const mlp_call *call)
{
    const sv_run *run = call->run;
    chunks_call all = {.call = call,
                       .images = sv_reduction_chunk_images(run->pass.n, weight_bytes(call->block))};
    size_t chunks = sv_block_count(run->pass.n, all.images);
    sv_arena arena = {.base = run->exec.workspace};
    take_partial_gradients(all.partial, &arena, call->block, chunks);
    sv_run_tasks(&run->exec, chunk_task, &all, chunks);
    if (!call->block->base.trained)
        return;
    sv_partial_gradients_reduce(run, all.partial, PARAMETERS, chunks);
    if (sv_layer_scale_exists(&call->block->scale))
        sv_layer_scale_add_gradients(
            &call->block->scale, &call->block->fc2, run,
            sv_partial_gradient_total(run, &all.partial[FC2_WEIGHT], chunks),
            sv_partial_gradient_total(run, &all.partial[FC2_BIAS], chunks));
}
