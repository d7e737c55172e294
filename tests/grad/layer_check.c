/* Gradients of one layer against central differences, in double precision. */
#include "layer_check.h"

#include "guard.h"
#include "layers/linear/prepack.h"
#include "suite.h"
#include "worst.h"

#include "base/numbers/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, THREADS = 2, PROBES = 40 };

/* Arrays of one check. Memory of the layer is aligned as a session aligns it, full of NaN, and ends
 * at a page that must not be touched: a layer that uses more than it has planned gets a signal. */
typedef struct arrays {
    sv_run run;
    real *weights, *gradients, *x, *y, *dx, *projection;
    size_t in, out; /* elements of x and y for the batch */
    char *saved, *packed;
    sv_parameter_subset *all; /* parameters, which are all trained */
} arrays;

static size_t rounded(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void *guarded(size_t bytes)
{
    return guard_copy(NULL, rounded(bytes, SV_ALIGNMENT), false);
}

/* Gives each worker scratch of its own with such an end. */
static void set_worker_scratch(sv_exec *exec, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), scratch = rounded(bytes, SV_ALIGNMENT);
    exec->worker_bytes = rounded(scratch, page) + page;
    char *memory = guard_copy(NULL, THREADS * exec->worker_bytes, false);
    for (size_t i = 1; i <= THREADS; i++)
        ck_assert_int_eq(mprotect(memory + i * exec->worker_bytes - page, page, PROT_NONE), 0);
    exec->worker_scratch = memory + exec->worker_bytes - page - scratch;
}

/* Random elements of magnitude largest / 2 to `largest`: none is near 0, since a temperature
 * divides. */
static void fill(real *x, size_t elements, double largest, uint32_t stream)
{
    sv_random random;
    sv_random_start(&random, 3, 99, stream, 0);
    for (size_t i = 0; i < elements; i++) {
        double unit = 2 * sv_random_unit(&random) - 1;
        x[i] = largest * (unit < 0 ? unit / 2 - 0.5 : unit / 2 + 0.5);
    }
}

layer_check layer_check_open(void)
{
    layer_check check = {0};
    svit_context_config config;
    svit_context_config_init(&config, sizeof config);
    config.threads = THREADS;
    ck_assert_int_eq(svit_context_create(&check.context, &config, NULL), SVIT_OK);
    sv_parameter_table_init(&check.table, &check.context->allocator);
    return check;
}

void layer_check_add(layer_check *check, const char *name, const int64_t shape[5])
{
    size_t rank = 0, index;
    while (shape[rank])
        rank++;
    ck_assert_int_eq(
        sv_parameter_add(&check->table, &index, name, SV_ROLE_WEIGHT, shape, rank, NULL), SVIT_OK);
}

void layer_check_close(layer_check *check)
{
    sv_layer_free(check->context, check->layer);
    sv_parameter_table_free(&check->table);
    svit_context_free(check->context);
}

static bool is_any(const sv_parameter *parameter, const void *user)
{
    (void)parameter;
    (void)user;
    return true;
}

static arrays arrays_open(const layer_check *check, bool training)
{
    const sv_layer *layer = check->layer;
    const size_t parameters = check->table.elements;
    arrays a = {.in = BATCH * sv_shape_elements(layer->in),
                .out = BATCH * sv_shape_elements(layer->out)};
    a.weights = calloc(parameters + 1, sizeof(real));
    a.gradients = calloc(parameters + 1, sizeof(real));
    a.x = calloc(a.in, sizeof(real));
    a.dx = calloc(a.in, sizeof(real));
    a.y = calloc(a.out, sizeof(real));
    a.projection = calloc(a.out, sizeof(real));
    a.all = calloc(1, sizeof *a.all);
    ck_assert_int_eq(sv_parameter_subset_make(a.all, &check->table, is_any, NULL, NULL), SVIT_OK);
    fill(a.weights, parameters, 0.5, 1);
    fill(a.x, a.in, 1, 2);
    fill(a.projection, a.out, 1, 3);
    a.run = (sv_run){.exec = {.context = check->context, .gemm = check->context->gemm},
                     .pass = {.n = BATCH, .training = training, .seed = 5, .counter = 2},
                     .weights = a.weights,
                     .trained = a.all,
                     .gradients = a.gradients};
    sv_layer_memory memory = sv_layer_plan_workspace(layer, &a.run);
    ck_assert(!memory.overflow);
    a.saved = training ? guarded(memory.saved) : NULL;
    a.run.exec.workspace = guarded(memory.workspace);
    set_worker_scratch(&a.run.exec, memory.worker_scratch);
    a.packed = guarded(sv_prepack_bytes(layer, &a.run));
    return a;
}

