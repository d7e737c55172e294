/* Finds what differs from good images: remembers their patches, and measures how far those of other
 * images are from the nearest of them. Nothing is trained. */
#include "data/bad_option.h"
#include "data/image_cut.h"
#include "data/image_folder.h"
#include "models/model_path.h"
#include "outputs/output_check.h"
#include "pictures/anomaly_maps.h"
#include "program/json_line.h"
#include "program/shown.h"
#include "results/feature_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct anomaly_options {
    struct program program;
    config_option config;
    svit_features_config features;
    const char *model, *fit, *out, *memory, *maps;
    const char *folder; /* the images to score */
    double keep;        /* the fraction of the patches that is remembered */
    int32_t on_bad;     /* ON_BAD_* */
} anomaly_options;

enum {
    KEY_MODEL = 'm',
    KEY_OUT = 'o',
    KEY_LAYER = 'l',
    KEY_BATCH = 'b',
    KEY_FIT = 0x300,
    KEY_KEEP,
    KEY_MEMORY,
    KEY_MAPS,
    KEY_COMPUTE
};

static const struct option_line option_list[] = {
    {"model", KEY_MODEL, "FILE", 0,
     "A model file, a training run's folder, or a checkpoint of timm, OpenCLIP or transformers "
     "(needed)"},
    {"fit", KEY_FIT, "FOLDER", 0, "Remember the patches of the images in this folder, all good"},
    {"out", KEY_OUT, "FILE.safetensors", 0, "With --fit: the memory to write (needed)"},
    {"layer", KEY_LAYER, "NAME", 0,
     "With --fit: the layer whose patches are compared, as shiftvit-features --list-layers prints "
     "them (default: of those with more than one token, the one two thirds up)"},
    {"keep", KEY_KEEP, "FRACTION", 0,
     "With --fit: remember this fraction of the patches, which cover all others (default 0.1)"},
    {"memory", KEY_MEMORY, "FILE.safetensors", 0,
     "Score the images in FOLDER by this memory of the same model"},
    {"maps", KEY_MAPS, "FOLDER", 0,
     "With --memory: draw each image under a map of its patches' distances, as a PNG file of its "
     "name in this folder. The colours reach from the smallest distance in all images to the "
     "largest"},
    {"batch", KEY_BATCH, "N", 0, "Images in a forward pass (default 256)"},
    {"compute", KEY_COMPUTE, "TYPE", 0, "f32 (default), bf16 or int8"},
    {NULL, 0, NULL, 0, NULL},
};

static const struct option_rule rules[] = {
    {"keep", {"fit"}, NULL},
    {NULL, {NULL}, NULL},
};

static void check_needed(const anomaly_options *self, struct option_state *state)
{
    if (!self->model)
        option_error(state, "--model FILE is needed");
    if (!self->fit == !self->memory)
        option_error(state, "either --fit FOLDER or --memory FILE.safetensors is needed");
    if (self->fit && !self->out)
        option_error(state, "--out FILE.safetensors is needed");
    if (self->fit && (self->maps || self->folder))
        option_error(state, "--maps and FOLDER belong to --memory");
    if (self->memory && (self->out || self->features.layer))
        option_error(state, "--out and --layer belong to --fit; a memory knows its layer");
    if (self->memory && !self->folder)
        option_error(state, "FOLDER: a folder of images is needed");
    option_check_rules(state, rules);
}

