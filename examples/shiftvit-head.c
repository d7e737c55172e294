/* Trains the classifier of a model on features, adds a class to it from a few images, and measures
 * both. */
#include "data/bad_option.h"
#include "data/image_folder.h"
#include "models/load_parts.h"
#include "models/model_path.h"
#include "outputs/output_check.h"
#include "program/json_line.h"
#include "program/shown.h"
#include "results/added_class.h"
#include "results/feature_results.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct head_options {
    struct program program;
    config_option config;
    const char *model, *out;
    const char *fit, *evaluate;     /* files of features */
    const char *add_class, *images; /* a name and a folder */
    const char *old_features;
    const char *neighbours, *reference; /* files of features */
    svit_head_config head;
    svit_class_config class;
    uint32_t batch; /* images in a forward pass */
    int keep;       /* 1: training starts with the classifier that the model has */
    size_t k;
    double temperature;
    int32_t on_bad;
} head_options;

enum {
    KEY_MODEL = 'm',
    KEY_OUT = 'o',
    KEY_FIT = 'f',
    KEY_EVALUATE = 'e',
    KEY_ADD_CLASS = 'a',
    KEY_IMAGES = 'i',
    KEY_NEIGHBOURS = 'n',
    KEY_BATCH = 'b',
    KEY_OLD = 0x300,
    KEY_REFERENCE,
    KEY_EPOCHS,
    KEY_RATE,
    KEY_DECAY,
    KEY_SMOOTHING,
    KEY_BALANCED,
    KEY_KEEP,
    KEY_RECALL,
    KEY_NEW_WEIGHT,
    KEY_K,
    KEY_TEMPERATURE
};

static const struct option_line option_list[] = {
    {NULL, 0, NULL, 0, "What is done:"},
    {"fit", KEY_FIT, "FILE", 0,
     "Train a new classifier of --model on a file of features and write the model to --out. "
     "Without hidden layers its weights start at 0"},
    {"evaluate", KEY_EVALUATE, "FILE", 0,
     "Print loss and accuracy of the classifier, after --fit of the new one, on a file of "
     "features"},
    {"add-class", KEY_ADD_CLASS, "NAME", 0,
     "Add the class NAME to --model from the images of --images and write the model to --out. The "
     "old classes keep their weights, and no old image is needed"},
    {"neighbours", KEY_NEIGHBOURS, "FILE", 0,
     "Print the accuracy of k-nearest neighbours in --reference on a file of features; this needs "
     "no model. An image that both files have is a neighbour of itself"},
    {NULL, 0, NULL, 0, "Files:"},
    {"model", KEY_MODEL, "FILE", 0,
     "A model file, a training run's folder, or a checkpoint of timm, OpenCLIP or transformers"},
    {"out", KEY_OUT, "FILE", 0, "The model file to write; it may be that of --model"},
    {"images", KEY_IMAGES, "DIR", 0,
     "With --add-class: a folder of JPEG, PNG and WebP images of it"},
    {"old-features", KEY_OLD, "FILE", 0,
     "With --add-class: features of the old classes, which make the new one more accurate"},
    {"reference", KEY_REFERENCE, "FILE", 0,
     "With --neighbours: the labelled features among which neighbours are looked for"},
    {NULL, 0, NULL, 0, "With --fit:"},
    {"epochs", KEY_EPOCHS, "N", 0, "Passes over the features (default 100)"},
    {"batch", KEY_BATCH, "N", 0,
     "Samples in an update (default 256); with --add-class images in a forward pass"},
    {"learning-rate", KEY_RATE, "X", 0, "AdamW's, at the start (default 0.003); it falls to 0"},
    {"weight-decay", KEY_DECAY, "X", 0,
     "AdamW's (default: 5000 divided by the samples, at most 10)"},
    {"label-smoothing", KEY_SMOOTHING, "X", 0, "0 (default) to 0.999"},
    {"balanced", KEY_BALANCED, NULL, 0, "Each class counts as much as any other"},
    {"keep", KEY_KEEP, NULL, 0,
     "Start with the classifier that the model has, and keep its classes; those of the features, "
     "which go by name, must be among them"},
    {NULL, 0, NULL, 0, "With --add-class:"},
    {"recall", KEY_RECALL, "X", 0,
     "Without --old-features: the fraction of the images that the new class is to win (default "
     "0.6). A larger one takes more images of other classes too"},
    {"new-weight", KEY_NEW_WEIGHT, "X", 0,
     "With --old-features: how much the new class counts, by an old one (default 2)"},
    {NULL, 0, NULL, 0, "With --neighbours:"},
    {"k", KEY_K, "K", 0, "Neighbours that vote (default 20)"},
    {"temperature", KEY_TEMPERATURE, "X", 0,
     "A vote weighs exp(cosine similarity / X) (default 0.07)"},
    {NULL, 0, NULL, 0, NULL},
};

