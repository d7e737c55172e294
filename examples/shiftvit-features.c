/* Writes what a layer of a model computes for the images of a data set, or finds the images of a
 * folder that are most alike. */
#include "data/bad_option.h"
#include "data/data_option.h"
#include "models/model_path.h"
#include "outputs/output_check.h"
#include "program/json_line.h"
#include "program/shown.h"
#include "results/neighbours.h"
#include "training/run_data.h"

#include <stdio.h>

typedef struct features_options {
    struct program program;
    data_option data;
    config_option config;
    svit_features_config features;
    const char *model, *out;
    int32_t split; /* SVIT_SPLIT_* or DATA_SPLIT_ALL */
    int32_t on_bad;
    int list; /* 1: print the names of the layers */
    neighbours_option neighbours;
    run_data run; /* of the folder that --model names */
} features_options;

enum {
    KEY_MODEL = 'm',
    KEY_OUT = 'o',
    KEY_LAYER = 'l',
    KEY_BATCH = 'b',
    KEY_SPLIT = 0x300,
    KEY_POOL,
    KEY_COMPUTE,
    KEY_LIST,
    KEY_NEIGHBOURS,
    KEY_COUNT,
    KEY_GRID
};

/* The names of SVIT_TOKENS_*. */
static const char *const pool_names[] = {"mean", "class", "patches", "patches-3x3", NULL};

static const struct option_line option_list[] = {
    {"model", KEY_MODEL, "FILE", 0,
     "A model file, a training run's folder, or a checkpoint of timm, OpenCLIP or transformers "
     "(needed)"},
    {"out", KEY_OUT, "FILE.safetensors", 0, "The file of features to write"},
    {"layer", KEY_LAYER, "NAME", 0,
     "The layer whose output is written (default: features, the input of the classifier)"},
    {"list-layers", KEY_LIST, NULL, 0, "Print the layers with their tokens and channels"},
    {"pool", KEY_POOL, "HOW", 0,
     "Of a layer with several tokens, take their mean over the patches (mean, default), the class "
     "token (class), or each patch as a sample (patches; patches-3x3: the mean of it and of those "
     "around it)"},
    {"split", KEY_SPLIT, "NAME", 0,
     "train (default), val or test; all: every image of a folder, list or shards without splits"},
    {"batch", KEY_BATCH, "N", 0, "Images in a forward pass (default 256)"},
    {"compute", KEY_COMPUTE, "TYPE", 0, "f32 (default), bf16 or int8"},
    {"neighbours", KEY_NEIGHBOURS, "FOLDER", 0,
     "Write no file: print for each image in the folder QUERIES the images in FOLDER whose "
     "features "
     "are most alike, with their cosine similarities"},
    {"count", KEY_COUNT, "N", 0, "With --neighbours: print N images for each, 1..20 (default 5)"},
    {"grid", KEY_GRID, "OUT.png", 0,
     "With --neighbours: draw the first eight images of QUERIES, each beside its neighbours"},
    {NULL, 0, NULL, 0, NULL},
};

static const struct option_rule rules[] = {
    {"count", {"neighbours"}, NULL},
    {"grid", {"neighbours"}, NULL},
    {"data", {NULL}, "neighbours"},
    {"out", {NULL}, "neighbours"},
    {"split", {NULL}, "neighbours"},
    {"labels", {NULL}, "neighbours"},
    {"val-fraction", {NULL}, "neighbours"},
    {"limit-train", {NULL}, "neighbours"},
    {"limit-val", {NULL}, "neighbours"},
    {"limit-test", {NULL}, "neighbours"},
    {"data", {NULL}, "list-layers"},
    {"out", {NULL}, "list-layers"},
    {"layer", {NULL}, "list-layers"},
    {"pool", {NULL}, "list-layers"},
    {"split", {NULL}, "list-layers"},
    {"batch", {NULL}, "list-layers"},
    {"compute", {NULL}, "list-layers"},
    {"neighbours", {NULL}, "list-layers"},
    {"on-bad", {NULL}, "list-layers"},
    {"labels", {NULL}, "list-layers"},
    {"val-fraction", {NULL}, "list-layers"},
    {"limit-train", {NULL}, "list-layers"},
    {"limit-val", {NULL}, "list-layers"},
    {"limit-test", {NULL}, "list-layers"},
    {NULL, {NULL}, NULL},
};

