/* Measures the speed of matmuls, with the partitions, packing and kernels that layers use. */
#include "base/threads/fp_env.h"
#include "config/config.h"
#include "layers/linear/linear.h"
#include "session/session.h"

#include <shiftvit/benchmark.h>

enum { DIMENSION_MAX = 1 << 28, SECONDS_MAX = 3600 };

/* The matrices of one matmul. With heads each worker has its own, which stay in its cache as those
 * of an attention head do. */
typedef struct operands {
    real *a, *b, *c;
    void *packed_b;
    void *scratch; /* SV_GEMM_SCRATCH bytes for the weight gradient of a head */
} operands;

/* One measurement. */
typedef struct benchmark {
    svit_context *context;
    const sv_gemm *gemm;
    svit_matmul matmul;
    operands linear; /* of a linear layer: heads is 0 */
    sv_gemm_b weight;
    sv_linear_partition partition;
    char *memory; /* one allocation: operands of a linear layer, then worker_bytes per worker */
    size_t bytes;
    size_t workers_offset; /* of the first worker's bytes */
    size_t worker_bytes;
} benchmark;

static const sv_config_type TYPE = {SV_CONFIG_STRUCT(svit_matmul)};

SV_CONFIG_INIT(svit_matmul, TYPE)

static svit_status check_size(const char *name, uint32_t value, uint32_t min, svit_error *err)
{
    if (value < min || value > DIMENSION_MAX)
        return sv_fail(err, SVIT_E_ARGUMENT, "%s is %u; %u to %d are accepted", name, value, min,
                       DIMENSION_MAX);
    return SVIT_OK;
}

static svit_status check(const svit_matmul *matmul, double seconds, svit_error *err)
{
    if (matmul->form < SVIT_MATMUL_FORWARD || matmul->form > SVIT_MATMUL_WEIGHT_GRADIENT)
        return sv_fail(err, SVIT_E_ARGUMENT, "form is %d; it is one of SVIT_MATMUL_*",
                       matmul->form);
    if (matmul->compute != SVIT_COMPUTE_F32 && matmul->compute != SVIT_COMPUTE_BF16)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "compute is %d; SVIT_COMPUTE_F32 or SVIT_COMPUTE_BF16 is accepted",
                       matmul->compute);
    SVIT_TRY(sv_session_check_compute(matmul->compute, err));
    SVIT_TRY(check_size("m", matmul->m, 1, err));
    SVIT_TRY(check_size("n", matmul->n, 1, err));
    SVIT_TRY(check_size("k", matmul->k, 1, err));
    SVIT_TRY(check_size("heads", matmul->heads, 0, err));
    if (!(seconds >= 0 && seconds <= SECONDS_MAX))
        return sv_fail(err, SVIT_E_ARGUMENT, "seconds is %g; 0 to %d are accepted", seconds,
                       SECONDS_MAX);
    return SVIT_OK;
}

static bool is_weight_gradient(const svit_matmul *matmul)
{
    return matmul->form == SVIT_MATMUL_WEIGHT_GRADIENT;
}

/* B as [k, n] with strides. */
static sv_gemm_b gemm_b(const svit_matmul *matmul, const operands *of)
{
    sv_gemm_b b = {.b = of->b, .k = matmul->k, .n = matmul->n, .packed = of->packed_b};
    bool forward = matmul->form == SVIT_MATMUL_FORWARD;
    b.row_stride = forward ? 1 : matmul->n;
    b.column_stride = forward ? matmul->k : 1;
    return b;
}

/* Lays out the matrices of one matmul. */
static operands take_operands(sv_arena *arena, const benchmark *self)
{
    const svit_matmul *matmul = &self->matmul;
    operands of = {.a = sv_arena_reals(arena, matmul->m, matmul->k)};
    of.b = sv_arena_reals(arena, matmul->n, matmul->k);
    of.c = sv_arena_reals(arena, matmul->m, matmul->n);
    if (is_weight_gradient(matmul)) {
        of.scratch = matmul->heads ? sv_arena_take(arena, SV_GEMM_SCRATCH, 1, 1) : NULL;
        return of;
    }
    size_t packed =
        sv_gemm_packed_b_bytes(self->gemm, self->context->kernels, matmul->k, matmul->n);
    of.packed_b = sv_arena_take(arena, packed, 1, 1);
    return of;
}

/* Plans and allocates the memory. */
static svit_status allocate_memory(benchmark *self, svit_error *err)
{
    sv_arena arena = {0}, worker = {0};
    if (self->matmul.heads)
        take_operands(&worker, self);
    else
        take_operands(&arena, self);
    if (!self->matmul.heads && is_weight_gradient(&self->matmul))
        worker.bytes = SV_GEMM_SCRATCH;
    self->workers_offset = arena.bytes;
    self->worker_bytes = worker.bytes;
    sv_arena_take(&arena, sv_pool_threads(self->context->pool), worker.bytes, 1);
    if (arena.overflow || worker.overflow)
        return sv_fail(err, SVIT_E_MEMORY, "a matmul of %u x %u x %u does not fit memory",
                       self->matmul.m, self->matmul.n, self->matmul.k);
    void *memory;
    SVIT_TRY(
        sv_allocate_array(&self->context->allocator, &memory, 1, arena.bytes, "a matmul", err));
    self->memory = memory;
    self->bytes = arena.bytes;
    return SVIT_OK;
}

