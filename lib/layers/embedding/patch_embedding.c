/* A convolution: patch embedding and patch merging, whose kernel size equals the stride, and the
 * convolutions of a stem, whose patches overlap. The inference graph also has it fused with the
 * norm before it:
 *   y = patches W^T + b,  or  y = norm(patches) W^T + b
 * Reference: tests/reference/plain_patches.c. */
#include "layers/create.h"
#include "layers/linear/linear.h"

#include <assert.h>
#include <string.h>

/* With the norm a patch has 2 x 2 pixels; 8 tokens are normalised at once, while they are in L1. */
enum { PIXELS = 2 * 2, TOKENS_AT_ONCE = 8 };

typedef struct patch_layer {
    sv_layer base;
    sv_patch_geometry geometry;
    sv_linear linear;
    bool norm;                     /* each pixel of a patch is normalised */
    size_t norm_weight, norm_bias; /* offsets */
    real eps;
    /* On a small feature map, which pixels of each patch lie in the padding: each pixel is a
     * channel group. Period 0: zeros are not skipped. */
    sv_zero_skipping zeros;
} patch_layer;

typedef struct patch_call {
    const patch_layer *layer;
    const sv_run *run;
    real *patches; /* [tokens, in]: saved for the backward; NULL in inference */
    real *out;
    const real *in;
    sv_gemm_a small_m;  /* the patches, if the pass has few tokens */
    size_t tokens;      /* of the batch */
    size_t token_block; /* tokens of a full token block */
    size_t partitions;  /* of the columns, if the pass has few tokens */
} patch_call;

