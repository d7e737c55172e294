/* The token MLP of an MLP-Mixer (Tolstikhin et al. 2021). For each image of T tokens with c
 * channels:
 *   x_norm_t = norm(x)^T                                   [c, T]
 *   pre_gelu = x_norm_t W1^T + b1                          [c, hidden]
 *   hidden   = dropout(gelu(pre_gelu))
 *   branch_t = hidden W2^T + b2                            [c, T]
 *   y        = x + drop_path_scale * dropout(branch_t^T)   [T, c]
 * The rows of both matmuls are channels. A task computes one image, so its transposes stay in one
 * core's cache. The backward recomputes norm and GELU instead of saving their outputs.
 * Reference: tests/reference/plain_mixer.c. */
#include "layers/create.h"
#include "layers/dropout_bits.h"
#include "layers/linear/partial_gradients.h"

typedef struct token_mlp {
    sv_layer base;
    sv_linear fc1, fc2; /* [hidden, T], [T, hidden] */
    size_t norm_weight, norm_bias, hidden;
    real eps;
    double drop_path;
    uint32_t dropout_threshold; /* the rate is threshold / 65536 */
    real dropout_scale;         /* of the elements that dropout keeps */
} token_mlp;

/* What the backward needs of the forward. The masks of an image are whole words, so that no two
 * tasks write the same one. */
typedef struct token_mlp_saved {
    real *mean, *rstd;     /* [n, T] */
    real *pre_gelu;        /* [n, c, hidden] */
    uint32_t *hidden_mask; /* [n, ceil(c / 32), hidden]; NULL without dropout */
    uint32_t *branch_mask; /* [n, ceil(T / 32), c]; NULL without dropout */
    real *drop_path_scale; /* [n]; NULL without DropPath */
} token_mlp_saved;

/* The gradients that are summed over images, in the order of the partial gradients. */
enum { FC1_WEIGHT, FC2_WEIGHT, FC1_BIAS, FC2_BIAS, NORM_WEIGHT, NORM_BIAS, PARAMETERS };

/* A worker's scratch for one image. */
typedef struct token_mlp_work {
    real *tokens;      /* [T, c]: x_norm, branch, and in the backward their gradients */
    real *channels;    /* [c, T]: x_norm_t, and in the forward branch_t */
    real *hidden;      /* [c, hidden] */
    real *mean, *rstd; /* [T]; inference only */
    /* The backward alone: */
    real *dbranch_t, *dx_norm_t; /* [c, T] */
    real *dhidden;               /* [c, hidden] */
    void *gemm_scratch;          /* of a weight gradient */
} token_mlp_work;

/* One pass. In the backward `in` is dy and `out` is dx, which is NULL if nobody needs it. */
typedef struct token_mlp_call {
    const token_mlp *block;
    const sv_run *run;
    token_mlp_saved saved;
    sv_partial_gradient partial[PARAMETERS];
    real *out;
    const real *in, *x;
    size_t tokens, c, hidden;
    size_t chunk_images; /* images of a full reduction chunk */
} token_mlp_call;

/* Memory: each layout is used once to measure and once to use the memory. */

enum { MASK_BITS = 32 };

static token_mlp_saved take_saved(sv_arena *arena, const token_mlp *block, size_t n)
{
    token_mlp_saved saved = {0};
    size_t tokens = sv_shape_tokens(block->base.in), c = block->base.in.channels;
    saved.mean = sv_arena_reals(arena, n, tokens);
    saved.rstd = sv_arena_reals(arena, n, tokens);
    saved.pre_gelu = sv_arena_reals(arena, n * c, block->hidden);
    if (block->dropout_threshold) {
        saved.hidden_mask =
            sv_arena_take(arena, n * sv_block_count(c, MASK_BITS), block->hidden, sizeof(uint32_t));
        saved.branch_mask =
            sv_arena_take(arena, n * sv_block_count(tokens, MASK_BITS), c, sizeof(uint32_t));
    }
    if (block->drop_path > 0)
        saved.drop_path_scale = sv_arena_reals(arena, n, 1);
    return saved;
}