static int parse_option(int key, char *text, struct option_state *state)
{
    anomaly_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->on_bad;
        state->child_inputs[1] = &self->config;
        state->child_inputs[2] = &self->program;
        return 0;
    case KEY_MODEL:
        self->model = text;
        return 0;
    case KEY_FIT:
        self->fit = text;
        return 0;
    case KEY_OUT:
        self->out = option_ending(state, "--out", text, ".safetensors", NULL);
        return 0;
    case KEY_LAYER:
        self->features.layer = text;
        return 0;
    case KEY_KEEP:
        self->keep = option_real(state, "--keep", text, 1e-6, 1);
        return 0;
    case KEY_MEMORY:
        self->memory = text;
        return 0;
    case KEY_MAPS:
        self->maps = text;
        return 0;
    case KEY_BATCH:
        self->features.batch = (uint32_t)option_unsigned(state, "--batch", text, 1, 65536);
        return 0;
    case KEY_COMPUTE:
        self->features.compute = option_choice(state, "--compute", text, compute_names);
        return 0;
    case OPTION_ARGUMENT:
        if (self->folder)
            option_error(state, "FOLDER: only one folder is scored");
        self->folder = text;
        return 0;
    case OPTION_END:
        check_needed(self, state);
        return 0;
    default:
        return OPTION_UNKNOWN;
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
    "[FOLDER]",
    "Finds images that differ from good ones, and where they differ, without training."
    "\vThe score of an image is the largest of its patches' Euclidean distances from the nearest "
    "patch that is remembered; a patch is the mean of itself and of the eight around it. With "
    "--memory one line for each image is printed, the highest score first.",
    children,
    NULL};

/* Writes the name of the layer two thirds up of those with several tokens. */
static svit_status choose_layer(char name[64], struct program *program, svit_session *session)
{
    static const char *several[1024]; /* borrowed from the session */
    const char *layer;
    size_t count = 0, tokens, channels;
    svit_status status = SVIT_OK;
    for (size_t i = 0; status == SVIT_OK && count < sizeof several / sizeof *several &&
                       (layer = svit_session_layer_name(session, i));
         i++) {
        status = svit_session_layer_shape(session, layer, &tokens, &channels, &program->err);
        if (status == SVIT_OK && tokens > 1)
            several[count++] = layer;
    }
    if (status == SVIT_OK && count == 0)
        status = program_fail(program, SVIT_E_ARGUMENT, "the model has no layer of several tokens");
    if (status == SVIT_OK)
        snprintf(name, 64, "%s", several[(2 * count - 1) / 3]);
    return status;
}

/* A layer of one token has features of images; score refuses such a memory. */
static svit_status check_layer(const char *name, struct program *program, svit_session *session)
{
    size_t tokens, channels;
    TRY(svit_session_layer_shape(session, name, &tokens, &channels, &program->err));
    if (tokens > 1)
        return SVIT_OK;
    return program_fail(program, SVIT_E_ARGUMENT,
                        "--layer: '%s' has the features of images; a layer of several tokens is "
                        "needed, as shiftvit-features --list-layers prints them",
                        name);
}

/* Checks --layer, or writes the name of the default one. */
static svit_status find_layer(anomaly_options *self, char name[64], svit_model *model)
{
    struct program *program = &self->program;
    svit_session_config options;
    svit_session *session = NULL;
    TRY(svit_session_config_init(&options, sizeof options));
    options.max_batch = 1;
    options.features = 1;
    TRY(svit_session_create(&session, model, &options, &program->err));
    svit_status status;
    if (self->features.layer) {
        status = check_layer(self->features.layer, program, session);
    } else {
        status = choose_layer(name, program, session);
        self->features.layer = name;
    }
    svit_session_free(session);
    return status;
}

/* Opens a folder without the images that cannot be read, which have no maps. */
static svit_status open_images(anomaly_options *self, svit_dataset **out, const char *folder,
                               const svit_pipeline_config *pipeline)
{
    struct program *program = &self->program;
    if (self->maps)
        TRY(anomaly_maps_check_place(program, self->maps));
    TRY(image_folder_open(out, program, folder, pipeline));
    TRY(bad_check_folder(out, program, self->on_bad));
    if (self->maps)
        TRY(anomaly_maps_check(program, self->maps, *out));
    return image_cut_note(program, *out, pipeline);
}

