/* Small layers over tokens: the prefix tokens and the position embedding, and the choice of the
 * first tokens. */
#include "layers/create.h"
#include "layers/linear/linear.h"

#include <string.h>

enum { PREFIX_KINDS = 3 };

/* The tokens of one parameter, before the patches. */
typedef struct prefix_tokens {
    size_t parameter, count; /* offset; count 0: none */
} prefix_tokens;

typedef struct token_layer {
    sv_layer base;
    size_t position;                   /* offset; SV_NO_PARAMETER: none */
    prefix_tokens kinds[PREFIX_KINDS]; /* in token order */
    size_t prefix;                     /* tokens before the patches */
    size_t positioned;                 /* how many of these, from the first on, have positions */
} token_layer;

typedef struct token_call {
    const token_layer *layer;
    const sv_run *run;
    real *out;
    const real *in;
} token_call;

/* A range of the position embedding, and the range of an image's output to which it is added. */
typedef struct position_range {
    size_t from, to, elements;
} position_range;

/* The ranges: the rows of the positioned prefix tokens, then those of the patches. */
static size_t range_count(const token_layer *layer)
{
    return layer->position == SV_NO_PARAMETER ? 0 : 2;
}

static position_range range_of(const token_layer *layer, size_t which)
{
    size_t c = layer->base.in.channels;
    if (which == 0)
        return (position_range){0, 0, layer->positioned * c};
    return (position_range){layer->positioned * c, layer->prefix * c,
                            sv_shape_elements(layer->base.in)};
}

/* y[n, prefix + T, c] = [prefix, x[n]], then y += position where tokens have one */
static void position_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const token_call *call = argument;
    const token_layer *layer = call->layer;
    const real *weights = call->run->weights;
    const size_t c = layer->base.in.channels, elements = sv_shape_elements(layer->base.in);
    real *y = call->out + image * sv_shape_elements(layer->base.out), *token = y;
    for (size_t i = 0; i < PREFIX_KINDS; i++) {
        const prefix_tokens *kind = &layer->kinds[i];
        if (kind->count > 0)
            memcpy(token, weights + kind->parameter, kind->count * c * sizeof(real));
        token += kind->count * c;
    }
    memcpy(token, call->in + image * elements, elements * sizeof(real));
    for (size_t i = 0; i < range_count(layer); i++) {
        const position_range range = range_of(layer, i);
        call->run->exec.context->kernels->add(y + range.to, weights + layer->position + range.from,
                                              range.elements);
    }
}

static void position_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                             const real *x)
{
    (void)saved;
    token_call call = {(const token_layer *)layer, run, y, x};
    sv_run_tasks(&run->exec, position_task, &call, run->pass.n);
}

enum { SUM_ELEMENTS = 512 };

typedef struct sum_call {
    const token_call *call;
    position_range range;
} sum_call;

/* Some elements of dposition += sum over n of dy[n], images in index order. */
static void position_sum_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const sum_call *sum = argument;
    const token_call *call = sum->call;
    const size_t all = sv_shape_elements(call->layer->base.out), first = task * SUM_ELEMENTS;
    const size_t count = sv_block_length(sum->range.elements, first, SUM_ELEMENTS);
    real *total = sv_gradient(call->run, call->layer->position + sum->range.from + first);
    for (size_t image = 0; image < call->run->pass.n; image++)
        call->run->exec.context->kernels->add(total, call->in + image * all + sum->range.to + first,
                                              count);
}

/* The gradients of the prefix tokens, and of the patches in dx unless it is NULL. */
static void image_backward(const token_layer *layer, const sv_run *run, real *dx, const real *dy)
{
    const size_t c = layer->base.in.channels;
    for (size_t i = 0; i < PREFIX_KINDS; i++) {
        const prefix_tokens *kind = &layer->kinds[i];
        if (kind->count > 0)
            sv_add_to_gradient(run, kind->parameter, dy, kind->count * c);
        dy += kind->count * c;
    }
    if (dx)
        memcpy(dx, dy, sv_shape_elements(layer->base.in) * sizeof(real));
}

static void position_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                              const real *dy, const real *x)
{
    (void)saved;
    (void)x;
    const token_layer *position = (const token_layer *)layer;
    const size_t in = sv_shape_elements(layer->in), out = sv_shape_elements(layer->out);
    token_call call = {position, run, NULL, dy};
    const bool is_trained = sv_gradient(run, position->position) != NULL;
    for (size_t i = 0; is_trained && i < range_count(position); i++) {
        sum_call sum = {&call, range_of(position, i)};
        sv_run_tasks(&run->exec, position_sum_task, &sum,
                     sv_block_count(sum.range.elements, SUM_ELEMENTS));
    }
    for (size_t image = 0; image < run->pass.n; image++)
        image_backward(position, run, dx ? dx + image * in : NULL, dy + image * out);
}

static const sv_layer_ops POSITION_OPS = {
    .name = "position embedding", .forward = position_forward, .backward = position_backward};

static void add_prefix(token_layer *layer, size_t index, const sv_layer_source *source,
                       const char *name, size_t count)
{
    if (!name || count == 0)
        return;
    layer->kinds[index] =
        (prefix_tokens){sv_layer_parameter(&layer->base, source, name, ""), count};
    layer->prefix += count;
}

sv_layer *sv_position_create(const sv_layer_source *source, const sv_position_options *options)
{
    token_layer *layer = sv_layer_new(source, sizeof *layer, &POSITION_OPS);
    if (!layer)
        return NULL;
    const sv_shape in = options->in;
    layer->position = sv_layer_parameter_if(&layer->base, source, options->position, "");
    add_prefix(layer, 0, source, options->class_token, 1);
    add_prefix(layer, 1, source, options->distillation_token, 1);
    add_prefix(layer, 2, source, options->register_tokens, options->register_count);
    layer->positioned = options->positioned_prefix;
    layer->base.in = in;
    layer->base.out = (sv_shape){1, sv_shape_tokens(in) + layer->prefix, in.channels};
    return &layer->base;
}

static void first_tokens_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                                 const real *x)
{
    (void)saved;
    size_t in = sv_shape_elements(layer->in), out = sv_shape_elements(layer->out);
    for (size_t image = 0; image < run->pass.n; image++)
        memcpy(y + image * out, x + image * in, out * sizeof(real));
}

static void first_tokens_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                                  const real *dy, const real *x)
{
    (void)saved;
    (void)x;
    size_t in = sv_shape_elements(layer->in), out = sv_shape_elements(layer->out);
    memset(dx, 0, run->pass.n * in * sizeof(real));
    for (size_t image = 0; image < run->pass.n; image++)
        memcpy(dx + image * in, dy + image * out, out * sizeof(real));
}

static const sv_layer_ops FIRST_OPS = {
    .name = "first tokens", .forward = first_tokens_forward, .backward = first_tokens_backward};

sv_layer *sv_first_tokens_create(const sv_layer_source *source, sv_shape in, size_t count)
{
    sv_layer *layer = sv_layer_new(source, sizeof *layer, &FIRST_OPS);
    if (!layer)
        return NULL;
    layer->in = in;
    layer->out = (sv_shape){1, count, in.channels};
    return layer;
}
