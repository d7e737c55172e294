/* shiftvit-bench --work gemm: the products of a model's training step, by provider. */
#include "bench_gemm.h"

#include "bench_line.h"
#include "machine_peak.h"
#include "product_list.h"

#include <stdlib.h>

enum { PROVIDERS = 2 };
static const char *const provider_names[PROVIDERS] = {"tile", "cblas"};

typedef struct bench_provider {
    const char *name;
    svit_context *context;
    double gflops[BENCH_REPEAT_MOST];
} bench_provider;

typedef struct gemm_bench {
    struct program *program;
    const bench_gemm_options *options;
    bench_provider providers[PROVIDERS];
    product_list list;
} gemm_bench;

/* A provider lives in a context of its own. */
static svit_status open_providers(gemm_bench *self)
{
    svit_context_config config;
    TRY(svit_context_config_init(&config, sizeof config));
    config.threads = self->program->threads;
    for (size_t i = 0; i < PROVIDERS; i++) {
        bench_provider *provider = &self->providers[i];
        config.gemm = provider->name = provider_names[i];
        TRY(svit_context_create(&provider->context, &config, &self->program->err));
    }
    return SVIT_OK;
}

/* The providers take turns, so that what disturbs the machine for a while disturbs both. */
static svit_status measure(gemm_bench *self, const svit_product *product)
{
    const bench_gemm_options *options = self->options;
    for (size_t turn = 0; turn < options->repeat; turn++)
        for (size_t i = 0; i < PROVIDERS; i++)
            TRY(svit_measure_product(self->providers[i].context, product, options->seconds,
                                     &self->providers[i].gflops[turn], &self->program->err));
    for (size_t i = 0; i < PROVIDERS; i++)
        sort_reals(self->providers[i].gflops, options->repeat);
    return SVIT_OK;
}

static void print(const gemm_bench *self, const bench_provider *provider,
                  const listed_product *listed, double peak)
{
    const bench_gemm_options *options = self->options;
    const svit_product *product = &listed->product;
    double gflops = sorted_part(provider->gflops, options->repeat, 0.5);
    json_t *line =
        bench_line_new(provider->context, "gemm", svit_context_threads(provider->context));
    json_t *facts =
        json_pack("{s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:s}", "preset", options->preset, "batch",
                  (json_int_t)options->batch, "product", listed->name, "m", (json_int_t)product->m,
                  "n", (json_int_t)product->n, "k", (json_int_t)product->k, "count",
                  (json_int_t)listed->count, "provider", provider->name);
    json_object_update(line, facts);
    json_decref(facts);
    bench_line_real(line, "gflops", gflops);
    bench_line_real(line, "min", provider->gflops[0]);
    bench_line_real(line, "max", provider->gflops[options->repeat - 1]);
    bench_line_real(line, "fraction_of_peak", gflops / peak);
    bench_line_real(line, "peak_gflops", peak);
    bench_line_print(line);
}

static svit_status measure_list(gemm_bench *self)
{
    uint32_t threads = svit_context_threads(self->program->context);
    double before = machine_peak_fma(0, threads);
    for (size_t i = 0; i < self->list.count; i++) {
        TRY(measure(self, &self->list.products[i].product));
        double after = machine_peak_fma(0, threads);
        for (size_t p = 0; p < PROVIDERS; p++)
            print(self, &self->providers[p], &self->list.products[i], (before + after) / 2);
        before = after;
    }
    return SVIT_OK;
}

svit_status bench_gemm(struct program *program, const svit_model_config *config,
                       const bench_gemm_options *options)
{
    gemm_bench *self = calloc(1, sizeof *self);
    if (!self)
        return program_fail(program, SVIT_E_MEMORY, "no memory for a list of products");
    self->program = program;
    self->options = options;
    product_list_of(&self->list, config, options->batch);
    svit_status status = open_providers(self);
    if (status == SVIT_OK)
        status = measure_list(self);
    for (size_t i = 0; i < PROVIDERS; i++)
        svit_context_free(self->providers[i].context);
    free(self);
    return status;
}
