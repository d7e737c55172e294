/* shiftvit-bench --work gemm: the matmuls of a training step, by GEMM backend. */
#include "bench_gemm.h"

#include "bench_line.h"
#include "machine_peak.h"
#include "matmul_list.h"
#include "settings/config_option.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BACKENDS = 16, BACKEND_NAME = 32 };

typedef struct bench_backend {
    char name[BACKEND_NAME];
    svit_context *context;
    double gflops[BENCH_REPEAT_MAX];
} bench_backend;

typedef struct gemm_bench {
    struct program *program;
    const bench_gemm_options *options;
    bench_backend backends[MAX_BACKENDS];
    size_t count; /* of backends */
    matmul_list list;
} gemm_bench;

/* Opens a context for a backend. `gemm` is the name to request; NULL uses the program's context. */
static svit_status open_backend(gemm_bench *self, const char *name, const char *gemm)
{
    svit_context_config config;
    if (!name || self->count == MAX_BACKENDS)
        return SVIT_OK;
    bench_backend *backend = &self->backends[self->count++];
    snprintf(backend->name, sizeof backend->name, "%s", name);
    TRY(svit_context_config_init(&config, sizeof config));
    config.threads = self->program->threads;
    config.gemm = gemm;
    return svit_context_create(&backend->context, &config, &self->program->err);
}

/* Opens the backend of --gemm, or all that run here. In bfloat16 there is only one. */
static svit_status open_named(gemm_bench *self, const json_t *build)
{
    const char *wanted = self->program->gemm;
    const json_t *gemms = json_object_get(build, "gemms");
    if (self->options->compute == SVIT_COMPUTE_BF16)
        return open_backend(self, json_string_value(json_object_get(build, "gemm_bf16")), wanted);
    if (wanted)
        return open_backend(self, wanted, wanted);
    for (size_t i = 0; i < json_array_size(gemms); i++) {
        const char *name = json_string_value(json_array_get(gemms, i));
        TRY(open_backend(self, name, name));
    }
    return SVIT_OK;
}

static svit_status open_backends(gemm_bench *self)
{
    json_t *build = bench_build(self->program->context);
    svit_status status = open_named(self, build);
    json_decref(build);
    return status;
}

/* Measures one matmul with all backends in turn, so that a disturbance of the machine affects all
 * of them. */
static svit_status measure(gemm_bench *self, const svit_matmul *listed)
{
    const bench_gemm_options *options = self->options;
    svit_matmul matmul = *listed;
    matmul.compute = options->compute;
    for (size_t turn = 0; turn < options->repeat; turn++)
        for (size_t i = 0; i < self->count; i++)
            TRY(svit_benchmark_matmul(self->backends[i].context, &matmul, options->seconds,
                                      &self->backends[i].gflops[turn], &self->program->err));
    for (size_t i = 0; i < self->count; i++)
        sort_reals(self->backends[i].gflops, options->repeat);
    return SVIT_OK;
}

static void print(const gemm_bench *self, const bench_backend *backend, const listed_matmul *listed,
                  double peak)
{
    const bench_gemm_options *options = self->options;
    const svit_matmul *matmul = &listed->matmul;
    double gflops = sorted_quantile(backend->gflops, options->repeat, 0.5);
    json_t *line = bench_line_new(backend->context, "gemm", svit_context_threads(backend->context));
    json_t *facts = json_pack("{s:s?, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:s}", "preset",
                              options->preset, "batch", (json_int_t)options->batch, "compute",
                              options->compute == SVIT_COMPUTE_BF16 ? "bf16" : "f32", "matmul",
                              listed->name, "m", (json_int_t)matmul->m, "n", (json_int_t)matmul->n,
                              "k", (json_int_t)matmul->k, "count", (json_int_t)listed->count,
                              "backend", backend->name);
    json_object_update(line, facts);
    json_decref(facts);
    bench_line_real(line, "gflops", gflops);
    bench_line_real(line, "min", backend->gflops[0]);
    bench_line_real(line, "max", backend->gflops[options->repeat - 1]);
    bench_line_real(line, "fraction_of_peak", gflops / peak);
    bench_line_real(line, "peak_gflops", peak);
    bench_line_print(line);
}

static svit_status measure_list(gemm_bench *self)
{
    uint32_t threads = svit_context_threads(self->program->context);
    double before = machine_peak_fma(0, threads);
    for (size_t i = 0; i < self->list.count; i++) {
        TRY(measure(self, &self->list.matmuls[i].matmul));
        double after = machine_peak_fma(0, threads);
        for (size_t p = 0; p < self->count; p++)
            print(self, &self->backends[p], &self->list.matmuls[i], (before + after) / 2);
        before = after;
    }
    return SVIT_OK;
}

static svit_status build_list(gemm_bench *self, const svit_model_config *config)
{
    char architecture[ARCHITECTURE_NAME];
    matmul_list_build(&self->list, config, self->options->batch);
    if (self->list.count > 0)
        return SVIT_OK;
    TRY(config_architecture(architecture, self->program, config));
    return program_fail(self->program, SVIT_E_UNSUPPORTED,
                        "--work gemm: there is no list of the matmuls of architecture '%s'",
                        architecture);
}

svit_status bench_gemm(struct program *program, const svit_model_config *config,
                       const bench_gemm_options *options)
{
    gemm_bench *self = calloc(1, sizeof *self);
    if (!self)
        return program_fail(program, SVIT_E_MEMORY, "no memory for a list of matmuls");
    self->program = program;
    self->options = options;
    svit_status status = build_list(self, config);
    if (status == SVIT_OK)
        status = open_backends(self);
    if (status == SVIT_OK)
        status = measure_list(self);
    for (size_t i = 0; i < self->count; i++)
        svit_context_free(self->backends[i].context);
    free(self);
    return status;
}
