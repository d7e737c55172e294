/* The speed of matrix products, over the same cuts, packing and kernels as in a layer. */
#include "base/config.h"
#include "layers/linear.h"

#include "session/session.h"

#include <shiftvit/benchmark.h>

#include <time.h>

enum { SIZE_LIMIT = 1 << 28, SECONDS_LIMIT = 3600 };

/* What one product is made of. Heads have one of these for each worker, so that they stay in its
 * cache as in attention. */
typedef struct operands {
    real *a, *b, *c;
    void *packed;
    void *scratch; /* of a weight gradient */
} operands;

typedef struct measurement {
    svit_context *context;
    const sv_gemm *gemm;
    svit_matmul product;
    operands shared; /* of a linear layer */
    sv_gemm_b weight;
    sv_linear_partition cut;
    char *memory;                        /* everything lies in it */
    size_t bytes, workers, worker_bytes; /* all; where the workers' shares begin; each of them */
} measurement;

SVIT_API svit_status svit_matmul_init(svit_matmul *product, size_t size)
{
    svit_matmul own = {.struct_size = sizeof own};
    return sv_config_export(product, size, &own, sizeof own, "svit_matmul", NULL);
}

static svit_status check_size(const char *name, uint32_t value, uint32_t least, svit_error *err)
{
    if (value < least || value > SIZE_LIMIT)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is %u; %u to %d are accepted", name, value, least,
                       SIZE_LIMIT);
    return SVIT_OK;
}

static svit_status check(const svit_matmul *product, double seconds, svit_error *err)
{
    if (product->form < SVIT_MATMUL_FORWARD || product->form > SVIT_MATMUL_WEIGHT_GRADIENT)
        return sv_fail(err, SVIT_E_ARGUMENT, "form is %d; it is one of SVIT_MATMUL_*",
                       product->form);
    if (product->compute != SVIT_COMPUTE_F32 && product->compute != SVIT_COMPUTE_BF16)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "compute is %d; SVIT_COMPUTE_F32 or SVIT_COMPUTE_BF16 is accepted",
                       product->compute);
    SVIT_TRY(check_size("m", product->m, 1, err));
    SVIT_TRY(check_size("n", product->n, 1, err));
    SVIT_TRY(check_size("k", product->k, 1, err));
    SVIT_TRY(check_size("heads", product->heads, 0, err));
    if (!(seconds >= 0 && seconds <= SECONDS_LIMIT))
        return sv_fail(err, SVIT_E_ARGUMENT, "seconds is %g; 0 to %d are accepted", seconds,
                       SECONDS_LIMIT);
    return SVIT_OK;
}

static int sums_rows(const svit_matmul *product)
{
    return product->form == SVIT_MATMUL_WEIGHT_GRADIENT;
}

/* b as the backend takes it. */
static sv_gemm_b right_side(const svit_matmul *product, const operands *of)
{
    sv_gemm_b side = {.b = of->b, .k = product->k, .n = product->n, .packed = of->packed};
    int forward = product->form == SVIT_MATMUL_FORWARD;
    side.row_stride = forward ? 1 : product->n;
    side.column_stride = forward ? product->k : 1;
    return side;
}

static operands take_operands(sv_arena *arena, const measurement *self)
{
    const svit_matmul *product = &self->product;
    operands of = {.a = sv_arena_reals(arena, product->m, product->k)};
    of.b = sv_arena_reals(arena, product->n, product->k);
    of.c = sv_arena_reals(arena, product->m, product->n);
    if (sums_rows(product)) {
        of.scratch = product->heads ? sv_arena_take(arena, SV_GEMM_SCRATCH, 1, 1) : NULL;
        return of;
    }
    size_t packed = self->gemm->packed_b_bytes(self->context->kernels, product->k, product->n);
    of.packed = sv_arena_take(arena, packed, 1, 1);
    return of;
}

/* Plans the memory: a linear layer's operands, then every worker's share. */
static svit_status plan(measurement *self, svit_error *err)
{
    sv_arena arena = {0}, worker = {0};
    if (self->product.heads)
        take_operands(&worker, self);
    else
        take_operands(&arena, self);
    if (!self->product.heads && sums_rows(&self->product))
        worker.bytes = SV_GEMM_SCRATCH;
    self->workers = arena.bytes;
    self->worker_bytes = worker.bytes;
    sv_arena_take(&arena, sv_pool_threads(self->context->pool), worker.bytes, 1);
    if (arena.overflow || worker.overflow)
        return sv_fail(err, SVIT_E_MEMORY, "a product of %u x %u x %u does not fit memory",
                       self->product.m, self->product.n, self->product.k);
    void *memory;
    SVIT_TRY(
        sv_allocate_array(&self->context->allocator, &memory, 1, arena.bytes, "a product", err));
    self->memory = memory;
    self->bytes = arena.bytes;
    return SVIT_OK;
}

