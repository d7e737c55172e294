/* Measures the speed of training, inference and data loading, and the peak speed in the same
 * run. */
#include "bench/bench_gemm.h"
#include "bench/bench_limits.h"
#include "bench/bench_line.h"
#include "bench/bench_work.h"
#include "bench/machine_peak.h"
#include "bench/work_count.h"
#include "settings/config_option.h"
#include "training/progress.h"

#include <sys/resource.h>

typedef struct bench_options {
    struct program program;
    config_option config;
    int32_t work, compute, memory;
    size_t batch;
    double seconds;
    size_t repeat;
} bench_options;

/* In the order of WORK_* and SVIT_MEMORY_*. */
static const char *const works[] = {"train", "infer", "latency", "data", "gemm", "limits", NULL};
static const char *const memories[] = {"store", "blocks", "stages", NULL};

enum { KEY_WORK = 'w', KEY_BATCH = 'b', KEY_COMPUTE = 0x300, KEY_SECONDS, KEY_REPEAT, KEY_MEMORY };

static const struct option_line option_list[] = {
    {"work", KEY_WORK, "NAME", 0,
     "train (default): forward, loss, backward and update on images in memory; infer: forward; "
     "latency: forward of a batch of 1; data: resizing and augmenting images in memory, with the "
     "settings of --preset, --config and --set, for example --set augment=[...]; gemm: "
     "each matmul of a training step, by backend; limits: peak arithmetic and memory "
     "bandwidth, by the number of threads"},
    {"batch", KEY_BATCH, "N", 0, "Images in a batch (default 256; latency: 1)"},
    {"compute", KEY_COMPUTE, "TYPE", 0, "f32 (default), bf16, or int8 (inference only)"},
    {"memory", KEY_MEMORY, "NAME", 0,
     "For train, the activations that the forward pass saves: store (default): all; blocks: the "
     "input of each block; stages: the input of each segment of layers"},
    {"seconds", KEY_SECONDS, "S", 0, "Measure for S seconds, each time (default 2; gemm: 0.1)"},
    {"repeat", KEY_REPEAT, "R", 0, "Measure R times (default 5)"},
    {NULL, 0, NULL, 0, NULL},
};

/* Fails for what the work does not use; otherwise the line that is printed would claim it. */
static void check_work(const bench_options *self, const struct option_state *state)
{
    const char *work = works[self->work];
    const int of_model = self->config.preset_given || self->config.file || self->config.set_count;
    if (self->memory && self->work != WORK_TRAIN)
        option_error(state, "--memory is of --work train; this is %s", work);
    if (self->compute && (self->work == WORK_DATA || self->work == WORK_LIMITS))
        option_error(state, "--compute has no effect with --work %s", work);
    if (self->work == WORK_LIMITS && (of_model || self->batch))
        option_error(state, "--work limits measures the machine: no model and no batch belong to "
                            "it");
}