static operands worker_operands(const benchmark *self, uint32_t worker)
{
    sv_arena arena = {.base = self->memory + self->workers_offset + worker * self->worker_bytes};
    return take_operands(&arena, self);
}

/* Fills values with a sequence of random numbers in [-1, 1). */
static void fill_random(real *values, size_t count, uint32_t state)
{
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (real)(state >> 8) / (1 << 23) - 1;
    }
}

static void fill_operands(const svit_matmul *matmul, const operands *of)
{
    fill_random(of->a, (size_t)matmul->m * matmul->k, 1);
    fill_random(of->b, (size_t)matmul->n * matmul->k, 2);
}

static void prepare_heads(benchmark *self)
{
    for (uint32_t i = 0; i < sv_pool_threads(self->context->pool); i++) {
        operands of = worker_operands(self, i);
        fill_operands(&self->matmul, &of);
    }
}

static void prepare_linear(benchmark *self)
{
    const svit_matmul *matmul = &self->matmul;
    sv_arena arena = {.base = self->memory};
    self->linear = take_operands(&arena, self);
    fill_operands(matmul, &self->linear);
    self->partition =
        sv_linear_partition_of(self->gemm, matmul->m, matmul->n, matmul->k, matmul->n);
    self->weight = gemm_b(matmul, &self->linear);
    if (!is_weight_gradient(matmul))
        self->gemm->pack_b(self->context->kernels, &self->weight);
}

/* Computes one work item of a linear layer's matmul. */
static void linear_task(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const benchmark *self = argument;
    const operands *of = &self->linear;
    sv_linear_work_item item = sv_linear_work_item_of(&self->partition, task);
    size_t k = self->matmul.k, n = self->matmul.n;
    sv_gemm_a a = {of->a + item.first * k, k, 1, NULL};
    sv_gemm_c c = {of->c + item.first * n, n, 0, NULL, NULL};
    self->gemm->matmul(self->context->kernels, &c, &a, &self->weight, item.tokens,
                       item.columns.first, item.columns.count);
}

/* Computes the matmul of one head. */
static void head_task(void *argument, size_t task, uint32_t worker)
{
    (void)task;
    const benchmark *self = argument;
    const svit_matmul *matmul = &self->matmul;
    const sv_gemm *gemm = self->gemm;
    const sv_kernels *kernels = self->context->kernels;
    size_t m = matmul->m, n = matmul->n;
    operands of = worker_operands(self, worker);
    if (is_weight_gradient(matmul)) {
        sv_gemm_weight_gradient(gemm, kernels, of.c, n, of.a, m, of.b, n, m, n, matmul->k,
                                of.scratch);
        return;
    }
    sv_gemm_b b = gemm_b(matmul, &of);
    gemm->pack_b(kernels, &b);
    sv_gemm_a a = {of.a, matmul->k, 1, NULL};
    sv_gemm_c c = {of.c, n, 0, NULL, NULL};
    gemm->matmul(kernels, &c, &a, &b, m, 0, n);
}

static void weight_gradient(const benchmark *self)
{
    const svit_matmul *matmul = &self->matmul;
    sv_run run = {.exec.context = self->context,
                  .exec.gemm = self->gemm,
                  .exec.worker_scratch = self->memory + self->workers_offset,
                  .exec.worker_bytes = self->worker_bytes};
    sv_weight_gradient_job job = {self->linear.c, self->linear.a, self->linear.b,
                                  matmul->m,      matmul->n,      matmul->k};
    sv_weight_gradients(&run, &job, 1);
}

/* Computes the matmul, or those of all heads, once. */
static void compute(benchmark *self)
{
    sv_pool *pool = self->context->pool;
    if (self->matmul.heads)
        sv_pool_run(pool, head_task, self, self->matmul.heads);
    else if (is_weight_gradient(&self->matmul))
        weight_gradient(self);
    else
        sv_pool_run(pool, linear_task, self, sv_linear_partition_tasks(&self->partition));
}

/* GFLOP/s over at least `seconds`, after one warm-up. */
static double measure_gflops(benchmark *self, double seconds)
{
    const svit_matmul *matmul = &self->matmul;
    double heads = matmul->heads ? matmul->heads : 1;
    double operations = 2.0 * matmul->m * matmul->n * matmul->k * heads;
    double elapsed = 0, count = 0;
    compute(self);
    /* Repeats until the clock has advanced, however coarse it is. */
    for (double begin = sv_clock_seconds(); elapsed <= 0 || elapsed < seconds; count++) {
        compute(self);
        elapsed = sv_clock_seconds() - begin;
    }
    return 1e-9 * operations * count / elapsed;
}

SVIT_API svit_status svit_benchmark_matmul(svit_context *context, const svit_matmul *matmul,
                                           double seconds, double *gflops, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(context);
    SV_REQUIRE(matmul);
    SV_REQUIRE(gflops);
    SVIT_TRY(svit_context_check(context, err));
    benchmark self = {.context = context};
    SVIT_TRY(sv_config_read(&TYPE, &self.matmul, matmul, err));
    SVIT_TRY(check(&self.matmul, seconds, err));
    self.gemm = sv_session_gemm(context, self.matmul.compute, false);
    if (self.matmul.heads)
        self.gemm = self.gemm->activations;
    SVIT_TRY(allocate_memory(&self, err));
    if (self.matmul.heads)
        prepare_heads(&self);
    else
        prepare_linear(&self);
    *gflops = measure_gflops(&self, seconds);
    sv_release(&context->allocator, self.memory, self.bytes);
    return SVIT_OK;
}
