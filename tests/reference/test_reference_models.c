/* Compares models of random shapes and small models of every preset, in every way that the
 * library computes them, with the references: every instruction set and backend, training with
 * each way to save memory and inference, float32, bfloat16 and int8, 1 and 3 threads.
 *
 * The tolerances come from the reference in double precision: it runs again with its weights and
 * the output of each layer disturbed by random rounding errors of the type that the library
 * computes in. The library's results may be a few times as far from the reference as those of these
 * runs. The norm of the error is compared for the logits and for the gradient of each parameter. */
#include "build.h"
#include "library_model.h"
#include "plain_model.h"
#include "random_shapes.h"
#include "suite.h"

#include <shiftvit/shiftvit.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    SHIFTVIT_COUNT = 40,
    VIT_COUNT = 30,
    MIXER_COUNT = 12,
    CONFIG_COUNT = SHIFTVIT_COUNT + VIT_COUNT + MIXER_COUNT
};

/* Runs of a disturbed reference; their errors are averaged. Where a norm amplifies some
 * disturbances much more than others, few runs see none of these, so a result that lies outside
 * the error that a few runs allow is compared with the error of many. */
enum { FEW_RUNS = 3, MANY_RUNS = 60 };

enum { MAX_PRESETS = 100 };

/* How many times as far from the reference as a disturbed one the library may be: twice the largest
 * ratios seen, which are 6.8 in float32, whose sums within a layer are rounded, too, 1.9 in
 * bfloat16 and 1.7 in int8. Other CPUs and BLAS libraries sum in other orders. */
#define F32_FACTOR 14
#define ROUNDED_FACTOR 4

/* Relative rounding errors: of the library's arithmetic, and of its results, which are read in
 * float32. */
#ifdef SV_DOUBLE
#define UNIT 0x1p-53
#define OUTPUT_UNIT 0x1p-24
#else
#define UNIT 0x1p-24
#define OUTPUT_UNIT 0
#endif

/* The types whose rounding errors are simulated. */
typedef enum rounding { ROUND_BF16, ROUND_INT8, ROUNDINGS } rounding;

typedef struct disturbance {
    rounding rounding;
    random_state state;
} disturbance;

/* One array of results: the logits, or the gradient of a tensor or of the images. */
typedef struct result {
    const char *name;
    size_t elements, offset;
    double size;              /* the norm of the reference's array */
    double errors[ROUNDINGS]; /* the norm of the disturbed references' errors */
} result;

enum { MAX_RESULTS = PLAIN_MAX_TENSORS + 2 };

typedef struct comparison {
    plain_model *model;
    double *parameters; /* the tensors' values */
    double *wanted;     /* all results of the reference, the logits first, dx of the images last */
    float *got;
    result results[MAX_RESULTS];
    size_t result_count, elements;
    size_t tokens;  /* of the batch, in the largest feature map */
    int runs;       /* disturbed runs that the errors come from */
    double typical; /* the root mean square of all gradients' elements */
    random_state state;
} comparison;

static void *checked_calloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Changes each element at random by up to the rounding error of bfloat16, 2^-8 of the element, or
 * of int8, 1/254 of the row's largest element. */
static void disturb(void *argument, double *values, size_t rows, size_t columns)
{
    disturbance *self = argument;
    for (size_t i = 0; i < rows; i++, values += columns) {
        double largest = 0;
        for (size_t j = 0; j < columns; j++)
            largest = fmax(largest, fabs(values[j]));
        for (size_t j = 0; j < columns; j++) {
            double step = self->rounding == ROUND_BF16 ? 0x1p-8 * fabs(values[j]) : largest / 254;
            values[j] += step * random_centred(&self->state);
        }
    }
}

