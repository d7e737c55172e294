/* Describes a model file, or the build and the machine. */
#include "data/class_list.h"
#include "models/model_path.h"
#include "program/json_line.h"
#include "program/shown.h"
#include "settings/config_option.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct info_options {
    struct program program;
    config_option config;
    const char *model;
    int build;
} info_options;

enum { KEY_MODEL = 'm', KEY_BUILD = 'b' };

static const struct option_line option_list[] = {
    {"model", KEY_MODEL, "FILE", 0,
     "Describe a model file, or the model of a training run's folder: configuration, tensors, "
     "output, classes, threshold, preprocessing, memory; the word --model may be left out"},
    {"build", KEY_BUILD, NULL, 0,
     "Describe this build: version, CPU, instruction set, GEMM backends, threads"},
    {NULL, 0, NULL, 0, NULL},
};

/* What is for a model file has no effect on a build alone. */
static const struct option_rule rules_of_build[] = {
    {"preset", {NULL}, "build"},  {"config", {NULL}, "build"}, {"set", {NULL}, "build"},
    {"name", {NULL}, "build"},    {"prefix", {NULL}, "build"}, {"base", {NULL}, "build"},
    {"explain", {NULL}, "build"}, {NULL, {NULL}, NULL},
};

static int parse_option(int key, char *text, struct option_state *state)
{
    info_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->config;
        state->child_inputs[1] = &self->program;
        return 0;
    case KEY_MODEL:
        self->model = text;
        return 0;
    case KEY_BUILD:
        self->build = 1;
        return 0;
    case OPTION_ARGUMENT:
        if (self->model)
            option_error(state, "'%s': one model file is described at a time", text);
        self->model = text;
        return 0;
    case OPTION_END:
        if (!self->model && !self->build)
            option_error(state, "a model file or --build is needed");
        if (!self->model)
            option_check_rules(state, rules_of_build);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {
    {&checkpoint_table, "For weights without a configuration, and checkpoints of other libraries:"},
    {&program_table, "Common options:"},
    {NULL, NULL}};
static const struct option_table parser = {
    option_list, parse_option, "[FILE]", "Describes a model file, or this build and machine.",
    children,    NULL};

static json_t *parameter_object(const svit_model *model, const char *name)
{
    int64_t shape[8];
    size_t rank = 0;
    json_int_t elements = 1;
    json_t *sizes = json_array();
    svit_model_parameter_shape(model, name, shape, &rank, NULL);
    for (size_t i = 0; i < rank; i++) {
        json_array_append_new(sizes, json_integer(shape[i]));
        elements *= shape[i];
    }
    return json_pack("{s:s, s:o, s:I}", "name", name, "shape", sizes, "elements", elements);
}

static json_t *parameters_array(const svit_model *model)
{
    json_t *array = json_array();
    for (size_t i = 0; i < svit_model_parameter_count(model); i++)
        json_array_append_new(array, parameter_object(model, svit_model_parameter_name(model, i)));
    return array;
}

/* Returns the names of classes, as a function of the library gives them. */
static json_t *names_array(const char *(*name)(const svit_model *, size_t), const svit_model *model)
{
    json_t *array = json_array();
    for (size_t i = 0; name(model, i); i++)
        json_array_append_new(array, json_string(name(model, i)));
    return array;
}

/* Returns the word of shiftvit-predict's --output for what the model's logits become. */
static const char *output_name(const svit_model *model)
{
    const int32_t output = svit_model_output(model);
    return output == SVIT_OUTPUT_SIGMOID  ? "sigmoid"
           : output == SVIT_OUTPUT_LOGITS ? "logits"
                                          : "softmax";
}

/* Returns the pipeline as JSON, or null if the model has none. */
static json_t *preprocessing_object(const svit_model *model)
{
    svit_pipeline_config pipeline;
    char text[4096];
    if (svit_model_get_pipeline(model, &pipeline, sizeof pipeline, NULL) != SVIT_OK ||
        svit_pipeline_config_to_json(&pipeline, text, sizeof text, NULL, NULL) != SVIT_OK)
        return json_null();
    return json_loads(text, 0, NULL);
}

/* The sessions whose memory is printed. */
static const struct {
    const char *name;
    uint32_t batch;
    int32_t mode, memory;
} sessions[] = {
    {"predict_1", 1, SVIT_MODE_INFER, SVIT_MEMORY_STORE},
    {"predict_256", 256, SVIT_MODE_INFER, SVIT_MEMORY_STORE},
    {"train_256", 256, SVIT_MODE_TRAIN, SVIT_MEMORY_STORE},
    {"train_256_blocks", 256, SVIT_MODE_TRAIN, SVIT_MEMORY_RECOMPUTE_BLOCKS},
    {"train_256_stages", 256, SVIT_MODE_TRAIN, SVIT_MEMORY_RECOMPUTE_STAGES},
};
enum { SESSIONS = sizeof sessions / sizeof *sessions };

/* Returns the bytes of the weights and of the sessions that share them; null for a session that is
 * too large for this machine. */
static json_t *memory_object(svit_model *model)
{
    json_t *object = json_object();
    json_int_t weights = (json_int_t)(svit_model_parameter_elements(model) * sizeof(float));
    json_object_set_new(object, "weights", json_integer(weights));
    for (size_t i = 0; i < SESSIONS; i++) {
        svit_session_config config;
        uint64_t bytes = 0;
        svit_session_config_init(&config, sizeof config);
        config.max_batch = sessions[i].batch;
        config.mode = sessions[i].mode;
        config.memory = sessions[i].memory;
        svit_status status = svit_session_memory_needed(&bytes, model, &config, NULL);
        json_object_set_new(object, sessions[i].name,
                            status == SVIT_OK ? json_integer((json_int_t)bytes) : json_null());
    }
    return object;
}

static svit_status model_object(json_t **out, struct program *program, const char *path,
                                svit_model *model)
{
    svit_model_config config;
    char *text = NULL;
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    TRY(config_text(&text, program, &config));
    uint64_t forward = 0, training = 0;
    TRY(svit_model_multiply_adds(&config, &forward, &training, &program->err));
    const double threshold = svit_model_threshold(model);
    *out = json_pack("{s:o, s:o, s:I, s:I, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "file",
                     json_line_text(path), "config", json_loads(text, 0, NULL), "parameters",
                     (json_int_t)svit_model_parameter_elements(model), "multiply_adds",
                     (json_int_t)forward, "multiply_adds_training", (json_int_t)training, "tensors",
                     parameters_array(model), "output", output_name(model), "classes",
                     names_array(svit_model_class_name, model), "text_classes",
                     svit_model_text_class_name(model, 0)
                         ? names_array(svit_model_text_class_name, model)
                         : json_null(),
                     "threshold", threshold > 0 ? json_real(threshold) : json_null(),
                     "preprocessing", preprocessing_object(model), "memory", memory_object(model));
    free(text);
    return *out ? SVIT_OK
                : program_fail(program, SVIT_E_MEMORY, "no memory to describe '%s'", path);
}

static void print_fields(const char *title, json_t *object)
{
    const char *name;
    json_t *value;
    printf("%s\n", title);
    json_object_foreach (object, name, value) {
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        printf("  %-18s %s\n", name, text ? text : "?");
        free(text);
    }
}

static void print_tensors(const json_t *tensors)
{
    size_t i;
    json_t *tensor;
    json_array_foreach (tensors, i, tensor) {
        char name[SHOWN_CAPACITY];
        char *shape = json_dumps(json_object_get(tensor, "shape"), 0);
        printf("  %-42s %12" JSON_INTEGER_FORMAT "  %s\n",
               shown_text(name, json_string_value(json_object_get(tensor, "name"))),
               json_integer_value(json_object_get(tensor, "elements")), shape ? shape : "?");
        free(shape);
    }
}

static void print_memory(const json_t *object)
{
    const char *name;
    json_t *value;
    puts("memory, MiB");
    json_object_foreach ((json_t *)object, name, value)
        if (json_is_integer(value))
            printf("  %-18s %.1f\n", name, (double)json_integer_value(value) / (1 << 20));
}

static void print_names(const json_t *names)
{
    size_t i;
    json_t *name;
    char shown[SHOWN_CAPACITY];
    json_array_foreach (names, i, name)
        printf("  %4zu  %s\n", i, shown_text(shown, json_string_value(name)));
}

/* Prints what the logits become, and the classes. */
static void print_outputs(json_t *object)
{
    const json_t *classes = json_object_get(object, "classes");
    const json_t *texts = json_object_get(object, "text_classes");
    const json_t *threshold = json_object_get(object, "threshold");
    printf("output: %s\n", json_string_value(json_object_get(object, "output")));
    puts(json_array_size(classes) > 0 ? "classes" : "classes: no names in the file");
    print_names(classes);
    if (json_is_array(texts)) {
        puts("classes that are texts");
        print_names(texts);
    }
    if (json_is_real(threshold))
        printf("none of the classes below %.2f %%\n", 100 * json_real_value(threshold));
}

static void print_model(json_t *object)
{
    json_t *preprocessing = json_object_get(object, "preprocessing");
    print_fields("configuration", json_object_get(object, "config"));
    printf("parameters: %" JSON_INTEGER_FORMAT "\n",
           json_integer_value(json_object_get(object, "parameters")));
    printf("multiply-adds: %.4f G for an image, %.4f G in training\n",
           1e-9 * (double)json_integer_value(json_object_get(object, "multiply_adds")),
           1e-9 * (double)json_integer_value(json_object_get(object, "multiply_adds_training")));
    print_tensors(json_object_get(object, "tensors"));
    print_outputs(object);
    if (json_is_object(preprocessing))
        print_fields("preprocessing", preprocessing);
    else
        puts("preprocessing: none in the file");
    print_memory(json_object_get(object, "memory"));
}

static void print_line(json_t *object)
{
    json_line_print(json_incref(object), JSON_LINE_DIGITS);
}

static svit_status describe_model(info_options *options)
{
    struct program *program = &options->program;
    svit_model *model = NULL;
    json_t *object = NULL;
    TRY(model_open(&model, program, &options->config, options->model));
    svit_status status = model_object(&object, program, options->model, model);
    if (status == SVIT_OK)
        (program->json ? print_line : print_model)(object);
    json_decref(object);
    svit_model_free(model);
    return status;
}

/* Prints the image formats that the library reads, in one line. */
static void print_decoders(const json_t *decoders)
{
    json_t *name;
    size_t i;
    printf("%-16s", "decoders");
    json_array_foreach (decoders, i, name)
        printf(" %s", json_string_value(name));
    puts(json_array_size(decoders) ? "" : " none");
}

static void print_build(json_t *object)
{
    const char *name;
    json_t *value;
    size_t i;
    json_t *warning;
    json_object_foreach (object, name, value)
        if (json_is_string(value))
            printf("%-16s %s\n", name, json_string_value(value));
        else if (json_is_integer(value))
            printf("%-16s %" JSON_INTEGER_FORMAT "\n", name, json_integer_value(value));
    print_decoders(json_object_get(object, "decoders"));
    json_array_foreach (json_object_get(object, "warnings"), i, warning)
        printf("warning: %s\n", json_string_value(warning));
}

/* A BLAS tells about itself once it is loaded, which a context does that uses it. */
static void load_blas(void)
{
    svit_context_config config;
    svit_context *context = NULL;
    if (svit_context_config_init(&config, sizeof config) != SVIT_OK)
        return;
    config.threads = 1;
    config.gemm = "cblas";
    svit_context_create(&context, &config, NULL);
    svit_context_free(context);
}

static svit_status describe_build(struct program *program)
{
    char text[8192];
    load_blas();
    TRY(svit_context_describe(program->context, text, sizeof text, NULL, &program->err));
    json_t *object = json_loads(text, 0, NULL);
    if (!object)
        return program_fail(program, SVIT_E_FORMAT, "the library's description is no JSON");
    (program->json ? print_line : print_build)(object);
    json_decref(object);
    return SVIT_OK;
}

static svit_status describe(info_options *options)
{
    TRY(program_open(&options->program));
    if (options->build)
        TRY(describe_build(&options->program));
    if (options->model)
        TRY(describe_model(options));
    return SVIT_OK;
}

int main(int argc, char **argv)
{
    info_options options = {.program = PROGRAM_INIT};
    program_parse(&parser, argc, argv, &options);
    return program_exit(&options.program, describe(&options));
}
