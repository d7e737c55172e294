/* The speed of each work, against limits measured in the same run. */
#include "common/bench_work.h"
#include "common/config_option.h"
#include "common/machine_peak.h"
#include "common/progress.h"
#include "common/work_count.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

typedef struct bench_options {
    struct program program;
    config_option config;
    int32_t work, compute;
    size_t batch;
    double seconds;
    size_t repeat;
} bench_options;

/* In the order of WORK_* and SVIT_COMPUTE_*. */
static const char *const works[] = {"train", "infer", "latency", "data", "limits", NULL};
static const char *const computes[] = {"f32", "bf16", NULL};

enum {
    KEY_WORK = 'w',
    KEY_BATCH = 'b',
    KEY_COMPUTE = 0x300,
    KEY_SECONDS,
    KEY_REPEAT,
    REPEAT_MOST = 1000
};

static const struct argp_option option_list[] = {
    {"work", KEY_WORK, "NAME", 0,
     "train (default): forward, loss, backward, update on pictures in memory; infer: forward; "
     "latency: forward of a batch of 1; data: drawing, resizing and augmenting a batch; "
     "limits: only what the machine can do",
     0},
    {"batch", KEY_BATCH, "N", 0, "Pictures at once (default 256; latency: 1)", 0},
    {"compute", KEY_COMPUTE, "TYPE", 0, "f32 (default) or bf16", 0},
    {"seconds", KEY_SECONDS, "S", 0, "Measure for S seconds, each time (default 2)", 0},
    {"repeat", KEY_REPEAT, "R", 0, "Measure R times (default 5)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    bench_options *self = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &self->config;
        state->child_inputs[1] = &self->program;
        return 0;
    case KEY_WORK:
        self->work = option_choice(state, "--work", text, works);
        return 0;
    case KEY_BATCH:
        self->batch = option_unsigned(state, "--batch", text, 1, 65536);
        return 0;
    case KEY_COMPUTE:
        self->compute = option_choice(state, "--compute", text, computes);
        return 0;
    case KEY_SECONDS:
        self->seconds = option_real(state, "--seconds", text, 0, 3600);
        return 0;
    case KEY_REPEAT:
        self->repeat = option_unsigned(state, "--repeat", text, 1, REPEAT_MOST);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&config_argp, 0, "The model:", 1},
                                             {&program_argp, 0, "Common options:", 2},
                                             {NULL, 0, NULL, 0}};
static const struct argp parser = {
    option_list,
    parse_option,
    NULL,
    "Measures the speed of one work and prints one JSON object."
    "\vimages_per_second is the median over the repeats, with min and max. gflops counts the "
    "matrix products alone, a multiply-add as 2. peak_gflops is what the same threads reach on "
    "registers, blas_peak_gflops what the BLAS's own sgemm reaches on large matrices, one "
    "single-threaded product a thread; both are measured before and after the work, and the mean "
    "of the two is taken. latency_ms is the median time of a call, latency_p99_ms its 99th "
    "percentile. startup_ms is from the start of the program to the first result.",
    children,
    NULL,
    NULL};

/* What was measured. */
typedef struct bench_result {
    double startup;               /* seconds */
    double rates[REPEAT_MOST];    /* pictures a second, ascending */
    double fma[2], blas[2];       /* before and after the work */
    double call_median, call_p99; /* seconds */
} bench_result;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sorted_part(const double *sorted, size_t count, double part)
{
    return sorted[(size_t)((double)(count - 1) * part + 0.5)];
}

/* The times of single calls, as many as fit; enough for a 99th percentile. */
typedef struct call_times {
    double seconds[1 << 16];
    size_t count;
} call_times;

static svit_status measure_once(bench_work *work, bench_options *options, double *rate,
                                call_times *times)
{
    double begin = progress_clock();
    double last = begin;
    size_t calls = 0;
    do {
        TRY(bench_work_run(work, &options->program));
        double now = progress_clock();
        if (times->count < sizeof times->seconds / sizeof times->seconds[0])
            times->seconds[times->count++] = now - last;
        last = now;
        calls++;
    } while (last - begin < options->seconds);
    *rate = (double)(calls * options->batch) / (last - begin);
    return SVIT_OK;
}

static svit_status measure(bench_work *work, bench_options *options, bench_result *result)
{
    static call_times times;
    for (size_t i = 0; i < options->repeat; i++)
        TRY(measure_once(work, options, &result->rates[i], &times));
    qsort(result->rates, options->repeat, sizeof *result->rates, compare_doubles);
    qsort(times.seconds, times.count, sizeof *times.seconds, compare_doubles);
    result->call_median = sorted_part(times.seconds, times.count, 0.5);
    result->call_p99 = sorted_part(times.seconds, times.count, 0.99);
    return SVIT_OK;
}