/* A random value that float32 represents exactly. */
static double draw_value(random_state *state, double middle, double range)
{
    return (float)(middle + range * random_centred(state));
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The weights of matmuls preserve the magnitude of activations. Weights of norms are about 1,
 * temperatures about their initial values, and all other parameters small. */
static void draw_parameters(comparison *c)
{
    const double root = sqrt(c->model->config.head_dim + 1.0);
    for (size_t i = 0; i < c->model->tensor_count; i++) {
        const plain_tensor *tensor = &c->model->tensors[i];
        const double in = tensor->out ? (double)tensor->elements / (double)tensor->out : 0;
        double middle = ends_with(tensor->name, ".weight") && !tensor->out ? 1 : 0;
        double range = tensor->out ? sqrt(3 / in) : 0.3;
        if (ends_with(tensor->name, "attn.tau") || ends_with(tensor->name, "fn.scale")) {
            middle = c->model->config.temperature == SVIT_TEMPERATURE_DIVIDE ? root : 1 / root;
            range = middle / 5;
        }
        for (size_t j = 0; j < tensor->elements; j++)
            tensor->value[j] = draw_value(&c->state, middle, range);
        if (c->model->config.no_key_bias && ends_with(tensor->name, "qkv.bias"))
            memset(tensor->value + tensor->elements / 3, 0,
                   tensor->elements / 3 * sizeof *tensor->value);
    }
}

static void draw_inputs(comparison *c)
{
    const svit_model_config *config = &c->model->config;
    const size_t pixels = (size_t)config->input_height * config->input_width * config->in_channels;
    for (size_t i = 0; i < c->model->images * pixels; i++)
        c->model->x[i] = draw_value(&c->state, 0.3, 1);
    for (size_t i = 0; i < c->model->images * c->model->classes; i++)
        c->model->dlogits[i] = draw_value(&c->state, 0, 1);
}

static void add_result(comparison *c, const char *name, size_t elements)
{
    c->results[c->result_count++] =
        (result){.name = name, .elements = elements, .offset = c->elements};
    c->elements += elements;
}

/* Runs the reference and copies its results, or leaves the gradients out. */
static void run_reference(const comparison *c, double *to, bool backward)
{
    plain_model_forward(c->model);
    memcpy(to, c->model->logits, c->results[0].elements * sizeof *to);
    if (!backward)
        return;
    plain_model_backward(c->model);
    for (size_t i = 1; i < c->result_count; i++)
        memcpy(to + c->results[i].offset,
               i <= c->model->tensor_count ? c->model->tensors[i - 1].gradient : c->model->dx,
               c->results[i].elements * sizeof *to);
}

static double norm_of(const double *values, size_t elements)
{
    double sum = 0;
    for (size_t i = 0; i < elements; i++)
        sum += values[i] * values[i];
    return sqrt(sum);
}

static void set_values(const comparison *c, disturbance *by)
{
    for (size_t i = 0; i < c->model->tensor_count; i++) {
        const plain_tensor *tensor = &c->model->tensors[i];
        memcpy(tensor->value, c->parameters + c->results[i + 1].offset,
               tensor->elements * sizeof(double));
        if (by && tensor->out)
            disturb(by, tensor->value, tensor->out, tensor->elements / tensor->out);
    }
}

/* Measures the effect of rounding: the error of the reference if the weights and the output of each
 * layer are disturbed by random rounding errors. */
static void measure_rounding(comparison *c, rounding which, int runs)
{
    double *disturbed = checked_calloc(c->elements, sizeof *disturbed);
    disturbance by = {which, c->state};
    c->runs = runs;
    double squares[MAX_RESULTS] = {0};
    c->model->disturb = disturb;
    c->model->disturb_argument = &by;
    for (int run = 0; run < runs; run++) {
        set_values(c, &by);
        run_reference(c, disturbed, which == ROUND_BF16);
        for (size_t i = 0; i < c->elements; i++)
            disturbed[i] -= c->wanted[i];
        for (size_t i = 0; i < c->result_count; i++) {
            double error = norm_of(disturbed + c->results[i].offset, c->results[i].elements);
            squares[i] += error * error / runs;
        }
    }
    for (size_t i = 0; i < c->result_count; i++)
        c->results[i].errors[which] = sqrt(squares[i]);
    c->model->disturb = NULL;
    set_values(c, NULL);
    free(disturbed);
}

static svit_model_config random_config(int number, random_state *state, size_t *images)
{
    if (number < SHIFTVIT_COUNT)
        return random_shiftvit(state, images);
    return number < SHIFTVIT_COUNT + VIT_COUNT ? random_vit(state, images)
                                               : random_mixer(state, images);
}

static comparison open_comparison(const svit_model_config *of, size_t images, random_state state)
{
    const svit_model_config config = *of;
    comparison c = {.state = state};
    c.model = plain_model_create(&config, images);
    c.tokens =
        images * config.input_height * config.input_width / config.patch_size / config.patch_size;
    draw_parameters(&c);
    draw_inputs(&c);
    add_result(&c, "logits", images * c.model->classes);
    for (size_t i = 0; i < c.model->tensor_count; i++)
        add_result(&c, c.model->tensors[i].name, c.model->tensors[i].elements);
    const size_t without_input = c.elements;
    add_result(&c, "the input",
               images * config.input_height * config.input_width * config.in_channels);
    c.parameters = checked_calloc(c.elements, sizeof *c.parameters);
    c.wanted = checked_calloc(c.elements, sizeof *c.wanted);
    c.got = checked_calloc(c.elements, sizeof *c.got);
    for (size_t i = 0; i < c.model->tensor_count; i++)
        memcpy(c.parameters + c.results[i + 1].offset, c.model->tensors[i].value,
               c.results[i + 1].elements * sizeof(double));
    run_reference(&c, c.wanted, true);
    for (size_t i = 0; i < c.result_count; i++)
        c.results[i].size = norm_of(c.wanted + c.results[i].offset, c.results[i].elements);
    const size_t logits = c.results[0].elements, gradients = without_input - logits;
    c.typical = norm_of(c.wanted + logits, gradients) / sqrt((double)gradients);
    measure_rounding(&c, ROUND_BF16, FEW_RUNS);
    measure_rounding(&c, ROUND_INT8, FEW_RUNS);
    return c;
}

static comparison open_random(int number)
{
    random_state state = 0x9E3779B97F4A7C15u * (uint64_t)(number + 1);
    size_t images;
    const svit_model_config config = random_config(number, &state, &images);
    return open_comparison(&config, images, state);
}

static void close_comparison(comparison *c)
{
    plain_model_free(c->model);
    free(c->parameters);
    free(c->wanted);
    free(c->got);
}

/* The largest norm of a result's error that passes. Rounding errors of float32 are those of
 * bfloat16, scaled: float32 has 16 bits more, and double has 45 bits more, but its results are read
 * as float32. Two terms are added for rounding errors within a layer: a gradient is a sum over
 * tokens with one rounding each; and where the terms of a gradient cancel, their rounding errors do
 * not. */
static double allowed_error(const comparison *c, const result *of, int32_t compute)
{
    const double summed = sqrt((double)c->tokens) * of->size;
    const double cancelled = c->typical * sqrt((double)of->elements);
    if (compute == SVIT_COMPUTE_BF16)
        return ROUNDED_FACTOR * (of->errors[ROUND_BF16] + 0x1p-8 * cancelled);
    if (compute == SVIT_COMPUTE_INT8)
        return ROUNDED_FACTOR * of->errors[ROUND_INT8];
    return OUTPUT_UNIT * of->size +
           F32_FACTOR * (UNIT / 0x1p-8 * of->errors[ROUND_BF16] + UNIT * cancelled) + UNIT * summed;
}

static void print_options(const comparison *c, const library_options *options)
{
    char json[2048];
    svit_model_config_to_json(&c->model->config, json, sizeof json, NULL, NULL);
    printf("%s\n%zu images, max_batch %u, isa %s, gemm %s, threads %u, mode %d, compute %d, "
           "memory %d, input_gradient %d\n",
           json, c->model->images, options->max_batch, options->isa ? options->isa : "best",
           options->gemm ? options->gemm : "chosen", options->threads, options->mode,
           options->compute, options->memory, options->input_gradient);
}

/* The error of a result of the library, whose norm is compared. */
static double error_of(const comparison *c, const result *of)
{
    double squares = 0;
    for (size_t j = of->offset; j < of->offset + of->elements; j++)
        squares += (c->got[j] - c->wanted[j]) * (c->got[j] - c->wanted[j]);
    return sqrt(squares);
}

/* Runs the library once and compares all results. */
static void compare(comparison *c, const library_options *options)
{
    const size_t count = options->mode != SVIT_MODE_TRAIN ? 1
                         : options->input_gradient        ? c->result_count
                                                          : c->result_count - 1;
    library_run(c->model, options, c->got, c->got + c->results[0].elements);
    for (size_t i = 0; i < count; i++) {
        const result *of = &c->results[i];
        const double error = error_of(c, of);
        if (!(error <= allowed_error(c, of, options->compute)) && c->runs < MANY_RUNS) {
            measure_rounding(c, ROUND_INT8, MANY_RUNS);
            measure_rounding(c, ROUND_BF16, MANY_RUNS);
        }
        const double allowed = allowed_error(c, of, options->compute);
        if (!(error <= allowed)) {
            print_options(c, options);
            ck_abort_msg("%s is off by %g, where %g of %g is allowed", of->name, error, allowed,
                         of->size);
        }
    }
}

/* Number `index` of the modes: training with each way to save memory, then inference. */
static void set_mode(library_options *options, int index)
{
    options->mode = index < 3 ? SVIT_MODE_TRAIN : SVIT_MODE_INFER;
    options->memory = index < 3 ? index : SVIT_MEMORY_STORE;
    options->input_gradient = options->input_gradient && index < 3;
}

/* Chooses 1 or 3 threads, whether the gradient of the images is computed, and a session for exactly
 * the images of the model or for more. */
static library_options draw_options(comparison *c, const char *isa, const char *gemm)
{
    const size_t images = c->model->images;
    return (library_options){
        .isa = isa,
        .gemm = gemm,
        .threads = random_coin(&c->state) ? 1 : 3,
        .input_gradient = random_coin(&c->state),
        .max_batch =
            (uint32_t)(images + (random_coin(&c->state) ? 0 : random_between(&c->state, 1, 9)))};
}

static void compare_f32(comparison *c, const char *isa, const char *gemm)
{
    for (int mode = 0; mode < 4; mode++) {
        library_options options = draw_options(c, isa, gemm);
        set_mode(&options, mode);
        compare(c, &options);
    }
}

/* The presets, made small, with their words and flags as they are. Those that differ in sizes alone
 * are then equal, and one of them is enough. */
typedef struct preset_families {
    char json[MAX_PRESETS][2048];
    svit_model_config configs[MAX_PRESETS];
    int count;
} preset_families;

static void add_family(preset_families *to, const char *preset)
{
    const svit_model_config config = small_preset(preset);
    if (config.mask_ratio > 0) /* which plain_vit.c has not; tests/golden/make_masked.py has */
        return;
    to->configs[to->count] = config;
    svit_model_config_to_json(&config, to->json[to->count], sizeof to->json[0], NULL, NULL);
    for (int i = 0; i < to->count; i++)
        if (strcmp(to->json[i], to->json[to->count]) == 0)
            return;
    to->count++;
}

static const preset_families *families(void)
{
    static preset_families all;
    if (all.count == 0)
        for (size_t i = 0; i < MAX_PRESETS && svit_model_preset_name(i); i++)
            add_family(&all, svit_model_preset_name(i));
    return &all;
}

START_TEST(test_every_preset_equals_the_reference)
{
    ck_assert_ptr_null(svit_model_preset_name(MAX_PRESETS));
    comparison c = open_comparison(&families()->configs[_i], 3, 0x9E3779B97F4A7C15u + (uint64_t)_i);
    compare_f32(&c, NULL, NULL);
#ifndef SV_DOUBLE
    const library_options bf16 = {.threads = 1,
                                  .input_gradient = 1,
                                  .max_batch = 3,
                                  .mode = SVIT_MODE_TRAIN,
                                  .compute = SVIT_COMPUTE_BF16};
    compare(&c, &bf16);
#endif
    close_comparison(&c);
}
END_TEST

START_TEST(test_every_instruction_set_and_backend_equals_the_reference)
{
    comparison c = open_random(_i);
    const char *isas[LIBRARY_MAX_ISAS];
    for (size_t i = library_isas(isas); i-- > 0;)
        compare_f32(&c, isas[i], "tile");
    if (HAS_CBLAS)
        compare_f32(&c, NULL, "cblas");
    if (library_has_gemm("amx"))
        compare_f32(&c, NULL, "amx");
    close_comparison(&c);
}
END_TEST

#ifndef SV_DOUBLE
START_TEST(test_bfloat16_and_int8_are_as_near_to_the_reference_as_their_rounding)
{
    comparison c = open_random(_i);
    const char *isas[LIBRARY_MAX_ISAS];
    for (size_t i = library_isas(isas); i-- > 0;)
        for (int mode = 2; mode < 5; mode++) {
            library_options options = draw_options(&c, isas[i], NULL);
            set_mode(&options, mode);
            options.compute = mode < 4 ? SVIT_COMPUTE_BF16 : SVIT_COMPUTE_INT8;
            compare(&c, &options);
        }
    close_comparison(&c);
}
END_TEST
#endif

static Suite *models_suite(void)
{
    Suite *suite = suite_create("reference models");
    TCase *all = tcase_create("shapes");
    add_cases(all, test_every_instruction_set_and_backend_equals_the_reference, CONFIG_COUNT);
#ifndef SV_DOUBLE
    add_cases(all, test_bfloat16_and_int8_are_as_near_to_the_reference_as_their_rounding,
              CONFIG_COUNT);
#endif
    add_cases(all, test_every_preset_equals_the_reference, families()->count);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(models_suite)