static int parse_number(head_options *self, int key, const char *text,
                        const struct option_state *state)
{
    switch (key) {
    case KEY_EPOCHS:
        self->head.epochs = (uint32_t)option_unsigned(state, "--epochs", text, 1, 1000000);
        return 0;
    case KEY_BATCH:
        self->head.batch = self->batch =
            (uint32_t)option_unsigned(state, "--batch", text, 1, 65536);
        return 0;
    case KEY_RATE:
        self->head.learning_rate = option_real(state, "--learning-rate", text, 1e-12, 1e6);
        return 0;
    case KEY_DECAY:
        self->head.weight_decay = option_real(state, "--weight-decay", text, 0, 1e6);
        return 0;
    case KEY_SMOOTHING:
        self->head.label_smoothing = option_real(state, "--label-smoothing", text, 0, 0.999);
        return 0;
    case KEY_RECALL:
        self->class.recall = option_real(state, "--recall", text, 1e-6, 1);
        return 0;
    case KEY_NEW_WEIGHT:
        self->class.new_weight = option_real(state, "--new-weight", text, 1e-6, 1e6);
        return 0;
    case KEY_K:
        self->k = option_unsigned(state, "--k", text, 1, 1048576);
        return 0;
    case KEY_TEMPERATURE:
        self->temperature = option_real(state, "--temperature", text, 1e-6, 1e6);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

/* Where an option that names something is kept; NULL: it is another option. */
static const char **text_of(head_options *self, int key)
{
    switch (key) {
    case KEY_MODEL:
        return &self->model;
    case KEY_OUT:
        return &self->out;
    case KEY_FIT:
        return &self->fit;
    case KEY_EVALUATE:
        return &self->evaluate;
    case KEY_ADD_CLASS:
        return &self->add_class;
    case KEY_IMAGES:
        return &self->images;
    case KEY_OLD:
        return &self->old_features;
    case KEY_NEIGHBOURS:
        return &self->neighbours;
    case KEY_REFERENCE:
        return &self->reference;
    default:
        return NULL;
    }
}

static const struct option_rule rules[] = {
    {"model", {NULL}, "neighbours"},
    {"preset", {"model"}, NULL},
    {"config", {"model"}, NULL},
    {"set", {"model"}, NULL},
    {"name", {"model"}, NULL},
    {"prefix", {"model"}, NULL},
    {"base", {"model"}, NULL},
    {"explain", {"model"}, NULL},
    {"epochs", {"fit"}, NULL},
    {"batch", {"fit", "add-class"}, NULL},
    {"learning-rate", {"fit"}, NULL},
    {"weight-decay", {"fit"}, NULL},
    {"label-smoothing", {"fit"}, NULL},
    {"balanced", {"fit"}, NULL},
    {"keep", {"fit"}, NULL},
    {"recall", {"add-class"}, "old-features"},
    {"new-weight", {"old-features"}, NULL},
    {"on-bad", {"add-class"}, NULL},
    {"k", {"neighbours"}, NULL},
    {"temperature", {"neighbours"}, NULL},
    {NULL, {NULL}, NULL},
};

static void check_together(const head_options *self, struct option_state *state)
{
    const int of_model = self->fit || self->evaluate || self->add_class;
    if (!of_model && !self->neighbours)
        option_error(state, "one of --fit, --evaluate, --add-class and --neighbours is needed");
    if (self->add_class && (self->fit || self->evaluate))
        option_error(state, "--add-class goes without --fit and --evaluate");
    if (self->neighbours && of_model)
        option_error(state, "--neighbours goes without --fit, --evaluate and --add-class");
    if (of_model && !self->model)
        option_error(state, "--model FILE is needed");
    if (!self->out != !(self->fit || self->add_class))
        option_error(state, "--out FILE belongs to --fit and --add-class, which need it");
    if (!self->images != !self->add_class)
        option_error(state, "--images DIR belongs to --add-class, which needs it");
    if (self->old_features && !self->add_class)
        option_error(state, "--old-features belongs to --add-class");
    if (!self->reference != !self->neighbours)
        option_error(state, "--reference FILE belongs to --neighbours, which needs it");
    option_check_rules(state, rules);
}

static const char *name_of(int key)
{
    const struct option_line *line = option_list;
    while (line->key != key)
        line++;
    return line->name;
}

static int parse_option(int key, char *text, struct option_state *state)
{
    head_options *self = state->input;
    const char **kept = text_of(self, key);
    if (kept) {
        if (text[0] == '\0')
            option_error(state, "--%s: the text is empty", name_of(key));
        *kept = text;
        return 0;
    }
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->on_bad;
        state->child_inputs[1] = &self->config;
        state->child_inputs[2] = &self->program;
        return 0;
    case KEY_BALANCED:
        self->head.balanced = 1;
        return 0;
    case KEY_KEEP:
        self->keep = 1;
        return 0;
    case OPTION_END:
        check_together(self, state);
        return 0;
    default:
        return parse_number(self, key, text, state);
    }
}

static const struct option_child children[] = {
    {&bad_table, "Images that cannot be read:"},
    {&checkpoint_table, "For weights without a configuration, and checkpoints of other libraries:"},
    {&program_table, "Common options:"},
    {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    NULL,
    "Trains the classifier of a model on features, or adds a class to it from a few images."
    "\vFiles of features come from shiftvit-features, with the same model:\n\n"
    "  shiftvit-features --model M --data folder:photos --out train.safetensors\n"
    "  shiftvit-head --fit train.safetensors --model M --out photos.safetensors\n\n"
    "One class more, from the images in the folder fox, next week:\n\n"
    "  shiftvit-head --add-class fox --images fox --model photos.safetensors --out "
    "photos.safetensors",
    children,
    NULL};

static svit_status open_model(head_options *self, svit_model **model)
{
    return model_open(model, &self->program, &self->config, self->model);
}

/* Prints what was written, as text or as JSON. `found` of `count` images of a new class are given
 * it. */
static void report(const head_options *self, const svit_model *model, size_t found, size_t count)
{
    char shown[SHOWN_CAPACITY], name[SHOWN_CAPACITY];
    svit_model_config config;
    svit_model_get_config(model, &config, sizeof config, NULL);
    if (self->program.json) {
        json_t *object = json_pack("{s:o, s:I}", "out", json_line_text(self->out), "classes",
                                   (json_int_t)config.num_classes);
        if (self->add_class) {
            json_object_set_new(object, "class", json_line_text(self->add_class));
            json_object_set_new(object, "images", json_integer((json_int_t)count));
            json_object_set_new(object, "found", json_integer((json_int_t)found));
        }
        json_line_print(object, JSON_LINE_DIGITS);
        return;
    }
    if (self->add_class)
        printf("class %s added from %zu images, %zu of which are found\n",
               shown_text(name, self->add_class), count, found);
    printf("%u classes: %s\n", config.num_classes, shown_text(shown, self->out));
}

/* Makes a new classifier. A linear one starts at 0, from which a few images train it better than
 * from random weights; hidden layers need those. */
static svit_status replace_head(struct program *program, svit_model *model, uint32_t classes)
{
    svit_model_config config;
    TRY(svit_model_replace_head(model, classes, program->seed, &program->err));
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    for (size_t i = 0; config.head_layers == 0 && i < svit_model_parameter_count(model); i++) {
        const char *name = svit_model_parameter_name(model, i);
        int64_t shape[8];
        size_t rank;
        TRY(svit_model_parameter_shape(model, name, shape, &rank, &program->err));
        if (rank != 2 || shape[0] != classes || !load_parts_is_head(name))
            continue;
        const size_t elements = (size_t)(shape[0] * shape[1]);
        float *zeros = calloc(elements, sizeof *zeros);
        if (!zeros)
            return program_fail(program, SVIT_E_MEMORY, "no memory for %zu weights", elements);
        svit_status status = svit_model_set_parameter(model, name, zeros, elements, &program->err);
        free(zeros);
        TRY(status);
    }
    return SVIT_OK;
}

/* Training that goes on from the model's classifier needs its order of classes. */
static svit_status keep_classes(head_options *self, svit_model *model, svit_features **features)
{
    struct program *program = &self->program;
    char why[sizeof program->err.message];
    svit_status status = feature_match_classes(program, model, features, self->fit);
    if (status != SVIT_E_FORMAT)
        return status;
    snprintf(why, sizeof why, "%s", program->err.message);
    return program_fail(program, status,
                        "%s; without --keep a new classifier has the classes of the features", why);
}

static svit_status fit(head_options *self, svit_model *model)
{
    struct program *program = &self->program;
    svit_features *features = NULL;
    svit_status status = svit_features_load(&features, program->context, self->fit, &program->err);
    self->head.seed = program->seed;
    if (status == SVIT_OK && svit_features_classes(features) == 0)
        status = program_fail(program, SVIT_E_ARGUMENT, "'%s' has no labels", self->fit);
    if (status == SVIT_OK)
        status = self->keep
                     ? keep_classes(self, model, &features)
                     : replace_head(program, model, (uint32_t)svit_features_classes(features));
    if (status == SVIT_OK)
        status = svit_model_fit_head(model, features, &self->head, &program->err);
    if (status == SVIT_OK)
        status = svit_model_save(model, self->out, &program->err);
    if (status == SVIT_OK)
        model_note_pipeline(program, model, &self->config);
    if (status == SVIT_OK)
        report(self, model, 0, 0);
    svit_features_free(features);
    return status;
}

static svit_status evaluate(head_options *self, svit_model *model)
{
    struct program *program = &self->program;
    svit_features *features = NULL;
    TRY(svit_features_load(&features, program->context, self->evaluate, &program->err));
    svit_status status = feature_evaluate(program, model, features, self->evaluate);
    svit_features_free(features);
    return status;
}

/* Computes the features of the images of the new class. */
static svit_status compute_new(head_options *self, svit_model *model, svit_features **out)
{
    struct program *program = &self->program;
    svit_dataset *images = NULL;
    svit_pipeline_config pipeline;
    svit_features_config config;
    TRY(model_pipeline(model, program, &self->config, &pipeline));
    TRY(svit_features_config_init(&config, sizeof config));
    config.batch = self->batch;
    svit_status status = image_folder_open(&images, program, self->images, &pipeline);
    if (status == SVIT_OK)
        status = output_check_images(program, "--out", self->out, images);
    if (status == SVIT_OK)
        status = bad_check_folder(&images, program, self->on_bad);
    if (status == SVIT_OK)
        status = svit_features_compute(out, model, images, NULL, &config, &program->err);
    svit_dataset_free(images);
    return status;
}

static svit_status add_fitted(head_options *self, svit_model *model, const svit_features *new,
                              const svit_features *old)
{
    struct program *program = &self->program;
    const int had_texts = svit_model_text_class_name(model, 0) != NULL;
    size_t found;
    TRY(svit_model_fit_class(model, self->add_class, new, old, &self->class, &program->err));
    if (!program->quiet)
        added_class_note(model, had_texts);
    TRY(added_class_found(program, model, new, &found));
    TRY(svit_model_save(model, self->out, &program->err));
    report(self, model, found, svit_features_count(new));
    return SVIT_OK;
}

static svit_status add(head_options *self, svit_model *model)
{
    struct program *program = &self->program;
    svit_features *new = NULL, *old = NULL;
    svit_status status = SVIT_OK;
    if (self->old_features)
        status = svit_features_load(&old, program->context, self->old_features, &program->err);
    if (status == SVIT_OK)
        status = compute_new(self, model, &new);
    if (status == SVIT_OK)
        status = add_fitted(self, model, new, old);
    svit_features_free(new);
    svit_features_free(old);
    return status;
}

static svit_status find_neighbours(head_options *self)
{
    struct program *program = &self->program;
    svit_features *reference = NULL, *queries = NULL;
    svit_status status =
        svit_features_load(&reference, program->context, self->reference, &program->err);
    if (status == SVIT_OK)
        status = svit_features_load(&queries, program->context, self->neighbours, &program->err);
    if (status == SVIT_OK)
        status = feature_neighbours(program, reference, queries, self->neighbours, self->k,
                                    self->temperature);
    svit_features_free(queries);
    svit_features_free(reference);
    return status;
}

/* --out may be the file of --model, and no other one that is read. */
static svit_status check_out(struct program *program, const head_options *self)
{
    TRY(output_check(program, "--out", self->out, "--fit", self->fit));
    TRY(output_check(program, "--out", self->out, "--evaluate", self->evaluate));
    TRY(output_check_source(program, "--out", self->out, "--base", self->config.base));
    TRY(output_check_replaced(program, "--out", self->out, ".safetensors", self->model));
    return output_check(program, "--out", self->out, "--old-features", self->old_features);
}

static svit_status run(head_options *self, svit_model **model)
{
    TRY(check_out(&self->program, self));
    TRY(program_open(&self->program));
    if (self->neighbours)
        return find_neighbours(self);
    TRY(open_model(self, model));
    if (self->add_class)
        return add(self, *model);
    if (self->fit) {
        TRY(model_take_pipeline(*model, &self->program, &self->config));
        TRY(fit(self, *model));
    }
    return self->evaluate ? evaluate(self, *model) : SVIT_OK;
}

int main(int argc, char **argv)
{
    head_options options = {.program = PROGRAM_INIT, .batch = 256, .k = 20, .temperature = 0.07};
    svit_model *model = NULL;
    svit_head_config_init(&options.head, sizeof options.head);
    svit_class_config_init(&options.class, sizeof options.class);
    program_parse(&parser, argc, argv, &options);
    svit_status status = run(&options, &model);
    svit_model_free(model);
    return program_exit(&options.program, status);
}