static size_t widest_row(const patch_layer *patch)
{
    return sv_size_max(patch->linear.in, patch->linear.out);
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    size_t n = run->pass.n;
    int training = run->pass.training;
    const patch_layer *patch = (const patch_layer *)layer;
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    size_t tokens = sv_shape_tokens(layer->out);
    if (training)
        sv_arena_reals(&saved, n * tokens, patch->linear.in);
    size_t token_block = sv_token_block_size_max(run, n * tokens, widest_row(patch));
    sv_arena_reals(&worker, token_block, patch->linear.in);
    if (!training)
        sv_arena_take(&workspace,
                      sv_packed_a_bytes(&run->exec, SV_SMALL_M_TOKENS, patch->linear.in), 1, 1);
    if (training)
        worker.bytes = sv_size_max(worker.bytes, SV_GEMM_SCRATCH);
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

static patch_call start_call(const sv_layer *layer, const sv_run *run, void *saved, real *out,
                             const real *in)
{
    const patch_layer *patch = (const patch_layer *)layer;
    size_t tokens = run->pass.n * sv_shape_tokens(layer->out);
    size_t partitions = sv_column_partition_count(
        patch->linear.out, sv_min_partition_columns(run->exec.gemm, SV_SMALL_M_TOKENS));
    return (patch_call){.layer = patch,
                        .run = run,
                        .patches = saved,
                        .out = out,
                        .in = in,
                        .tokens = tokens,
                        .token_block = sv_token_block_size(run, tokens, widest_row(patch)),
                        .partitions = partitions};
}

/* The set of a patch's pixels that lie in the padding: bit size * i + j for pixel (i, j). */
static unsigned padding_pixels(const sv_patch_geometry *map, size_t row, size_t column)
{
    unsigned set = 0;
    for (size_t i = 0; i < map->size; i++)
        for (size_t j = 0; j < map->size; j++) {
            size_t y = row * map->stride + i, x = column * map->stride + j;
            int in = y >= map->top && y < map->top + map->height && x >= map->left &&
                     x < map->left + map->width;
            set |= in ? 0 : 1u << (i * map->size + j);
        }
    return set;
}

/* rows[tokens, PIXELS, c] = norm(rows). Padding stays zero, since it is added after the norm. */
static void normalize(const patch_call *call, real *rows, size_t first, size_t tokens)
{
    const patch_layer *patch = call->layer;
    const sv_patch_geometry *map = &patch->geometry;
    const real *weights = call->run->weights;
    real mean[TOKENS_AT_ONCE * PIXELS], rstd[TOKENS_AT_ONCE * PIXELS];
    call->run->exec.context->kernels->layer_norm(
        rows, mean, rstd, rows, weights + patch->norm_weight, weights + patch->norm_bias,
        tokens * PIXELS, map->channels, patch->eps);
    for (size_t t = first; t < first + tokens; t++) {
        unsigned zeros = padding_pixels(map, t / map->columns % map->rows, t % map->columns);
        for (size_t pixel = 0; pixel < PIXELS; pixel++, rows += map->channels)
            if (zeros >> pixel & 1)
                memset(rows, 0, map->channels * sizeof(real));
    }
}

/* rows[tokens, size * size * c] = patches of x, or of norm(x) */
static void gather_rows(const patch_call *call, real *rows, size_t first, size_t tokens)
{
    const patch_layer *patch = call->layer;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    if (!patch->norm) {
        kernels->patch_gather(rows, call->in, &patch->geometry, first, tokens);
        return;
    }
    for (size_t t = 0; t < tokens; t += TOKENS_AT_ONCE) {
        size_t here = sv_block_length(tokens, t, TOKENS_AT_ONCE);
        real *some = rows + t * patch->linear.in;
        kernels->patch_gather(some, call->in, &patch->geometry, first + t, here);
        normalize(call, some, first + t, here);
    }
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    const patch_call *call = argument;
    const patch_layer *patch = call->layer;
    const sv_linear *linear = &patch->linear;
    size_t first = task * call->token_block,
           tokens = sv_block_length(call->tokens, first, call->token_block);
    real *rows = call->patches ? call->patches + first * linear->in
                               : (real *)(void *)sv_worker_scratch(&call->run->exec, worker);
    gather_rows(call, rows, first, tokens);
    const sv_epilogue epilogue = {.first_token = first,
                                  .not_in_cache = true,
                                  .zeros = patch->zeros.zero_groups.period ? &patch->zeros : NULL};
    sv_linear_forward(linear, call->run, call->out + first * linear->out, rows, tokens, &epilogue);
}

/* y[:, partition] = patches W^T, for few tokens. */
static void columns_task(void *argument, size_t part, uint32_t worker)
{
    (void)worker;
    const patch_call *call = argument;
    const sv_linear *linear = &call->layer->linear;
    sv_linear_forward_columns(linear, call->run, call->out, &call->small_m, call->tokens,
                              sv_column_partition(linear->out, call->partitions, part), NULL);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    patch_call call = start_call(layer, run, saved, y, x);
    if (sv_is_small_m(run, call.tokens)) {
        real *rows = (real *)(void *)sv_worker_scratch(&run->exec, 0);
        gather_rows(&call, rows, 0, call.tokens);
        call.small_m =
            sv_pack_a(&run->exec, rows, call.tokens, call.layer->linear.in, run->exec.workspace);
        sv_run_tasks(&run->exec, columns_task, &call, call.partitions);
        return;
    }
    sv_run_tasks(&run->exec, forward_task, &call, sv_block_count(call.tokens, call.token_block));
}

static void clear_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const patch_call *call = argument;
    sv_shape in = call->layer->base.in;
    size_t elements = sv_shape_elements(in);
    memset(call->out + image * elements, 0, elements * sizeof(real));
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    const patch_call *call = argument;
    const sv_linear *linear = &call->layer->linear;
    size_t first = task * call->token_block,
           tokens = sv_block_length(call->tokens, first, call->token_block);
    real *rows = (real *)(void *)sv_worker_scratch(&call->run->exec, worker);
    sv_linear_backward(linear, call->run, rows, call->in + first * linear->out, tokens, NULL);
    call->run->exec.context->kernels->patch_scatter(call->out, rows, &call->layer->geometry, first,
                                                    tokens);
}

static bool overlaps(const patch_layer *patch)
{
    return patch->geometry.stride < patch->geometry.size;
}

/* Computes dx of one image if patches overlap. The gradient of a pixel is then a sum over several
 * patches, so one task adds all patches of an image, and no two tasks write to the same pixel. */
static void backward_image_task(void *argument, size_t image, uint32_t worker)
{
    const patch_call *call = argument;
    const patch_layer *patch = call->layer;
    const size_t tokens = sv_shape_tokens(patch->base.out);
    real *rows = (real *)(void *)sv_worker_scratch(&call->run->exec, worker);
    clear_task(argument, image, worker);
    for (size_t at = 0, here; at < tokens; at += here) {
        size_t first = image * tokens + at;
        here = sv_block_length(tokens, at, call->token_block);
        sv_linear_backward(&patch->linear, call->run, rows, call->in + first * patch->linear.out,
                           here, NULL);
        call->run->exec.context->kernels->patch_scatter_add(call->out, rows, &patch->geometry,
                                                            first, here);
    }
}

/* dW += dy^T patches;  db += dy */
static void add_gradients(const patch_call *call)
{
    const sv_linear *linear = &call->layer->linear;
    const sv_run *run = call->run;
    sv_weight_gradient_job job = {sv_gradient(run, linear->weight),
                                  call->in,
                                  call->patches,
                                  linear->out,
                                  linear->in,
                                  call->tokens};
    sv_weight_gradients(run, &job, 1);
    sv_add_rows_to_gradient(run, linear->bias, call->in, call->tokens, linear->out);
}