static int parse_option(int key, char *text, struct option_state *state)
{
    bench_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
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
        self->compute = option_choice(state, "--compute", text, compute_names);
        return 0;
    case KEY_MEMORY:
        self->memory = option_choice(state, "--memory", text, memories);
        return 0;
    case KEY_SECONDS:
        self->seconds = option_real(state, "--seconds", text, 0, 3600);
        return 0;
    case KEY_REPEAT:
        self->repeat = option_unsigned(state, "--repeat", text, 1, BENCH_REPEAT_MAX);
        return 0;
    case OPTION_END:
        check_work(self, state);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {
    {&config_table, "The model:"}, {&program_table, "Common options:"}, {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    NULL,
    "Measures the speed of one work and prints one JSON object, or one a line for gemm and limits."
    "\vimages_per_second is the median over the repeats, with min and max. gflops counts the "
    "matmuls alone, a multiply-add as 2; it is left out for an architecture that this program "
    "cannot count. peak_gflops is what the same threads reach on registers, blas_peak_gflops what "
    "the BLAS's own sgemm reaches on large matrices, one single-threaded matmul a thread; both are "
    "measured before and after the work, and the mean of the two is taken. latency_ms is the "
    "median time of a call, latency_p99_ms its 99th "
    "percentile. startup_ms is from the start of the program to the first result.\n\n"
    "gemm: each line is a matmul c[m, n] = a[m, k] b[k, n], of which a step runs `count`, on the "
    "library's workers. gflops is the median over the repeats, in which all backends that run "
    "here, or the one of --gemm, take turns. Matmuls of attention are those of single heads, which "
    "the attention layer computes in blocks of queries. Norms, GELU and other element-wise work "
    "are left out. limits: fma_gflops on registers by instruction set, blas_gflops as "
    "blas_peak_gflops; read_gib_s, and triad_gib_s of a = b + 3 c, its three streams counted once, "
    "over buffer_mib a thread; bf16_gflops of dot products of bfloat16 on registers, where the CPU "
    "has them. --seconds and --repeat have no effect there.",
    children,
    NULL};

/* The measurements of one work. */
typedef struct bench_result {
    double startup;                 /* seconds */
    double rates[BENCH_REPEAT_MAX]; /* images per second, ascending */
    double fma[2], blas[2];         /* before and after the work */
    double call_median, call_p99;   /* seconds */
} bench_result;

/* The times of the first 65536 calls, for the 99th percentile. */
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
    sort_reals(result->rates, options->repeat);
    sort_reals(times.seconds, times.count);
    result->call_median = sorted_quantile(times.seconds, times.count, 0.5);
    result->call_p99 = sorted_quantile(times.seconds, times.count, 0.99);
    return SVIT_OK;
}

static void measure_peaks(const bench_options *options, bench_result *result, int after)
{
    uint32_t threads = svit_context_threads(options->program.context);
    result->fma[after] = machine_peak_fma(0, threads);
    result->blas[after] = machine_peak_blas(threads);
}

static double operations(const bench_options *options, const svit_model_config *config)
{
    if (options->work == WORK_DATA)
        return 0;
    return options->work == WORK_TRAIN ? work_count_training(config) : work_count_forward(config);
}

/* The preset that the model is; NULL: it comes from --config. */
static const char *named_preset(const bench_options *options)
{
    const config_option *config = &options->config;
    return config->file && !config->preset_given ? NULL : config->preset;
}

/* Adds what --set has changed in the preset. */
static void add_sets(json_t *line, const config_option *config)
{
    json_t *sets = json_array();
    for (size_t i = 0; i < config->set_count; i++)
        json_array_append_new(sets, json_string(config->sets[i]));
    if (config->set_count > 0)
        json_object_set(line, "set", sets);
    json_decref(sets);
}

/* Starts the output line. "gemm" is the GEMM backend of the precision in use. */
static json_t *new_line(const bench_options *options)
{
    static const char *const gemms[] = {"gemm", "gemm_bf16", "gemm_int8"};
    svit_context *context = options->program.context;
    json_t *build = bench_build(context);
    json_t *line = bench_line_new(context, works[options->work], svit_context_threads(context));
    json_t *facts = json_pack("{s:s?, s:I, s:s, s:s, s:O*, s:s}", "preset", named_preset(options),
                              "batch", (json_int_t)options->batch, "compute",
                              compute_names[options->compute], "memory", memories[options->memory],
                              "gemm", json_object_get(build, gemms[options->compute]),
                              "peak_vectors", machine_peak_vectors(0));
    json_object_update(line, facts);
    add_sets(line, &options->config);
    json_decref(facts);
    json_decref(build);
    return line;
}

static void set_rates(json_t *line, const bench_options *options, const bench_result *result,
                      double work)
{
    double rate = sorted_quantile(result->rates, options->repeat, 0.5);
    double gflops = 1e-9 * work * rate;
    bench_line_real(line, "images_per_second", rate);
    bench_line_real(line, "min", result->rates[0]);
    bench_line_real(line, "max", result->rates[options->repeat - 1]);
    bench_line_real(line, "latency_ms", 1e3 * result->call_median);
    bench_line_real(line, "latency_p99_ms", 1e3 * result->call_p99);
    bench_line_real(line, "startup_ms", 1e3 * result->startup);
    if (work > 0) {
        bench_line_real(line, "gflop_per_image", 1e-9 * work);
        bench_line_real(line, "gflops", gflops);
        bench_line_real(line, "fraction_of_peak", 2 * gflops / (result->fma[0] + result->fma[1]));
        bench_line_real(line, "fraction_of_blas_peak",
                        2 * gflops / (result->blas[0] + result->blas[1]));
    }
}

static void print_result(const bench_options *options, const bench_result *result, double work)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage); /* before bench_build, which may load libraries */
    json_t *line = new_line(options);
    set_rates(line, options, result, work);
    bench_line_real(line, "peak_gflops", (result->fma[0] + result->fma[1]) / 2);
    bench_line_real(line, "blas_peak_gflops", (result->blas[0] + result->blas[1]) / 2);
    bench_line_real(line, "peak_rss_mib", (double)usage.ru_maxrss / 1024);
    bench_line_print(line);
}

static svit_status bench_model(bench_options *options, const svit_model_config *config,
                               bench_work *work, double start)
{
    static bench_result result;
    struct program *program = &options->program;
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
    TRY(config_resolve_training(&trainer, &optimizer, &pipeline, program, &options->config, NULL,
                                NULL, NULL));
    TRY(bench_work_create(work, program, options->work, config, &pipeline, options->batch,
                          options->compute, options->memory));
    TRY(bench_work_run(work, program));
    result.startup = progress_clock() - start;
    measure_peaks(options, &result, 0);
    TRY(measure(work, options, &result));
    measure_peaks(options, &result, 1);
    print_result(options, &result, operations(options, config));
    return SVIT_OK;
}

static svit_status bench_matmuls(bench_options *options, const svit_model_config *config)
{
    bench_gemm_options gemm = {named_preset(options), options->batch, options->compute,
                               options->seconds, options->repeat};
    if (options->compute == SVIT_COMPUTE_INT8)
        return program_fail(&options->program, SVIT_E_ARGUMENT,
                            "--compute: --work gemm measures only f32 and bf16");
    return bench_gemm(&options->program, config, &gemm);
}

static svit_status bench(bench_options *options, bench_work *work, double start)
{
    svit_model_config config;
    TRY(program_open(&options->program));
    if (options->work == WORK_LIMITS) {
        bench_limits(&options->program);
        return SVIT_OK;
    }
    TRY(config_resolve(&config, &options->program, &options->config, 0));
    if (options->work == WORK_GEMM)
        return bench_matmuls(options, &config);
    return bench_model(options, &config, work, start);
}

static void set_defaults(bench_options *options)
{
    if (options->batch == 0)
        options->batch = options->work == WORK_LATENCY ? 1 : 256;
    if (options->seconds < 0)
        options->seconds = options->work == WORK_GEMM ? 0.1 : 2;
}

int main(int argc, char **argv)
{
    double start = progress_clock();
    bench_options options = {.program = PROGRAM_INIT,
                             .config = {.preset = "shiftvit-cifar10", .takes_training = 1},
                             .seconds = -1,
                             .repeat = 5};
    bench_work work = {0};
    program_parse(&parser, argc, argv, &options);
    set_defaults(&options);
    svit_status status = bench(&options, &work, start);
    bench_work_free(&work);
    return program_exit(&options.program, status);
}