static operands worker_operands(const measurement *self, uint32_t worker)
{
    sv_arena arena = {.base = self->memory + self->workers + worker * self->worker_bytes};
    return take_operands(&arena, self);
}

static void draw(real *values, size_t count, uint32_t state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (real)(state >> 8) / (1 << 23) - 1;
    }
}

static void draw_operands(const svit_matmul *product, const operands *of)
{
    draw(of->a, (size_t)product->m * product->k, 1);
    draw(of->b, (size_t)product->n * product->k, 2);
}

static void prepare_heads(measurement *self)
{
    for (uint32_t i = 0; i < sv_pool_threads(self->context->pool); i++) {
        operands of = worker_operands(self, i);
        draw_operands(&self->product, &of);
    }
}

static void prepare_linear(measurement *self)
{
    const svit_matmul *product = &self->product;
    sv_arena arena = {.base = self->memory};
    self->shared = take_operands(&arena, self);
    draw_operands(product, &self->shared);
    self->cut = sv_linear_partition_of(self->gemm, product->m, product->n, product->k, product->n);
    self->weight = right_side(product, &self->shared);
    if (!sums_rows(product))
        self->gemm->pack_b(self->context->kernels, &self->weight);
}

static void linear_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const measurement *self = argument;
    const operands *of = &self->shared;
    sv_linear_work_item part = sv_linear_work_item_of(&self->cut, task);
    size_t k = self->product.k, n = self->product.n;
    sv_gemm_a left = {of->a + part.first * k, k, 1, NULL};
    sv_gemm_c out = {of->c + part.first * n, n, 0, NULL, NULL};
    self->gemm->matmul(self->context->kernels, &out, &left, &self->weight, part.tokens,
                       part.columns.first, part.columns.count);
}

static void head_task(void *argument, size_t task, uint32_t worker)
{
    (void)task;
    const measurement *self = argument;
    const svit_matmul *product = &self->product;
    const sv_gemm *gemm = self->gemm;
    const sv_kernels *kernels = self->context->kernels;
    size_t m = product->m, n = product->n;
    operands of = worker_operands(self, worker);
    if (sums_rows(product)) {
        sv_gemm_weight_gradient(gemm, kernels, of.c, n, of.a, m, of.b, n, m, n, product->k,
                                of.scratch);
        return;
    }
    sv_gemm_b right = right_side(product, &of);
    gemm->pack_b(kernels, &right);
    sv_gemm_a left = {of.a, product->k, 1, NULL};
    sv_gemm_c out = {of.c, n, 0, NULL, NULL};
    gemm->matmul(kernels, &out, &left, &right, m, 0, n);
}

static void weight_gradient(const measurement *self)
{
    const svit_matmul *product = &self->product;
    sv_run run = {.exec.context = self->context,
                  .exec.gemm = self->gemm,
                  .exec.worker_scratch = self->memory + self->workers,
                  .exec.worker_bytes = self->worker_bytes};
    sv_weight_gradient_job job = {self->shared.c, self->shared.a, self->shared.b,
                                  product->m,     product->n,     product->k};
    sv_weight_gradients(&run, &job, 1);
}

static void compute(measurement *self)
{
    sv_pool *pool = self->context->pool;
    if (self->product.heads)
        sv_pool_run(pool, head_task, self, self->product.heads);
    else if (sums_rows(&self->product))
        weight_gradient(self);
    else
        sv_pool_run(pool, linear_task, self, sv_linear_partition_tasks(&self->cut));
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double speed(measurement *self, double seconds)
{
    const svit_matmul *product = &self->product;
    double heads = product->heads ? product->heads : 1;
    double operations = 2.0 * product->m * product->n * product->k * heads;
    double passed = 0, computed = 0;
    compute(self);
    /* A clock that has not moved yet has measured nothing. */
    for (double begin = now(); passed <= 0 || passed < seconds; computed++) {
        compute(self);
        passed = now() - begin;
    }
    return 1e-9 * operations * computed / passed;
}

SVIT_API svit_status svit_benchmark_matmul(svit_context *context, const svit_matmul *product,
                                           double seconds, double *gflops, svit_error *err)
{
    SV_REQUIRE(context);
    SV_REQUIRE(product);
    SV_REQUIRE(gflops);
    SVIT_TRY(svit_context_check(context, err));
    measurement self = {.context = context};
    SVIT_TRY(sv_config_import(&self.product, sizeof self.product, product, sizeof self.product,
                              "svit_matmul", err));
    SVIT_TRY(check(&self.product, seconds, err));
    self.gemm = sv_session_gemm(context, self.product.compute, false);
    if (self.product.heads)
        self.gemm = self.gemm->activations;
    SVIT_TRY(plan(&self, err));
    if (self.product.heads)
        prepare_heads(&self);
    else
        prepare_linear(&self);
    *gflops = speed(&self, seconds);
    sv_release(&context->allocator, self.memory, self.bytes);
    return SVIT_OK;
}
