/* Shifted patch tokenization (Lee, Lee, Song 2021): y = norm(patches) W^T + b, of patches of an
 * image and of its four diagonally shifted copies. The patches have five times the elements of the
 * image, so they are gathered one token block at a time, again in the backward, and never saved.
 * Reference: tests/reference/plain_patches.c. */
#include "layers/linear/partial_gradients.h"
#include "layers/norm.h"

#include <string.h>

typedef struct shifted_layer {
    sv_layer base;
    sv_patch_geometry patches;
    int paper_order;
    sv_norm norm;
    real eps;
    sv_linear linear;
} shifted_layer;

typedef struct shifted_saved {
    real *mean, *rstd; /* [tokens] */
} shifted_saved;

/* The parameters, in the order of the partial gradients. */
enum { WEIGHT, BIAS, NORM_WEIGHT, NORM_BIAS, PARAMETERS };

/* A worker's scratch for one token block. */
typedef struct shifted_work {
    real *patches, *x_norm; /* [token block, in] */
    /* The backward alone: */
    real *dx_norm;      /* [token block, in] */
    void *gemm_scratch; /* of a weight gradient */
} shifted_work;

typedef struct shifted_call {
    const shifted_layer *layer;
    const sv_run *run;
    shifted_saved saved;
    sv_partial_gradient partial[PARAMETERS];
    real *out;           /* dx, in the backward; NULL: not wanted */
    const real *in;      /* dy, in the backward */
    const real *images;  /* [n, height, width, channels] */
    size_t tokens;       /* of the batch */
    size_t token_block;  /* tokens of a full token block */
    size_t chunk_images; /* images of a full reduction chunk */
} shifted_call;

static size_t tokens_of(const shifted_layer *layer, const sv_run *run)
{
    return run->pass.n * sv_shape_tokens(layer->base.out);
}

static size_t weight_bytes(const shifted_layer *layer)
{
    return layer->linear.out * layer->linear.in * sizeof(real);
}

static shifted_saved layout_saved(sv_arena *arena, const shifted_layer *layer, size_t n)
{
    shifted_saved saved;
    saved.mean = sv_arena_reals(arena, n, sv_shape_tokens(layer->base.out));
    saved.rstd = sv_arena_reals(arena, n, sv_shape_tokens(layer->base.out));
    return saved;
}

static void take_partial_gradients(sv_partial_gradient list[PARAMETERS], sv_arena *arena,
                                   const shifted_layer *layer, size_t chunks)
{
    const sv_linear *linear = &layer->linear;
    list[WEIGHT] = (sv_partial_gradient){linear->weight, linear->out * linear->in, NULL};
    list[BIAS] = (sv_partial_gradient){linear->bias, linear->out, NULL};
    list[NORM_WEIGHT] = (sv_partial_gradient){layer->norm.weight, linear->in, NULL};
    list[NORM_BIAS] = (sv_partial_gradient){layer->norm.bias, linear->in, NULL};
    sv_partial_gradients_take(arena, list, PARAMETERS, chunks);
}

