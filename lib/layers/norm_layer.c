/* Layer norm of each token, or group norm of each image with one group, as a layer. */
#include "layers/linear/linear.h"
#include "layers/norm.h"

typedef struct norm_layer {
    sv_layer base;
    sv_norm norm;
    bool per_image; /* group norm */
    real eps;
} norm_layer;

typedef struct norm_saved {
    real *mean, *rstd; /* [tokens] */
} norm_saved;

/* A task is an image with group norm, a token block with layer norm. */
typedef struct norm_call {
    const norm_layer *layer;
    const sv_run *run;
    norm_saved saved;
    real *out, *partials;
    const real *dy, *x;
    size_t tokens, token_block;
} norm_call;

static size_t token_block_of(const norm_layer *norm, const sv_run *run)
{
    size_t tokens = sv_shape_tokens(norm->base.in);
    return norm->per_image ? tokens
                           : sv_token_block_size(run, run->pass.n * tokens, norm->base.in.channels);
}

static norm_saved layout_saved(sv_arena *arena, const norm_layer *norm, size_t n)
{
    norm_saved saved;
    saved.mean = sv_arena_reals(arena, n, sv_shape_tokens(norm->base.in));
    saved.rstd = sv_arena_reals(arena, n, sv_shape_tokens(norm->base.in));
    return saved;
}

/* Takes the tasks' partial sums of dweight and dbias: [tasks, 2, c]. */
static real *layout_partials(sv_arena *arena, const norm_layer *norm, const sv_run *run)
{
    size_t tasks = sv_token_block_count_max(run->pass.n * sv_shape_tokens(norm->base.in),
                                            token_block_of(norm, run));
    return sv_arena_reals(arena, 2 * tasks, norm->base.in.channels);
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    size_t n = run->pass.n;
    int training = run->pass.training;
    const norm_layer *norm = (const norm_layer *)layer;
    sv_arena saved = {0}, workspace = {0}, worker = {0};
    layout_saved(training ? &saved : &workspace, norm, n);
    if (training)
        layout_partials(&workspace, norm, run);
    sv_layer_memory_set(memory, &saved, &workspace, &worker);
}

static norm_call start_call(const norm_layer *norm, const sv_run *run, void *saved)
{
    norm_call call = {.layer = norm, .run = run};
    sv_arena arena = {.base = saved ? saved : run->exec.workspace};
    call.saved = layout_saved(&arena, norm, run->pass.n);
    call.tokens = run->pass.n * sv_shape_tokens(norm->base.in);
    call.token_block = token_block_of(norm, run);
    return call;
}

static void forward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const norm_call *call = argument;
    const norm_layer *norm = call->layer;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = norm->base.in.channels, first = task * call->token_block;
    size_t tokens = sv_block_length(call->tokens, first, call->token_block);
    const real *x = call->x + first * c;
    real *mean = call->saved.mean + first, *rstd = call->saved.rstd + first;
    if (norm->per_image) {
        kernels->norm_moments(mean, rstd, x, tokens, c, norm->eps);
        sv_norm_again(&norm->norm, call->run, call->out + first * c, x, mean, rstd, tokens, c);
    } else {
        sv_norm_forward(&norm->norm, call->run, call->out + first * c, mean, rstd, x, tokens, c,
                        norm->eps);
    }
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    norm_call call = start_call((const norm_layer *)layer, run, saved);
    call.out = y;
    call.x = x;
    sv_run_tasks(&run->exec, forward_task, &call, sv_block_count(call.tokens, call.token_block));
}

static void backward_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const norm_call *call = argument;
    const norm_layer *norm = call->layer;
    const sv_kernels *kernels = call->run->exec.context->kernels;
    size_t c = norm->base.in.channels, first = task * call->token_block;
    size_t tokens = sv_block_length(call->tokens, first, call->token_block);
    const real *x = call->x + first * c, *dy = call->dy + first * c;
    const real *mean = call->saved.mean + first, *rstd = call->saved.rstd + first;
    real *dweight = call->partials + 2 * task * c;
    for (size_t i = 0; i < 2 * c; i++)
        dweight[i] = 0;
    sv_norm_add_gradients(&norm->norm, call->run, dweight, dweight + c, dy, x, mean, rstd, tokens,
                          c);
    if (!call->out)
        return;
    if (norm->per_image)
        kernels->group_norm_backward(call->out + first * c, dy, x, mean, rstd,
                                     call->run->weights + norm->norm.weight, tokens, c);
    else
        sv_norm_backward(&norm->norm, call->run, call->out + first * c, dy, x, mean, rstd, tokens,
                         c);
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    const norm_layer *norm = (const norm_layer *)layer;
    norm_call call = start_call(norm, run, saved);
    sv_arena workspace = {.base = run->exec.workspace};
    call.partials = layout_partials(&workspace, norm, run);
    call.out = dx;
    call.dy = dy;
    call.x = x;
    size_t tasks = sv_block_count(call.tokens, call.token_block), c = norm->base.in.channels;
    sv_run_tasks(&run->exec, backward_task, &call, tasks);
    for (size_t task = 0; layer->trained && task < tasks; task++) {
        sv_add_to_gradient(run, norm->norm.weight, call.partials + 2 * task * c, c);
        sv_add_to_gradient(run, norm->norm.bias, call.partials + (2 * task + 1) * c, c);
    }
}

static const sv_layer_ops NORM_OPS = {.name = "norm",
                                      .keeps_input = 1,
                                      .plan_workspace = plan_workspace,
                                      .forward = forward,
                                      .backward = backward};

sv_layer *sv_norm_create(const sv_layer_source *source, const sv_norm_options *options)
{
    norm_layer *norm = sv_layer_new(source, sizeof *norm, &NORM_OPS);
    if (!norm)
        return NULL;
    norm->base.in = norm->base.out = options->shape;
    norm->norm = sv_norm_find(&norm->base, source, options->name);
    norm->per_image = options->per_image;
    norm->eps = (real)options->eps;
    return &norm->base;
}