static void arrays_close(const layer_check *check, arrays *a)
{
    sv_parameter_subset_free(a->all, &check->table.allocator);
    free(a->all);
    free(a->weights);
    free(a->gradients);
    free(a->x);
    free(a->dx);
    free(a->y);
    free(a->projection);
}

/* The loss: the projection of the layer's output. */
static double projected(const layer_check *check, arrays *a)
{
    sv_prepack(check->layer, &a->run, a->packed, false, 0);
    if (a->run.pass.training)
        sv_prepack(check->layer, &a->run, a->packed, true, 0);
    check->layer->ops->forward(check->layer, &a->run, a->saved, a->y, a->x);
    double sum = 0;
    for (size_t i = 0; i < a->out; i++)
        sum += a->projection[i] * a->y[i];
    return sum;
}

/* Compares up to PROBES elements, spread over the array, with central differences. The tolerance is
 * relative to the array's largest gradient. With this step the rounding of the loss, some 1e-14,
 * and the third derivative both leave errors below 1e-8. */
static void compare(const layer_check *check, arrays *a, real *values, const real *gradient,
                    size_t elements, const char *name)
{
    const double step = 1e-5;
    double largest = 0;
    for (size_t i = 0; i < elements; i++)
        largest = worst_of(largest, fabs(gradient[i]));
    ck_assert_msg(isfinite(largest) && largest > 0, "%s has no gradient", name);
    size_t stride = elements / PROBES + 1;
    for (size_t i = 0; i < elements; i += stride) {
        const real value = values[i];
        values[i] = value + step;
        double above = projected(check, a);
        values[i] = value - step;
        double below = projected(check, a);
        values[i] = value;
        double quotient = (above - below) / (2 * step);
        ck_assert_msg(fabs(quotient - gradient[i]) <= 1e-7 * fmax(largest, 0.1),
                      "%s: d%s[%zu] is %.12g, difference quotient %.12g", check->layer->ops->name,
                      name, i, (double)gradient[i], quotient);
    }
}

/* Inference has its own plan of memory. */
static void infer(const layer_check *check)
{
    arrays a = arrays_open(check, false);
    const double loss = projected(check, &a);
    ck_assert_msg(isfinite(loss), "%s: inference gives %g", check->layer->ops->name, loss);
    arrays_close(check, &a);
}

void layer_check_run(layer_check *check, bool has_input_gradient)
{
    if (!check->layer->ops->training_only)
        infer(check);
    arrays a = arrays_open(check, true);
    const sv_layer *layer = check->layer;
    projected(check, &a);
    real *dy = malloc(a.out * sizeof(real));
    memcpy(dy, a.projection, a.out * sizeof(real));
    layer->ops->backward(layer, &a.run, a.saved, has_input_gradient ? a.dx : NULL, dy,
                         layer->ops->keeps_input ? a.x : NULL);
    free(dy);
    if (has_input_gradient)
        compare(check, &a, a.x, a.dx, a.in, "x");
    real *gradients = malloc((check->table.elements + 1) * sizeof(real));
    memcpy(gradients, a.gradients, check->table.elements * sizeof(real));
    for (size_t i = 0; i < check->table.count; i++) {
        const sv_parameter *p = &check->table.list[i];
        compare(check, &a, a.weights + p->offset, gradients + p->offset, p->desc.elements, p->name);
    }
    free(gradients);
    arrays_close(check, &a);
}

void layer_check_masks(layer_check *check)
{
    arrays a = arrays_open(check, true);
    const size_t in = a.in / BATCH, out = a.out / BATCH;
    for (size_t image = 1; image < BATCH; image++)
        memcpy(a.x + image * in, a.x, in * sizeof(real));
    projected(check, &a);
    for (size_t image = 1; image < BATCH; image++)
        ck_assert_msg(memcmp(a.y, a.y + image * out, out * sizeof(real)) != 0,
                      "%s: image %zu has the mask of image 0", check->layer->ops->name, image);
    arrays_close(check, &a);
}