/* Of y = patches W^T + b:  dW += dy^T patches;  db += dy;  dx = scatter(dy W). Pixels that no patch
 * covers (VALID padding) get no gradient, so dx is cleared first. */
static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)x;
    const patch_layer *patch = (const patch_layer *)layer;
    patch_call call = start_call(layer, run, saved, dx, dy);
    if (layer->trained)
        add_gradients(&call);
    if (!dx)
        return;
    if (overlaps(patch)) {
        sv_run_tasks(&run->exec, backward_image_task, &call, run->pass.n);
        return;
    }
    if (patch->geometry.rows * patch->geometry.size <
            patch->geometry.height + patch->geometry.top ||
        patch->geometry.columns * patch->geometry.size <
            patch->geometry.width + patch->geometry.left)
        sv_run_tasks(&run->exec, clear_task, &call, run->pass.n);
    sv_run_tasks(&run->exec, backward_task, &call, sv_block_count(call.tokens, call.token_block));
}

static const sv_layer_ops PATCH_OPS = {
    .name = "patches", .plan_workspace = plan_workspace, .forward = forward, .backward = backward};

/* Returns the lines of the output and in *before the lines of padding before the input: SAME pads
 * half of what is missing, rounded down, before. */
static size_t output_lines(size_t *before, size_t lines, size_t size, int same)
{
    if (!same) {
        *before = 0;
        return lines / size;
    }
    size_t out = (lines + size - 1) / size;
    *before = (out * size - lines) / 2;
    return out;
}

/* Finds the pixels of patches that lie in the padding, if the feature map is small and zero
 * skipping has a group for each pixel of a patch. Patches that overlap have more pixels. */
static void find_zeros(patch_layer *patch)
{
    const sv_patch_geometry *map = &patch->geometry;
    size_t tokens = map->rows * map->columns;
    sv_zero_groups zero_groups = {.period = tokens, .width = map->channels};
    unsigned any = 0;
    if (overlaps(patch) || tokens > SV_ZERO_GROUPS_TOKENS ||
        map->size * map->size > SV_ZERO_GROUPS_COUNT)
        return;
    for (size_t t = 0; t < tokens; t++) {
        unsigned set = padding_pixels(map, t / map->columns, t % map->columns);
        zero_groups.groups[t] = (uint8_t)set;
        any |= set;
    }
    if (any)
        patch->zeros.zero_groups = zero_groups;
}

static void set_norm(patch_layer *patch, const sv_layer_source *source, const sv_norm_options *norm)
{
    assert(patch->geometry.size * patch->geometry.size == PIXELS && !norm->per_image);
    patch->norm = true;
    patch->norm_weight = sv_layer_parameter(&patch->base, source, norm->name, ".weight");
    patch->norm_bias = sv_layer_parameter(&patch->base, source, norm->name, ".bias");
    patch->eps = (real)norm->eps;
}

/* Sets the stride, the number of patches in each direction, and the padding at the top and the
 * left. With options->stride patches may overlap, as in a convolution with a padding of
 * (size - 1) / 2. Without it they do not, and options->same_padding says how the border is padded.
 */
static void set_stride(sv_patch_geometry *map, const sv_patch_options *options)
{
    map->stride = options->stride ? options->stride : options->size;
    if (options->stride) {
        map->rows = (map->height + map->stride - 1) / map->stride;
        map->columns = (map->width + map->stride - 1) / map->stride;
        map->top = map->left = (map->size - 1) / 2;
        return;
    }
    map->rows = output_lines(&map->top, map->height, options->size, options->same_padding);
    map->columns = output_lines(&map->left, map->width, options->size, options->same_padding);
}

sv_layer *sv_patch_create(const sv_layer_source *source, const sv_patch_options *options)
{
    patch_layer *patch = sv_layer_new(source, sizeof *patch, &PATCH_OPS);
    if (!patch)
        return NULL;
    sv_shape in = options->in;
    sv_patch_geometry *map = &patch->geometry;
    *map = (sv_patch_geometry){
        .height = in.height, .width = in.width, .channels = in.channels, .size = options->size};
    set_stride(map, options);
    patch->base.in = in;
    patch->base.out = (sv_shape){map->rows, map->columns, options->channels_out};
    find_zeros(patch);
    if (options->norm)
        set_norm(patch, source, options->norm);
    sv_layer_linear(&patch->base, &patch->linear, source, options->name, options->channels_out,
                    options->size * options->size * in.channels);
    return &patch->base;
}
