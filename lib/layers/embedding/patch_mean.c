/* The pooling of a ViT that leaves out its prefix tokens: the mean over the patches, after the
 * class token if that is wanted. */
#include "layers/create.h"
#include "layers/linear/linear.h"

#include <string.h>

typedef struct patch_mean {
    sv_layer base;
    size_t prefix;    /* tokens before the patches */
    bool class_token; /* y begins with the first token */
} patch_mean;

typedef struct mean_call {
    const patch_mean *layer;
    const sv_run *run;
    real *out;
    const real *in;
} mean_call;

static size_t patches_of(const patch_mean *layer)
{
    return sv_shape_tokens(layer->base.in) - layer->prefix;
}

/* y[n] = [x[n, 0],] mean over t >= prefix of x[n, t] */
static void forward_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const mean_call *call = argument;
    const patch_mean *layer = call->layer;
    const size_t c = layer->base.in.channels;
    const real *x = call->in + image * sv_shape_elements(layer->base.in);
    real *y = call->out + image * sv_shape_elements(layer->base.out);
    if (layer->class_token) {
        memcpy(y, x, c * sizeof(real));
        y += c;
    }
    call->run->exec.context->kernels->mean_tokens(y, x + layer->prefix * c, 1, patches_of(layer),
                                                  c);
}

/* dx[n, t] = dy[n] / patches for t >= prefix; dx[n, 0] = dy's part of the class token. */
static void backward_task(void *argument, size_t image, uint32_t worker)
{
    (void)worker;
    const mean_call *call = argument;
    const patch_mean *layer = call->layer;
    const size_t c = layer->base.in.channels;
    real *dx = call->out + image * sv_shape_elements(layer->base.in);
    const real *dy = call->in + image * sv_shape_elements(layer->base.out);
    memset(dx, 0, layer->prefix * c * sizeof(real));
    if (layer->class_token) {
        memcpy(dx, dy, c * sizeof(real));
        dy += c;
    }
    call->run->exec.context->kernels->mean_tokens_backward(dx + layer->prefix * c, dy, 1,
                                                           patches_of(layer), c);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    mean_call call = {(const patch_mean *)layer, run, y, x};
    sv_run_tasks(&run->exec, forward_task, &call, run->pass.n);
}

static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    (void)x;
    mean_call call = {(const patch_mean *)layer, run, dx, dy};
    sv_run_tasks(&run->exec, backward_task, &call, run->pass.n);
}

static const sv_layer_ops PATCH_MEAN_OPS = {
    .name = "patch mean", .forward = forward, .backward = backward};

sv_layer *sv_patch_mean_create(const sv_layer_source *source, sv_shape in, size_t prefix,
                               bool class_token)
{
    patch_mean *layer = sv_layer_new(source, sizeof *layer, &PATCH_MEAN_OPS);
    if (!layer)
        return NULL;
    layer->prefix = prefix;
    layer->class_token = class_token;
    layer->base.in = in;
    layer->base.out = (sv_shape){1, 1, (class_token ? 2 : 1) * in.channels};
    return &layer->base;
}