static void check_needed(const features_options *self, struct option_state *state)
{
    if (!self->model)
        option_error(state, "--model FILE is needed");
    option_check_rules(state, rules);
    if (!self->neighbours.folder && self->neighbours.queries)
        option_error(state, "QUERIES belong to --neighbours");
    if (self->list)
        return;
    if (self->neighbours.folder && !self->neighbours.queries)
        option_error(state, "QUERIES: a folder of images is needed");
    if (self->neighbours.folder && self->features.tokens > SVIT_TOKENS_CLASS)
        option_error(state, "--pool: --neighbours compares images; mean and class are accepted");
    if (self->neighbours.folder)
        return;
    if (!self->out)
        option_error(state, "--out FILE.safetensors is needed");
}

static int parse_option(int key, char *text, struct option_state *state)
{
    features_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->data;
        state->child_inputs[1] = &self->on_bad;
        state->child_inputs[2] = &self->config;
        state->child_inputs[3] = &self->program;
        return 0;
    case KEY_MODEL:
        self->model = text;
        return 0;
    case KEY_OUT:
        self->out = option_ending(state, "--out", text, ".safetensors", NULL);
        return 0;
    case KEY_LAYER:
        self->features.layer = text;
        return 0;
    case KEY_LIST:
        self->list = 1;
        return 0;
    case KEY_POOL:
        self->features.tokens = option_choice(state, "--pool", text, pool_names);
        return 0;
    case KEY_SPLIT:
        self->split = option_choice(state, "--split", text, data_split_names);
        return 0;
    case KEY_BATCH:
        self->features.batch = (uint32_t)option_unsigned(state, "--batch", text, 1, 65536);
        return 0;
    case KEY_COMPUTE:
        self->features.compute = option_choice(state, "--compute", text, compute_names);
        return 0;
    case KEY_NEIGHBOURS:
        self->neighbours.folder = text;
        return 0;
    case KEY_COUNT:
        self->neighbours.count = option_unsigned(state, "--count", text, 1, NEIGHBOURS_MOST);
        return 0;
    case KEY_GRID:
        self->neighbours.grid = option_png(state, "--grid", text);
        return 0;
    case OPTION_ARGUMENT:
        if (self->neighbours.queries)
            option_error(state, "QUERIES: one folder is accepted");
        self->neighbours.queries = text;
        return 0;
    case OPTION_END:
        check_needed(self, state);
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child children[] = {
    {&data_table, "The data:"},
    {&bad_table, NULL},
    {&checkpoint_table, "For weights without a configuration, and checkpoints of other libraries:"},
    {&program_table, "Common options:"},
    {NULL, NULL}};
static const struct option_table parser = {
    option_list,
    parse_option,
    "[QUERIES]",
    "Writes what a layer of a model computes for the images of a data set, or finds the images "
    "of a folder that are most alike."
    "\vThe file has the tensors features [images, channels] and labels [images]. shiftvit-head "
    "trains a classifier on it in seconds. The model of a run, in its folder, gives the data "
    "set of the training where --data is not given, its labels, and the seed and the fraction by "
    "which it is split.",
    children,
    NULL};

static svit_status list_layers(struct program *program, svit_model *model)
{
    svit_session_config options;
    svit_session *session = NULL;
    const char *name;
    TRY(svit_session_config_init(&options, sizeof options));
    options.max_batch = 1;
    options.features = 1;
    TRY(svit_session_create(&session, model, &options, &program->err));
    svit_status status = SVIT_OK;
    for (size_t i = 0; status == SVIT_OK && (name = svit_session_layer_name(session, i)); i++) {
        size_t tokens, channels;
        status = svit_session_layer_shape(session, name, &tokens, &channels, &program->err);
        if (status == SVIT_OK && program->json)
            printf("{\"layer\": \"%s\", \"tokens\": %zu, \"channels\": %zu}\n", name, tokens,
                   channels);
        else if (status == SVIT_OK)
            printf("%-24s %zu x %zu\n", name, tokens, channels);
    }
    svit_session_free(session);
    return status;
}

static void report(const features_options *self, const svit_features *features)
{
    char shown[SHOWN_CAPACITY], layer[SHOWN_CAPACITY];
    shown_text(shown, self->out);
    shown_text(layer, svit_features_layer(features));
    if (!self->program.json) {
        printf("%zu %s x %zu channels of layer %s: %s\n", svit_features_count(features),
               self->features.tokens > SVIT_TOKENS_CLASS ? "samples" : "images",
               svit_features_channels(features), layer, shown);
        return;
    }
    json_t *object = json_pack("{s:o, s:s, s:I, s:I, s:I}", "out", json_line_text(self->out),
                               "layer", layer, "images", (json_int_t)svit_features_count(features),
                               "channels", (json_int_t)svit_features_channels(features), "classes",
                               (json_int_t)svit_features_classes(features));
    json_line_print(object, JSON_LINE_DIGITS);
}

static svit_status compute(features_options *self, svit_model *model, svit_dataset *data,
                           const svit_pipeline_config *pipeline)
{
    struct program *program = &self->program;
    svit_features *features = NULL;
    TRY(svit_features_compute(&features, model, data, pipeline, &self->features, &program->err));
    svit_status status = svit_features_save(features, self->out, &program->err);
    if (status == SVIT_OK)
        report(self, features);
    svit_features_free(features);
    return status;
}

static svit_status run(features_options *self, svit_model **model, data_splits *data)
{
    struct program *program = &self->program;
    svit_pipeline_config pipeline;
    const run_data_of of = {&self->data, &self->on_bad, self->split};
    if (!self->list && !self->neighbours.folder)
        TRY(run_data_take(&self->run, program, &of, self->model,
                          "the data set whose features are computed"));
    TRY(output_check_model(program, "--out", self->out, self->model));
    TRY(output_check_source(program, "--out", self->out, "--base", self->config.base));
    TRY(output_check_data(program, "--out", self->out, self->data.spec));
    TRY(output_check_replaced(program, "--out", self->out, ".safetensors", NULL));
    TRY(output_check_picture(program, "--grid", self->neighbours.grid));
    TRY(program_open(program));
    TRY(model_open(model, program, &self->config, self->model));
    if (self->list)
        return list_layers(program, *model);
    TRY(model_pipeline(*model, program, &self->config, &pipeline));
    if (self->neighbours.folder)
        return neighbours_print(program, *model, &pipeline, &self->features, &self->neighbours,
                                self->on_bad);
    TRY(data_open(data, program, &self->data, &pipeline, 1u << self->split));
    TRY(run_data_check(&self->run, program, data));
    if (!data->split[self->split])
        return program_fail(program, SVIT_E_ARGUMENT, "--split: '%s' has no images for '%s'",
                            self->data.spec, data_split_names[self->split]);
    TRY(bad_check(data, program, &self->data, self->on_bad));
    return compute(self, *model, data->split[self->split], &pipeline);
}

int main(int argc, char **argv)
{
    features_options options = {.program = PROGRAM_INIT,
                                .data = DATA_OPTION_INIT,
                                .split = SVIT_SPLIT_TRAIN,
                                .neighbours.count = 5};
    svit_model *model = NULL;
    data_splits data = {.drawn = NULL};
    options.data.spec = NULL; /* --data has no default here */
    svit_features_config_init(&options.features, sizeof options.features);
    program_parse(&parser, argc, argv, &options);
    svit_status status = run(&options, &model, &data);
    svit_model_free(model);
    data_close(&data);
    run_data_free(&options.run);
    return program_exit(&options.program, status);
}