static void report_fit(const anomaly_options *self, const svit_features *memory, size_t patches,
                       size_t images)
{
    if (self->program.json) {
        json_t *object =
            json_pack("{s:o, s:s, s:I, s:I, s:I}", "out", json_line_text(self->out), "layer",
                      svit_features_layer(memory), "images", (json_int_t)images, "patches",
                      (json_int_t)patches, "kept", (json_int_t)svit_features_count(memory));
        json_line_print(object, JSON_LINE_DIGITS);
    } else if (!self->program.quiet) {
        fprintf(stderr, "%zu of %zu patches of %zu images, layer %s\n", svit_features_count(memory),
                patches, images, svit_features_layer(memory));
    }
}

static svit_status fit(anomaly_options *self, svit_model *model,
                       const svit_pipeline_config *pipeline)
{
    struct program *program = &self->program;
    svit_dataset *images = NULL;
    svit_features *patches = NULL, *memory = NULL;
    char layer[64];
    TRY(output_check_replaced(program, "--out", self->out, ".safetensors", NULL));
    TRY(find_layer(self, layer, model));
    svit_status status = open_images(self, &images, self->fit, pipeline);
    if (status == SVIT_OK)
        status = svit_features_compute(&patches, model, images, pipeline, &self->features,
                                       &program->err);
    if (status == SVIT_OK) {
        /* 0.07 * 1600 is a little more than 112. */
        const double kept = self->keep * (double)svit_features_count(patches) * (1 - 1e-12);
        status = svit_features_coreset(&memory, patches, (size_t)ceil(kept), &program->err);
    }
    if (status == SVIT_OK)
        status = svit_features_save(memory, self->out, &program->err);
    if (status == SVIT_OK)
        report_fit(self, memory, svit_features_count(patches), svit_dataset_count(images));
    svit_features_free(memory);
    svit_features_free(patches);
    svit_dataset_free(images);
    return status;
}

/* The sample of the largest score first; of equal ones the first. */
static int by_score(const void *a, const void *b)
{
    const anomaly_score *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->image > y->image) - (x->image < y->image);
}

static svit_status print_scores(struct program *program, svit_dataset *images,
                                const anomaly_score *scores, size_t count)
{
    char path[PATH_CAPACITY], shown[SHOWN_CAPACITY];
    for (size_t i = 0; i < count; i++) {
        TRY(svit_dataset_path(images, scores[i].image, path, sizeof path, NULL, &program->err));
        if (program->json)
            json_line_print(json_pack("{s:o, s:f}", "image", json_line_text(path), "score",
                                      (double)scores[i].score),
                            JSON_LINE_DIGITS);
        else
            printf("%12.6g  %s\n", (double)scores[i].score, shown_text(shown, path));
    }
    return SVIT_OK;
}

/* Fills distances[count of `patches`] and scores[images]. */
static svit_status measure(struct program *program, const svit_features *memory,
                           const svit_features *patches, float *distances, anomaly_score *scores,
                           size_t images)
{
    const size_t count = svit_features_count(patches), each = count / images;
    size_t *indices = calloc(count, sizeof *indices);
    if (!indices)
        return program_fail(program, SVIT_E_MEMORY, "no memory for %zu patches", count);
    svit_status status =
        svit_features_nearest(memory, svit_features_values(patches), count, 1,
                              SVIT_METRIC_EUCLIDEAN, indices, distances, &program->err);
    free(indices);
    for (size_t i = 0; i < images; i++) {
        scores[i] = (anomaly_score){i, 0};
        for (size_t j = 0; j < each; j++)
            scores[i].score = fmaxf(scores[i].score, distances[i * each + j]);
    }
    return status;
}

