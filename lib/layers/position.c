/* Small layers over tokens: position embedding with an optional class token, and the choice of the
 * first token. */
#include "layers/create.h"
#include "layers/linear.h"

#include <string.h>

typedef struct token_layer {
    sv_layer base;
    size_t position, class_token; /* offsets; class_token may be SV_NO_PARAMETER */
} token_layer;

typedef struct token_call {
    const token_layer *layer;
    const sv_run *run;
    real *out;
    const real *in;
} token_call;

static size_t extra_tokens(const token_layer *layer)
{
    return layer->class_token == SV_NO_PARAMETER ? 0 : 1;
}

static void position_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const token_call *call = argument;
    const token_layer *layer = call->layer;
    const real *weights = call->run->weights;
    size_t c = layer->base.in.channels, tokens = sv_shape_tokens(layer->base.in);
    size_t extra = extra_tokens(layer);
    real *y = call->out + image * (tokens + extra) * c;
    if (extra)
        memcpy(y, weights + layer->class_token, c * sizeof(real));
    memcpy(y + extra * c, call->in + image * tokens * c, tokens * c * sizeof(real));
    call->run->exec.context->kernels->add(y, weights + layer->position, (tokens + extra) * c);
}

static void position_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                             const real *x)
{
    (void)saved;
    token_call call = {(const token_layer *)layer, run, y, x};
    sv_run_tasks(&run->exec, position_task, &call, run->pass.n);
}

enum { SUM_ELEMENTS = 512 };

/* A range of elements of dposition[T, c] += sum over n of dy[n, T, c], images in index order. */
static void position_sum_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const token_call *call = argument;
    size_t all = sv_shape_elements(call->layer->base.out);
    size_t first = task * SUM_ELEMENTS;
    size_t here = all - first < SUM_ELEMENTS ? all - first : SUM_ELEMENTS;
    real *sum = call->run->gradients + call->layer->position + first;
    for (size_t image = 0; image < call->run->pass.n; image++)
        call->run->exec.context->kernels->add(sum, call->in + image * all + first, here);
}

static void position_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                              const real *dy, const real *x)
{
    (void)saved;
    (void)x;
    const token_layer *position = (const token_layer *)layer;
    size_t c = layer->in.channels, tokens = sv_shape_tokens(layer->in);
    size_t extra = extra_tokens(position), all = (tokens + extra) * c;
    token_call call = {position, run, NULL, dy};
    sv_run_tasks(&run->exec, position_sum_task, &call, sv_block_count(all, SUM_ELEMENTS));
    for (size_t image = 0; image < run->pass.n; image++) {
        if (extra)
            run->exec.context->kernels->add(run->gradients + position->class_token,
                                            dy + image * all, c);
        if (dx)
            memcpy(dx + image * tokens * c, dy + image * all + extra * c,
                   tokens * c * sizeof(real));
    }
}

static const sv_layer_ops POSITION_OPS = {
    .name = "position embedding", .forward = position_forward, .backward = position_backward};

svit_status sv_position_create(sv_layer **out, svit_context *context,
                               const sv_parameter_table *table, sv_shape in, const char *position,
                               const char *class_token, svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(token_layer), &POSITION_OPS, err));
    token_layer *layer = memory;
    layer->position = sv_layer_parameter(table, position, "");
    layer->class_token = class_token ? sv_layer_parameter(table, class_token, "") : SV_NO_PARAMETER;
    layer->base.in = in;
    layer->base.out = (sv_shape){1, sv_shape_tokens(in) + extra_tokens(layer), in.channels};
    *out = &layer->base;
    return SVIT_OK;
}

static void first_forward(const sv_layer *layer, const sv_run *run, void *saved, real *y,
                          const real *x)
{
    (void)saved;
    size_t c = layer->in.channels, tokens = sv_shape_tokens(layer->in);
    for (size_t image = 0; image < run->pass.n; image++)
        memcpy(y + image * c, x + image * tokens * c, c * sizeof(real));
}

static void first_backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                           const real *dy, const real *x)
{
    (void)saved;
    (void)x;
    size_t c = layer->in.channels, tokens = sv_shape_tokens(layer->in);
    memset(dx, 0, run->pass.n * tokens * c * sizeof(real));
    for (size_t image = 0; image < run->pass.n; image++)
        memcpy(dx + image * tokens * c, dy + image * c, c * sizeof(real));
}

static const sv_layer_ops FIRST_OPS = {
    .name = "class token", .forward = first_forward, .backward = first_backward};

svit_status sv_first_token_create(sv_layer **out, svit_context *context, sv_shape in,
                                  svit_error *err)
{
    void *memory;
    SVIT_TRY(sv_layer_allocate(&memory, context, sizeof(sv_layer), &FIRST_OPS, err));
    sv_layer *layer = memory;
    layer->in = in;
    layer->out = (sv_shape){1, 1, in.channels};
    *out = layer;
    return SVIT_OK;
}