static void measure_peaks(const bench_options *options, bench_result *result, int after)
{
    uint32_t threads = svit_context_threads(options->program.context);
    result->fma[after] = machine_peak_fma(threads);
    result->blas[after] = machine_peak_blas(threads);
}

static double operations(const bench_options *options, const svit_model_config *config)
{
    if (options->work == WORK_DATA)
        return 0;
    return options->work == WORK_TRAIN ? work_count_training(config) : work_count_forward(config);
}

static void set_real(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, json_real(value));
}

/* "gemm" and "cpu" are the library's own words. */
static json_t *new_object(const bench_options *options)
{
    char text[8192] = "{}";
    svit_context_describe(options->program.context, text, sizeof text, NULL, NULL);
    json_t *build = json_loads(text, 0, NULL);
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:I, s:s, s:O*, s:O*, s:O*, s:s}", "work", works[options->work], "preset",
        options->config.preset, "batch", (json_int_t)options->batch, "threads",
        (json_int_t)svit_context_threads(options->program.context), "compute",
        computes[options->compute], "gemm", json_object_get(build, "gemm"), "cpu",
        json_object_get(build, "cpu"), "instruction_set", json_object_get(build, "instruction_set"),
        "peak_vectors", machine_peak_vectors());
    json_decref(build);
    return object;
}

static void set_rates(json_t *object, const bench_options *options, const bench_result *result,
                      double work)
{
    double rate = sorted_part(result->rates, options->repeat, 0.5);
    double gflops = 1e-9 * work * rate;
    set_real(object, "images_per_second", rate);
    set_real(object, "min", result->rates[0]);
    set_real(object, "max", result->rates[options->repeat - 1]);
    set_real(object, "latency_ms", 1e3 * result->call_median);
    set_real(object, "latency_p99_ms", 1e3 * result->call_p99);
    set_real(object, "startup_ms", 1e3 * result->startup);
    if (work > 0) {
        set_real(object, "gflop_per_image", 1e-9 * work);
        set_real(object, "gflops", gflops);
        set_real(object, "fraction_of_peak", 2 * gflops / (result->fma[0] + result->fma[1]));
        set_real(object, "fraction_of_blas_peak", 2 * gflops / (result->blas[0] + result->blas[1]));
    }
}

static void print_result(const bench_options *options, const bench_result *result, double work)
{
    struct rusage usage;
    json_t *object = new_object(options);
    getrusage(RUSAGE_SELF, &usage);
    if (options->work != WORK_LIMITS)
        set_rates(object, options, result, work);
    else
        set_real(object, "triad_gb_per_second",
                 machine_peak_triad(svit_context_threads(options->program.context)));
    set_real(object, "peak_gflops", (result->fma[0] + result->fma[1]) / 2);
    set_real(object, "blas_peak_gflops", (result->blas[0] + result->blas[1]) / 2);
    set_real(object, "peak_rss_mib", (double)usage.ru_maxrss / 1024);
    json_dumpf(object, stdout, JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

static svit_status bench(bench_options *options, bench_work *work, double start)
{
    static bench_result result;
    svit_model_config config;
    struct program *program = &options->program;
    TRY(program_open(program));
    TRY(config_resolve(&config, program, &options->config, 0));
    if (options->work != WORK_LIMITS) {
        TRY(bench_work_create(work, program, options->work, &config, options->config.preset,
                              options->batch, options->compute));
        TRY(bench_work_run(work, program));
        result.startup = progress_clock() - start;
    }
    measure_peaks(options, &result, 0);
    if (options->work != WORK_LIMITS)
        TRY(measure(work, options, &result));
    measure_peaks(options, &result, 1);
    print_result(options, &result, operations(options, &config));
    return SVIT_OK;
}

int main(int argc, char **argv)
{
    double start = progress_clock();
    bench_options options = {
        .program = PROGRAM_INIT, .config = CONFIG_OPTION_INIT, .seconds = 2, .repeat = 5};
    bench_work work = {0};
    program_parse(&parser, argc, argv, &options);
    if (options.batch == 0)
        options.batch = options.work == WORK_LATENCY ? 1 : 256;
    svit_status status = bench(&options, &work, start);
    bench_work_free(&work);
    return program_exit(&options.program, status);
}