static token_mlp_work take_work(sv_arena *arena, const token_mlp *block, bool training)
{
    token_mlp_work work = {0};
    size_t tokens = sv_shape_tokens(block->base.in), c = block->base.in.channels;
    work.tokens = sv_arena_reals(arena, tokens, c);
    work.channels = sv_arena_reals(arena, c, tokens);
    work.hidden = sv_arena_reals(arena, c, block->hidden);
    if (!training) {
        work.mean = sv_arena_reals(arena, tokens, 1);
        work.rstd = sv_arena_reals(arena, tokens, 1);
        return work;
    }
    work.dbranch_t = sv_arena_reals(arena, c, tokens);
    work.dx_norm_t = sv_arena_reals(arena, c, tokens);
    work.dhidden = sv_arena_reals(arena, c, block->hidden);
    work.gemm_scratch = sv_arena_take(arena, SV_GEMM_SCRATCH, 1, 1);
    return work;
}

static token_mlp_work worker_work(const token_mlp_call *call, uint32_t worker)
{
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    return take_work(&arena, call->block, call->run->pass.training);
}

static void take_partial_gradients(sv_partial_gradient list[PARAMETERS], sv_arena *arena,
                                   const token_mlp *block, size_t chunks)
{
    size_t tokens = sv_shape_tokens(block->base.in), c = block->base.in.channels;
    list[FC1_WEIGHT] = (sv_partial_gradient){block->fc1.weight, block->hidden * tokens, NULL};
    list[FC2_WEIGHT] = (sv_partial_gradient){block->fc2.weight, tokens * block->hidden, NULL};
    list[FC1_BIAS] = (sv_partial_gradient){block->fc1.bias, block->hidden, NULL};
    list[FC2_BIAS] = (sv_partial_gradient){block->fc2.bias, tokens, NULL};
    list[NORM_WEIGHT] = (sv_partial_gradient){block->norm_weight, c, NULL};
    list[NORM_BIAS] = (sv_partial_gradient){block->norm_bias, c, NULL};
    sv_partial_gradients_take(arena, list, PARAMETERS, chunks);
}

