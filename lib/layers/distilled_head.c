/* The head of a distilled DeiT (Touvron et al. 2020): a classifier on the class token x0 and
 * another one on the distillation token x1, whose logits are averaged:
 *   y = ((x0 W0^T + b0) + (x1 W1^T + b1)) / 2 = x W^T + b,  x = [x0 x1]
 * W = [W0 W1] / 2 and b = (b0 + b1) / 2 are derived. */
#include "layers/create.h"
#include "layers/linear/linear.h"

#include <string.h>

enum { HEADS = 2 };

typedef struct distilled_head {
    sv_layer base;
    sv_linear linear; /* derived: [classes, 2 c] */
    size_t weights[HEADS], biases[HEADS];
} distilled_head;

static size_t derived_elements(const sv_layer *layer)
{
    const sv_linear *linear = &((const distilled_head *)layer)->linear;
    return linear->out * (linear->in + 1);
}

static void place_derived(sv_layer *layer, const real *memory)
{
    sv_linear_place_derived(&((distilled_head *)layer)->linear, memory);
}

static void derive_weights(const sv_layer *layer, const sv_run *run, real *memory, char *scratch)
{
    (void)scratch;
    const distilled_head *head = (const distilled_head *)layer;
    const sv_linear *linear = &head->linear;
    const size_t c = layer->in.channels;
    real *bias = memory + linear->out * linear->in;
    for (size_t k = 0; k < linear->out; k++) {
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < c; i++)
                memory[(k * HEADS + h) * c + i] = run->weights[head->weights[h] + k * c + i] / 2;
        bias[k] = (run->weights[head->biases[0] + k] + run->weights[head->biases[1] + k]) / 2;
    }
}

static void plan_workspace(const sv_layer *layer, const sv_run *run, sv_layer_memory *memory)
{
    const sv_linear *linear = &((const distilled_head *)layer)->linear;
    sv_arena none = {0}, workspace = {0}, worker = {0};
    size_t packed =
        sv_packed_a_bytes(&run->exec, SV_SMALL_M_TOKENS, sv_size_max(linear->in, linear->out));
    if (run->pass.training) {
        sv_arena_reals(&workspace, linear->out, linear->in + 1);
        worker.bytes = SV_GEMM_SCRATCH;
    }
    sv_arena_take(&workspace, packed, 1, 1);
    sv_layer_memory_set(memory, &none, &workspace, &worker);
}

static void forward(const sv_layer *layer, const sv_run *run, void *saved, real *y, const real *x)
{
    (void)saved;
    const sv_linear *linear = &((const distilled_head *)layer)->linear;
    sv_linear_forward_parallel(linear, run, y, x, run->pass.n, run->exec.workspace);
}

/* Of W = [W0 W1] / 2 and b = (b0 + b1) / 2:  dWh += dW[:, h] / 2;  dbh += db / 2 */
static void add_gradients(const distilled_head *head, const sv_run *run, const real *dw,
                          const real *db)
{
    const size_t c = head->base.in.channels;
    for (size_t k = 0; k < head->linear.out; k++)
        for (size_t h = 0; h < HEADS; h++) {
            real *dweight = sv_gradient(run, head->weights[h] + k * c);
            real *dbias = sv_gradient(run, head->biases[h] + k);
            for (size_t i = 0; dweight && i < c; i++)
                dweight[i] += dw[(k * HEADS + h) * c + i] / 2;
            if (dbias)
                *dbias += db[k] / 2;
        }
}

/* Of y = x W^T + b:  dW = dy^T x;  db = dy;  dx = dy W */
static void backward(const sv_layer *layer, const sv_run *run, void *saved, real *dx,
                     const real *dy, const real *x)
{
    (void)saved;
    const distilled_head *head = (const distilled_head *)layer;
    const sv_linear *linear = &head->linear;
    sv_arena arena = {.base = run->exec.workspace};
    const size_t width = sv_size_max(linear->in, linear->out);
    real *dw = sv_arena_reals(&arena, linear->out, linear->in + 1);
    real *db = dw + linear->out * linear->in;
    void *packed =
        sv_arena_take(&arena, sv_packed_a_bytes(&run->exec, SV_SMALL_M_TOKENS, width), 1, 1);
    memset(dw, 0, linear->out * (linear->in + 1) * sizeof(real));
    if (layer->trained) {
        sv_weight_gradient_job job = {dw, dy, x, linear->out, linear->in, run->pass.n};
        sv_weight_gradients(run, &job, 1);
        run->exec.context->kernels->add_rows(db, dy, run->pass.n, linear->out);
        add_gradients(head, run, dw, db);
    }
    if (dx)
        sv_linear_backward_parallel(linear, run, dx, dy, run->pass.n, packed);
}

static const sv_layer_ops DISTILLED_HEAD_OPS = {.name = "distilled head",
                                                .keeps_input = 1,
                                                .derived_elements = derived_elements,
                                                .place_derived = place_derived,
                                                .derive_weights = derive_weights,
                                                .plan_workspace = plan_workspace,
                                                .forward = forward,
                                                .backward = backward};

sv_layer *sv_distilled_head_create(const sv_layer_source *source, sv_shape in, size_t classes,
                                   const char *head, const char *distilled)
{
    distilled_head *layer = sv_layer_new(source, sizeof *layer, &DISTILLED_HEAD_OPS);
    if (!layer)
        return NULL;
    const char *names[HEADS] = {head, distilled};
    layer->base.in = in;
    layer->base.out = (sv_shape){1, 1, classes};
    for (size_t h = 0; h < HEADS; h++) {
        layer->weights[h] = sv_layer_parameter(&layer->base, source, names[h], ".weight");
        layer->biases[h] = sv_layer_parameter(&layer->base, source, names[h], ".bias");
    }
    sv_linear_init_derived(&layer->linear, &layer->base, classes, HEADS * in.channels);
    return &layer->base;
}