static shifted_work take_work(sv_arena *arena, const shifted_layer *layer, size_t token_block,
                              int training)
{
    shifted_work work = {0};
    work.patches = sv_arena_reals(arena, token_block, layer->linear.in);
    work.x_norm = sv_arena_reals(arena, token_block, layer->linear.in);
    if (!training)
        return work;
    work.dx_norm = sv_arena_reals(arena, token_block, layer->linear.in);
    work.gemm_scratch = sv_arena_take(arena, SV_GEMM_SCRATCH, 1, 1);
    return work;
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const shifted_layer *shifted = (const shifted_layer *)layer;
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    layout_saved(run->pass.training ? &saved : &workspace, shifted, run->pass.n);
    if (run->pass.training) {
        sv_partial_gradient partial[PARAMETERS];
        take_partial_gradients(partial, &workspace, shifted,
                               sv_reduction_chunks_max(run->pass.n, weight_bytes(shifted)));
    }
    size_t token_block = sv_token_block_size_max(run, tokens_of(shifted, run), shifted->linear.in);
    take_work(&worker, shifted, token_block, run->pass.training);
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

static shifted_call start_call(const sv_layer *layer, const sv_run *run, void *saved)
{
    const shifted_layer *shifted = (const shifted_layer *)layer;
    shifted_call call = {.layer = shifted, .run = run};
    sv_arena arena = {.base = saved ? saved : run->exec.workspace};
    call.saved = layout_saved(&arena, shifted, run->pass.n);
    call.tokens = tokens_of(shifted, run);
    call.token_block = sv_token_block_size(run, call.tokens, shifted->linear.in);
    call.chunk_images = sv_reduction_chunk_images(run->pass.n, weight_bytes(shifted));
    return call;
}

static shifted_work find_work(const shifted_call *call, uint32_t worker)
{
    sv_arena arena = {.base = sv_worker_scratch(&call->run->exec, worker)};
    return take_work(&arena, call->layer, call->token_block, call->run->pass.training);
}

static void gather(const shifted_call *call, real *patches, size_t first, size_t tokens)
{
    const shifted_layer *layer = call->layer;
    call->run->exec.context->kernels->shifted_patches(patches, call->images, &layer->patches,
                                                      layer->paper_order, first, tokens);
}

/* y = norm(patches) W^T + b */
static void forward_task(void *argument, size_t task, uint32_t worker)
{
    const shifted_call *call = argument;
    const shifted_layer *layer = call->layer;
    shifted_work work = find_work(call, worker);
    size_t first = task * call->token_block,
           tokens = sv_block_length(call->tokens, first, call->token_block);
    gather(call, work.patches, first, tokens);
    sv_norm_forward(&layer->norm, call->run, work.x_norm, call->saved.mean + first,
                    call->saved.rstd + first, work.patches, tokens, layer->linear.in, layer->eps);
    sv_linear_forward(&layer->linear, call->run, call->out + first * layer->linear.out, work.x_norm,
                      tokens, NULL);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    shifted_call call = start_call(layer, run, saved);
    call.out = y;
    call.images = x;
    sv_run_tasks(&run->exec, forward_task, &call, sv_block_count(call.tokens, call.token_block));
}

/* Adds to a chunk's partial gradients what `tokens` tokens of the batch from token `first`
 * contribute:  dW += dy^T x_norm;  db += dy;  weight and bias of the norm likewise. */
static void add_gradients(const shifted_call *call, real *const partial[PARAMETERS],
                          const shifted_work *work, size_t first, size_t tokens)
{
    const shifted_layer *layer = call->layer;
    const sv_linear *linear = &layer->linear;
    const sv_run *run = call->run;
    const sv_kernels *kernels = run->exec.context->kernels;
    const real *mean = call->saved.mean + first, *rstd = call->saved.rstd + first;
    const real *dy = call->in + first * linear->out;
    sv_norm_again(&layer->norm, run, work->x_norm, work->patches, mean, rstd, tokens, linear->in);
    const sv_weight_gradient_job job = {partial[WEIGHT], dy,         work->x_norm,
                                        linear->out,     linear->in, tokens};
    sv_weight_gradient_whole(run, &job, work->gemm_scratch);
    kernels->add_rows(partial[BIAS], dy, tokens, linear->out);
    sv_norm_add_gradients(&layer->norm, run, partial[NORM_WEIGHT], partial[NORM_BIAS],
                          work->dx_norm, work->patches, mean, rstd, tokens, linear->in);
}

/* dx += the pixels of  dpatches = norm'(dx_norm)  of `tokens` tokens. A pixel is in several
 * patches, because of the shifted copies, so its gradient is a sum. */
static void add_to_images(const shifted_call *call, const shifted_work *work, size_t first,
                          size_t tokens)
{
    const shifted_layer *layer = call->layer;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    real *dpatches = work->x_norm;
    sv_norm_backward(&layer->norm, call->run, dpatches, work->dx_norm, work->patches,
                     call->saved.mean + first, call->saved.rstd + first, tokens, layer->linear.in);
    kernels->shifted_patches_add(call->out, dpatches, &layer->patches, layer->paper_order, first,
                                 tokens);
}

/* Of  y = norm(patches) W^T + b  for `tokens` tokens:  dx_norm = dy W, and from it the gradients of
 * the parameters and of the images. */
static void backward_block(const shifted_call *call, real *const partial[PARAMETERS],
                           const shifted_work *work, size_t first, size_t tokens)
{
    const sv_linear *linear = &call->layer->linear;
    gather(call, work->patches, first, tokens);
    sv_linear_backward(linear, call->run, work->dx_norm, call->in + first * linear->out, tokens,
                       NULL);
    if (call->layer->base.trained)
        add_gradients(call, partial, work, first, tokens);
    if (call->out)
        add_to_images(call, work, first, tokens);
}

/* Clears dx of the images that have the tokens from `first` to `end`. */
static void clear_images(const shifted_call *call, size_t first, size_t end)
{
    const sv_layer *layer = &call->layer->base;
    const size_t tokens = sv_shape_tokens(layer->out), elements = sv_shape_elements(layer->in);
    memset(call->out + first / tokens * elements, 0,
           (end - first) / tokens * elements * sizeof(real));
}

static void chunk_task(void *argument, size_t chunk, uint32_t worker)
{
    const shifted_call *call = argument;
    shifted_work work = find_work(call, worker);
    size_t image = sv_shape_tokens(call->layer->base.out), each = call->chunk_images * image;
    size_t first = chunk * each, end = first + sv_block_length(call->tokens, first, each);
    real *partial[PARAMETERS];
    sv_partial_gradients_clear(call->partial, PARAMETERS, chunk);
    for (size_t i = 0; i < PARAMETERS; i++)
        partial[i] = sv_partial_gradient_of(&call->partial[i], chunk);
    partial[WEIGHT] = sv_partial_gradient_if_read(call->run, &call->partial[WEIGHT], chunk);
    if (call->out)
        clear_images(call, first, end);
    for (; first < end; first += call->token_block)
        backward_block(call, partial, &work, first, sv_block_length(end, first, call->token_block));
}

/* A reduction chunk is a number of whole images, so one task sums the gradient of a pixel. */
static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    shifted_call call = start_call(layer, run, saved);
    size_t chunks = sv_block_count(run->pass.n, call.chunk_images);
    sv_arena arena = {.base = run->exec.workspace};
    take_partial_gradients(call.partial, &arena, call.layer, chunks);
    call.out = dx;
    call.in = dy;
    call.images = x;
    sv_run_tasks(&run->exec, chunk_task, &call, chunks);
    if (layer->trained)
        sv_partial_gradients_reduce(run, call.partial, PARAMETERS, chunks);
}

static const sv_layer_ops SHIFTED_OPS = {.name = "shifted patch tokens",
                                         .keeps_input = 1,
                                         .plan_workspace = plan_workspace,
                                         .forward = forward,
                                         .backward = backward};

sv_layer *sv_shifted_tokens_create(const sv_layer_source *source, const sv_shifted_options *options)
{
    shifted_layer *layer = sv_layer_new(source, sizeof *layer, &SHIFTED_OPS);
    if (!layer)
        return NULL;
    sv_shape in = options->in;
    size_t size = options->size;
    layer->patches = (sv_patch_geometry){.height = in.height,
                                         .width = in.width,
                                         .channels = in.channels,
                                         .rows = in.height / size,
                                         .columns = in.width / size,
                                         .size = size,
                                         .stride = size};
    layer->paper_order = options->paper_order;
    layer->eps = (real)options->eps;
    layer->norm = sv_norm_find(&layer->base, source, options->norm);
    layer->base.in = in;
    layer->base.out =
        (sv_shape){layer->patches.rows, layer->patches.columns, options->channels_out};
    sv_layer_linear(&layer->base, &layer->linear, source, options->projection,
                    options->channels_out, size * size * in.channels * SV_COPIES);
    return &layer->base;
}