/* Bytes of the partial gradients of the weights, for one reduction chunk. */
static size_t weight_bytes(const token_mlp *block)
{
    return 2 * block->hidden * sv_shape_tokens(block->base.in) * sizeof(real);
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const token_mlp *block = (const token_mlp *)layer;
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    if (run->pass.training) {
        sv_partial_gradient partial[PARAMETERS];
        take_saved(&saved, block, run->pass.n);
        take_partial_gradients(partial, &workspace, block,
                               sv_reduction_chunks_max(run->pass.n, weight_bytes(block)));
    }
    take_work(&worker, block, run->pass.training);
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

static token_mlp_call make_call(const sv_layer *layer, const sv_run *run, void *saved)
{
    const token_mlp *block = (const token_mlp *)layer;
    token_mlp_call call = {.block = block,
                           .run = run,
                           .tokens = sv_shape_tokens(layer->in),
                           .c = layer->in.channels,
                           .hidden = block->hidden};
    if (saved) {
        sv_arena arena = {.base = saved};
        call.saved = take_saved(&arena, block, run->pass.n);
    }
    call.chunk_images = sv_reduction_chunk_images(run->pass.n, weight_bytes(block));
    return call;
}

/* The dropout of one image's rows, whose mask is among `words` of the batch; NULL: none. */
static sv_dropout image_dropout(const token_mlp_call *call, uint32_t *words, size_t image,
                                size_t rows, size_t columns)
{
    if (!words)
        return SV_NO_DROPOUT;
    return (sv_dropout){words + image * sv_block_count(rows, MASK_BITS) * columns,
                        call->block->dropout_scale};
}

static sv_dropout hidden_dropout(const token_mlp_call *call, size_t image)
{
    return image_dropout(call, call->saved.hidden_mask, image, call->c, call->hidden);
}

static sv_dropout branch_dropout(const token_mlp_call *call, size_t image)
{
    return image_dropout(call, call->saved.branch_mask, image, call->tokens, call->c);
}

/* The DropPath factor of an image; NULL: 1. */
static const real *image_scale(const token_mlp_call *call, size_t image)
{
    return call->saved.drop_path_scale ? call->saved.drop_path_scale + image : NULL;
}

/* Forward */

/* Draws mask `which` of an image. */
static void draw_mask(const token_mlp_call *call, uint32_t *words, uint32_t which, size_t image,
                      size_t rows, size_t columns)
{
    size_t blocks = sv_block_count(rows, MASK_BITS);
    if (words)
        sv_dropout_mask(call->run, call->block->base.number, which, call->block->dropout_threshold,
                        words + image * blocks * columns, image * blocks, blocks, columns);
}

/* work->channels = norm(x)^T */
static void normalize(const token_mlp_call *call, const token_mlp_work *work, size_t image)
{
    const token_mlp *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const real *weights = call->run->weights;
    size_t first = image * call->tokens;
    real *mean = call->saved.mean ? call->saved.mean + first : work->mean;
    real *rstd = call->saved.rstd ? call->saved.rstd + first : work->rstd;
    kernels->layer_norm(work->tokens, mean, rstd, call->in + first * call->c,
                        weights + block->norm_weight, weights + block->norm_bias, call->tokens,
                        call->c, block->eps);
    kernels->transpose(work->channels, work->tokens, call->tokens, call->c);
}

/* y = x + drop_path_scale * dropout(branch_t^T) */
static void add_branch(const token_mlp_call *call, const token_mlp_work *work, size_t image)
{
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t tokens = call->tokens, c = call->c, first = image * tokens * c;
    draw_mask(call, call->saved.branch_mask, 1, image, tokens, c);
    kernels->transpose(work->tokens, work->channels, c, tokens);
    kernels->residual(call->out + first, call->in + first, work->tokens,
                      branch_dropout(call, image), image_scale(call, image), tokens,
                      (sv_rows){0, tokens, c, c});
}

static void forward_task(void *argument, size_t image, uint32_t worker)
{
    const token_mlp_call *call = argument;
    const token_mlp *block = call->block;
    const token_mlp_work work = worker_work(call, worker);
    real *pre_gelu = call->saved.pre_gelu;
    draw_mask(call, call->saved.hidden_mask, 0, image, call->c, call->hidden);
    const sv_epilogue epilogue = {.dropout = hidden_dropout(call, image),
                                  .gelu = true,
                                  .save_pre_gelu =
                                      pre_gelu ? pre_gelu + image * call->c * call->hidden : NULL};
    normalize(call, &work, image);
    sv_linear_forward(&block->fc1, call->run, work.hidden, work.channels, call->c, &epilogue);
    sv_linear_forward(&block->fc2, call->run, work.channels, work.hidden, call->c, NULL);
    add_branch(call, &work, image);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    token_mlp_call call = make_call(layer, run, saved);
    call.out = y;
    call.in = x;
    if (call.saved.drop_path_scale)
        sv_draw_drop_path_scales(run, layer->number, call.block->drop_path,
                                 call.saved.drop_path_scale);
    sv_run_tasks(&run->exec, forward_task, &call, run->pass.n);
}

/* Backward. A task takes one reduction chunk, image after image, and adds each to the chunk's
 * partial gradients while its operands are in cache. */

/* dbranch_t = (drop_path_scale * keep * dy)^T
 * dhidden   = (dbranch_t W2) * keep * gelu'(pre_gelu);   hidden = keep * gelu(pre_gelu)
 * of  y = x + drop_path_scale * dropout((hidden W2^T + b2)^T),  keep being a dropout mask times its
 * scale. */
static void branch_backward(const token_mlp_call *call, const token_mlp_work *work, size_t image)
{
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t tokens = call->tokens, c = call->c;
    const sv_epilogue epilogue = {.dropout = hidden_dropout(call, image),
                                  .pre_gelu = call->saved.pre_gelu + image * c * call->hidden,
                                  .hidden = work->hidden};
    kernels->residual_backward(work->tokens, call->in + image * tokens * c,
                               branch_dropout(call, image), image_scale(call, image), tokens,
                               (sv_rows){0, tokens, c, c});
    kernels->transpose(work->dbranch_t, work->tokens, tokens, c);
    sv_linear_backward(&call->block->fc2, call->run, work->dhidden, work->dbranch_t, c, &epilogue);
}

/* dW[out, in] += dy[c, out]^T x[c, in], unless W is frozen;  db[out] += the column sums of dy */
static void add_linear(const token_mlp_call *call, const token_mlp_work *work,
                       const sv_linear *linear, real *dweight, real *dbias, const real *dy,
                       const real *x)
{
    const sv_weight_gradient_job job = {dweight, dy, x, linear->out, linear->in, call->c};
    sv_weight_gradient_whole(call->run, &job, work->gemm_scratch);
    call->run->exec.context->kernels->add_rows(dbias, dy, call->c, linear->out);
}

/* Of  pre_gelu = norm(x)^T W1^T + b1:  dx = dy + norm'((dhidden W1)^T) */
static void norm_backward(const token_mlp_call *call, const token_mlp_work *work,
                          real *const partial[PARAMETERS], size_t image)
{
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t tokens = call->tokens, c = call->c, first = image * tokens;
    const real *x = call->x + first * c;
    const real *mean = call->saved.mean + first, *rstd = call->saved.rstd + first;
    sv_linear_backward(&call->block->fc1, call->run, work->dx_norm_t, work->dhidden, c, NULL);
    kernels->transpose(work->tokens, work->dx_norm_t, c, tokens);
    kernels->norm_backward_parameters(partial[NORM_WEIGHT], partial[NORM_BIAS], work->tokens, x,
                                      mean, rstd, tokens, c);
    if (!call->out)
        return;
    real *dx = call->out + first * c;
    kernels->layer_norm_backward(dx, work->tokens, x, mean, rstd,
                                 call->run->weights + call->block->norm_weight, tokens, c);
    kernels->add(dx, call->in + first * c, tokens * c);
}

static void image_backward(const token_mlp_call *call, const token_mlp_work *work,
                           real *const partial[PARAMETERS], size_t image)
{
    const token_mlp *block = call->block;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    const real *weights = call->run->weights;
    size_t tokens = call->tokens, first = image * tokens;
    branch_backward(call, work, image);
    kernels->norm_apply(work->tokens, call->x + first * call->c, call->saved.mean + first,
                        call->saved.rstd + first, weights + block->norm_weight,
                        weights + block->norm_bias, tokens, call->c);
    kernels->transpose(work->channels, work->tokens, tokens, call->c);
    if (block->base.trained) {
        add_linear(call, work, &block->fc1, partial[FC1_WEIGHT], partial[FC1_BIAS], work->dhidden,
                   work->channels);
        add_linear(call, work, &block->fc2, partial[FC2_WEIGHT], partial[FC2_BIAS], work->dbranch_t,
                   work->hidden);
    }
    norm_backward(call, work, partial, image);
}

static void chunk_task(void *argument, size_t chunk, uint32_t worker)
{
    const token_mlp_call *call = argument;
    const token_mlp_work work = worker_work(call, worker);
    size_t first = chunk * call->chunk_images;
    real *partial[PARAMETERS];
    for (size_t i = 0; i < PARAMETERS; i++)
        partial[i] = sv_partial_gradient_of(&call->partial[i], chunk);
    for (size_t i = FC1_WEIGHT; i <= FC2_WEIGHT; i++)
        partial[i] = sv_partial_gradient_if_read(call->run, &call->partial[i], chunk);
    sv_partial_gradients_clear(call->partial, PARAMETERS, chunk);
    for (size_t i = 0; i < sv_block_length(call->run->pass.n, first, call->chunk_images); i++)
        image_backward(call, &work, partial, first + i);
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    token_mlp_call call = make_call(layer, run, saved);
    size_t chunks = sv_block_count(run->pass.n, call.chunk_images);
    sv_arena arena = {.base = run->exec.workspace};
    take_partial_gradients(call.partial, &arena, call.block, chunks);
    call.out = dx;
    call.in = dy;
    call.x = x;
    sv_run_tasks(&run->exec, chunk_task, &call, chunks);
    if (layer->trained)
        sv_partial_gradients_reduce(run, call.partial, PARAMETERS, chunks);
}

static const sv_layer_ops TOKEN_MLP_OPS = {.name = "token mlp block",
                                           .keeps_input = true,
                                           .plan_workspace = plan_workspace,
                                           .forward = forward,
                                           .backward = backward};

sv_layer *sv_token_mlp_create(const sv_layer_source *source, const sv_token_mlp_options *options)
{
    token_mlp *block = sv_layer_new(source, sizeof *block, &TOKEN_MLP_OPS);
    if (!block)
        return NULL;
    const sv_mlp_names *names = &options->names;
    size_t tokens = sv_shape_tokens(options->shape);
    block->base.in = block->base.out = options->shape;
    block->base.rows = options->shape.channels;
    block->hidden = options->hidden;
    block->eps = (real)options->eps;
    block->drop_path = options->drop_path;
    sv_dropout_rate(&block->dropout_threshold, &block->dropout_scale, options->dropout);
    sv_layer_linear(&block->base, &block->fc1, source, names->fc1, block->hidden, tokens);
    sv_layer_linear(&block->base, &block->fc2, source, names->fc2, tokens, block->hidden);
    block->norm_weight = sv_layer_parameter(&block->base, source, names->norm, ".weight");
    block->norm_bias = sv_layer_parameter(&block->base, source, names->norm, ".bias");
    return &block->base;
}