static svit_status report(anomaly_options *self, const svit_features *memory,
                          const svit_features *patches, svit_dataset *images,
                          const svit_model *model, const svit_pipeline_config *pipeline)
{
    struct program *program = &self->program;
    const size_t count = svit_dataset_count(images);
    float *distances = calloc(svit_features_count(patches), sizeof *distances);
    anomaly_score *scores = calloc(count, sizeof *scores);
    svit_status status =
        distances && scores
            ? measure(program, memory, patches, distances, scores, count)
            : program_fail(program, SVIT_E_MEMORY, "no memory for %zu images", count);
    /* The maps come first: who reads the lines may need the first alone and close the pipe. */
    if (status == SVIT_OK && self->maps)
        status =
            anomaly_maps_draw(program, self->maps, images, patches, distances, model, pipeline);
    if (status == SVIT_OK) {
        qsort(scores, count, sizeof *scores, by_score);
        status = print_scores(program, images, scores, count);
    }
    free(scores);
    free(distances);
    return status;
}

/* A memory of another model or of a set that is none would give numbers without a meaning. */
static svit_status check_memory(anomaly_options *self, svit_model *model,
                                const svit_features *memory)
{
    struct program *program = &self->program;
    size_t height, width;
    svit_features *own = NULL;
    TRY(svit_features_grid(memory, &self->features.tokens, &height, &width, &program->err));
    if (self->features.tokens < SVIT_TOKENS_PATCHES)
        return program_fail(program, SVIT_E_ARGUMENT,
                            "'%s' has the features of images; a memory of patches is needed",
                            self->memory);
    TRY(feature_describe_model(&own, program, model));
    const char *known = svit_features_model(memory), *given = svit_features_model(own);
    svit_status status = SVIT_OK;
    if (strcmp(known, given) != 0)
        status = program_fail(program, SVIT_E_ARGUMENT, "'%s' is of %s; --model is %s",
                              self->memory, known, given);
    svit_features_free(own);
    return status;
}

static svit_status score(anomaly_options *self, svit_model *model, const svit_features *memory,
                         const svit_pipeline_config *pipeline)
{
    struct program *program = &self->program;
    svit_dataset *images = NULL;
    svit_features *patches = NULL;
    TRY(check_memory(self, model, memory));
    self->features.layer = svit_features_layer(memory);
    svit_status status = open_images(self, &images, self->folder, pipeline);
    if (status == SVIT_OK)
        status = svit_features_compute(&patches, model, images, pipeline, &self->features,
                                       &program->err);
    if (status == SVIT_OK && svit_features_channels(memory) != svit_features_channels(patches))
        status = program_fail(program, SVIT_E_FORMAT, "'%s' has %zu channels; its layer has %zu",
                              self->memory, svit_features_channels(memory),
                              svit_features_channels(patches));
    if (status == SVIT_OK)
        status = report(self, memory, patches, images, model, pipeline);
    svit_features_free(patches);
    svit_dataset_free(images);
    return status;
}

static svit_status run(anomaly_options *self, svit_model **model)
{
    struct program *program = &self->program;
    svit_pipeline_config pipeline;
    svit_features *memory = NULL;
    TRY(output_check_model(program, "--out", self->out, self->model));
    TRY(output_check_source(program, "--out", self->out, "--base", self->config.base));
    TRY(program_open(program));
    TRY(model_open(model, program, &self->config, self->model));
    TRY(model_pipeline(*model, program, &self->config, &pipeline));
    if (self->fit)
        return fit(self, *model, &pipeline);
    TRY(svit_features_load(&memory, program->context, self->memory, &program->err));
    svit_status status = score(self, *model, memory, &pipeline);
    svit_features_free(memory);
    return status;
}

int main(int argc, char **argv)
{
    anomaly_options options = {.program = PROGRAM_INIT, .keep = 0.1};
    svit_model *model = NULL;
    svit_features_config_init(&options.features, sizeof options.features);
    options.features.tokens = SVIT_TOKENS_PATCHES_3X3;
    program_parse(&parser, argc, argv, &options);
    svit_status status = run(&options, &model);
    svit_model_free(model);
    return program_exit(&options.program, status);
}
