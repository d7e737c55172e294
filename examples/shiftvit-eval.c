/* Prints loss, top-1 and top-5 accuracy of a model on a data set. */
#include "data/bad_option.h"
#include "data/class_list.h"
#include "data/data_option.h"
#include "models/model_path.h"
#include "outputs/output_check.h"
#include "pictures/confusion_picture.h"
#include "program/json_line.h"
#include "program/shown.h"
#include "results/class_report.h"
#include "results/results.h"
#include "training/run_data.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct eval_options {
    struct program program;
    data_option data;
    config_option config;
    const char *model;
    int32_t split;                       /* SVIT_SPLIT_* or DATA_SPLIT_ALL */
    int32_t match;                       /* MATCH_* */
    evaluation_how how;                  /* loss -1: that of the model */
    int per_class;                       /* 1: a line for each class */
    const char *confusion, *predictions; /* files to write, or NULL */
    double accept;                       /* of the images that stay known; 0: not asked for */
    const char *out;                     /* the model with a threshold, or NULL */
    int32_t on_bad;                      /* ON_BAD_* */
    run_data run;                        /* of the folder that --model names */
} eval_options;

enum {
    KEY_MODEL = 'm',
    KEY_SPLIT = 0x300,
    KEY_COMPUTE,
    KEY_TTA,
    KEY_LOSS,
    KEY_MATCH,
    KEY_PER_CLASS,
    KEY_CONFUSION,
    KEY_PREDICTIONS,
    KEY_ACCEPT,
    KEY_OUT = 'o',
    KEY_BATCH = 'b'
};

enum { MATCH_NAME, MATCH_ORDER };
static const char *const match_names[] = {"name", "order", NULL};

static const struct option_line option_list[] = {
    {"model", KEY_MODEL, "FILE", 0,
     "A model file, a training run's folder, or a checkpoint of timm, OpenCLIP or transformers "
     "(needed)"},
    {"split", KEY_SPLIT, "NAME", 0,
     "train, val or test (default); all: every image of a folder, list or shards without splits"},
    {"batch", KEY_BATCH, "N", 0, "Images in a forward pass (default 256)"},
    {"compute", KEY_COMPUTE, "TYPE", 0, "f32 (default), bf16 or int8"},
    {"tta", KEY_TTA, "NAME", 0,
     "Test-time augmentation, the mean over versions of each image: none (default), flip, or "
     "flip-shift, which moves the image by one pixel as well"},
    {"loss", KEY_LOSS, "NAME", 0,
     "What is measured: cross-entropy and accuracy; binary: several labels for each image; mse: "
     "numbers. Default: what the model was trained for, as its file says. Columns of numbers of "
     "list:FILE.csv are probabilities for cross-entropy, labels of 0 and 1 for binary"},
    {"match", KEY_MATCH, "HOW", 0,
     "Which class of the model a class of the data is: the one of the same name (name, default), "
     "or the one at the same place (order), as with a model of ImageNet whose classes have other "
     "names than the folders"},
    {"per-class", KEY_PER_CLASS, NULL, 0, "Print accuracy and precision of each class"},
    {"confusion", KEY_CONFUSION, "FILE", 0,
     "Write the confusion matrix: FILE.csv as a table, FILE.png as a picture"},
    {"predictions", KEY_PREDICTIONS, "FILE.csv", 0,
     "Write path, label, prediction and probability of each image, or targets and outputs; its "
     "number in place of the path if the images are no files"},
    {"accept", KEY_ACCEPT, "FRACTION", 0,
     "Choose the threshold below which an image is none of the classes, so that this fraction of "
     "the split's images stays above it (0.95 is usual), and write the model with it to --out"},
    {"out", KEY_OUT, "FILE.safetensors", 0, "With --accept: the model to write"},
    {NULL, 0, NULL, 0, NULL},
};

static int parse_option(int key, char *text, struct option_state *state)
{
    eval_options *self = state->input;
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
    case KEY_SPLIT:
        self->split = option_choice(state, "--split", text, data_split_names);
        return 0;
    case KEY_BATCH:
        self->how.batch = option_unsigned(state, "--batch", text, 1, 65536);
        return 0;
    case KEY_COMPUTE:
        self->how.compute = option_choice(state, "--compute", text, compute_names);
        return 0;
    case KEY_LOSS:
        self->how.loss = option_choice(state, "--loss", text, evaluation_loss_names);
        return 0;
    case KEY_MATCH:
        self->match = option_choice(state, "--match", text, match_names);
        return 0;
    case KEY_PER_CLASS:
        self->per_class = 1;
        return 0;
    case KEY_CONFUSION:
        self->confusion = option_ending(state, "--confusion", text, ".csv", ".png");
        return 0;
    case KEY_PREDICTIONS:
        self->predictions = option_ending(state, "--predictions", text, ".csv", NULL);
        return 0;
    case KEY_ACCEPT:
        self->accept = option_real(state, "--accept", text, 1e-6, 1);
        return 0;
    case KEY_OUT:
        self->out = option_ending(state, "--out", text, ".safetensors", NULL);
        return 0;
    case KEY_TTA:
        self->how.tta = option_choice(state, "--tta", text, tta_names);
        return 0;
    case OPTION_END:
        if (!self->model)
            option_error(state, "--model FILE is needed");
        if ((self->out != NULL) != (self->accept != 0))
            option_error(state, "--accept FRACTION and --out FILE.safetensors need each other");
        if (self->out && self->match == MATCH_ORDER)
            option_error(state, "--match order and --out exclude each other");
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
    NULL,
    "Prints loss, top-1 and top-5 of a model on one split of a data set."
    "\vThe images go through the preprocessing that the model's file carries. Splits that "
    "are drawn, and synthetic data, are those of the training only with its --seed and "
    "--val-fraction; others have images that the model was trained on. The model of a run, in "
    "its folder, gives both and the labels, and its data set where --data is not given.",
    children,
    NULL};

/* Prints the data set that the result belongs to. */
static void print_data(const eval_options *options, const data_splits *data)
{
    char shown[SHOWN_CAPACITY];
    if (options->program.json)
        return;
    printf("data: %s, %zu images", shown_text(shown, options->data.spec),
           svit_dataset_count(data->split[options->split]));
    if (data->drawn)
        printf(", %s of %zu%s", data->drawn, data->drawn_of,
               data_has_own_splits(data) ? "" : "; --split all takes all");
    putchar('\n');
}

/* The loss that belongs to what the model's file says of its outputs. The probabilities of texts
 * may be those of SigLIP, each by itself; one label for each image is the text of the largest. */
static int32_t loss_of(const eval_options *options, const svit_model *model,
                       const svit_dataset *data)
{
    if (options->how.texts && !svit_dataset_has_targets(data))
        return SVIT_LOSS_CROSS_ENTROPY;
    switch (svit_model_output(model)) {
    case SVIT_OUTPUT_SIGMOID:
        return SVIT_LOSS_BINARY;
    case SVIT_OUTPUT_LOGITS:
        return SVIT_LOSS_MSE;
    default:
        return SVIT_LOSS_CROSS_ENTROPY;
    }
}

/* The classes that are measured: those of the model, or texts. */
static class_list classes_of(const eval_options *options, const svit_model *model, size_t count)
{
    return options->how.texts ? classes_of_predictor(options->how.texts)
                              : classes_of_model(model, count);
}

/* Chooses the threshold of known images and writes the model with it. */
static svit_status write_threshold(eval_options *options, const evaluation *of, svit_model *model,
                                   double *threshold)
{
    svit_error *err = &options->program.err;
    TRY(svit_choose_threshold(options->program.context, of->logits, of->n, of->classes,
                              options->accept, threshold, err));
    TRY(svit_model_set_threshold(model, *threshold, err));
    return svit_model_save(model, options->out, err);
}

static void print_threshold(const eval_options *options, double threshold)
{
    char shown[SHOWN_CAPACITY];
    if (options->program.json)
        json_line_print(json_pack("{s:o, s:f, s:f}", "out", json_line_text(options->out), "accept",
                                  options->accept, "threshold", threshold),
                        JSON_LINE_DIGITS);
    else
        printf("none of these below %.2f %%, which %g %% of the images reach: %s\n",
               100 * threshold, 100 * options->accept, shown_text(shown, options->out));
}

/* Writes and prints what the options ask for. The files come first: who reads the lines may close
 * the pipe after some of them, which ends the program. */
static svit_status report_evaluation(eval_options *options, const evaluation *of, svit_model *model,
                                     const svit_dataset *data)
{
    struct program *program = &options->program;
    const class_list classes = classes_of(options, model, of->classes);
    double threshold = 0;
    if (options->confusion)
        TRY(class_report_confusion(program, of, &classes, options->confusion));
    if (options->predictions)
        TRY(class_report_predictions(program, of, &classes, data, options->predictions));
    if (options->out)
        TRY(write_threshold(options, of, model, &threshold));
    TRY(results_print(program, of, options->data.spec, data_split_names[options->split]));
    if (options->per_class)
        TRY(class_report_print(program, of, &classes));
    if (options->out)
        print_threshold(options, threshold);
    return SVIT_OK;
}

static svit_status report(eval_options *options, svit_model *model, svit_dataset *data)
{
    evaluation result = {0};
    svit_status status = evaluation_run(&result, &options->program, model, data, &options->how);
    if (status == SVIT_OK)
        status = report_evaluation(options, &result, model, data);
    evaluation_free(&result);
    return status;
}

/* Makes labels of the data labels of the classes of the same names. */
static svit_status match_by_name(struct program *program, const class_list *to, svit_dataset **data)
{
    char why[sizeof program->err.message];
    svit_status status = class_list_match_dataset(program, to, "the data", data);
    if (status != SVIT_E_FORMAT)
        return status;
    snprintf(why, sizeof why, "%s", program->err.message);
    return program_fail(program, status, "%s; --match order goes by place, for as many classes",
                        why);
}

/* Matches classes, or columns of numbers, by their places: calls the model's as those of the data
 * are called. Texts keep their names. */
static svit_status match_by_place(struct program *program, svit_model *model, const class_list *to,
                                  const svit_dataset *data, int texts)
{
    const class_list of = classes_of_dataset(data, "the data");
    const char **names;
    if (of.count != to->count)
        return program_fail(program, SVIT_E_ARGUMENT,
                            "--match order: the data has %zu %s and the model %zu; as many are "
                            "needed",
                            of.count, svit_dataset_has_targets(data) ? "columns" : "classes",
                            to->count);
    if (texts)
        return SVIT_OK;
    TRY(class_list_names(program, &of, &names));
    svit_status status = svit_model_set_classes(model, names, of.count, &program->err);
    free(names);
    return status;
}

/* Makes labels of the data labels of the model, if both have class names. The evaluation compares
 * the names of columns of numbers, which must be the model's unless they go by place. */
static svit_status match_classes(eval_options *options, svit_model *model, svit_dataset **data)
{
    struct program *program = &options->program;
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    const class_list to = classes_of(options, model, config.num_classes);
    if (!program->quiet && !class_list_is_named(&to) && svit_dataset_class_name(*data, 0) &&
        svit_dataset_classes(*data) != to.count)
        fprintf(
            stderr,
            "%s: warning: the model has %zu classes without names and the data %zu: their order "
            "alone says which is which\n",
            option_program_name, to.count, svit_dataset_classes(*data));
    if (!class_list_is_named(&to) || !svit_dataset_class_name(*data, 0) ||
        (svit_dataset_has_targets(*data) && options->match == MATCH_NAME))
        return SVIT_OK;
    return options->match == MATCH_NAME
               ? match_by_name(program, &to, data)
               : match_by_place(program, model, &to, *data, options->how.texts != NULL);
}

/* A table or a picture replaces nothing that is read. */
static svit_status check_output(eval_options *options, const char *name, const char *out)
{
    struct program *program = &options->program;
    if (out && has_ending(out, ".png"))
        return output_check_picture(program, name, out);
    TRY(output_check_data(program, name, out, options->data.spec));
    TRY(output_check_model(program, name, out, options->model));
    TRY(output_check_source(program, name, out, "--base", options->config.base));
    return output_check_place(program, name, out);
}

/* --out may be the model's own file. */
static svit_status check_outputs(eval_options *options)
{
    struct program *program = &options->program;
    TRY(check_output(options, "--predictions", options->predictions));
    TRY(check_output(options, "--confusion", options->confusion));
    TRY(output_check_data(program, "--out", options->out, options->data.spec));
    TRY(output_check_source(program, "--out", options->out, "--base", options->config.base));
    TRY(output_check_replaced(program, "--out", options->out, ".safetensors", options->model));
    return output_check(program, "--predictions", options->predictions, "--confusion",
                        options->confusion);
}

static svit_status check_images(eval_options *options, const svit_dataset *data)
{
    struct program *program = &options->program;
    TRY(output_check_images(program, "--predictions", options->predictions, data));
    TRY(output_check_images(program, "--confusion", options->confusion, data));
    return output_check_images(program, "--out", options->out, data);
}

/* Refuses what the model cannot give, before the data are read. */
static svit_status check_model(eval_options *options, const svit_model *model)
{
    struct program *program = &options->program;
    svit_model_config config;
    TRY(svit_model_get_config(model, &config, sizeof config, &program->err));
    const class_list classes = classes_of(options, model, config.num_classes);
    if (options->confusion && has_ending(options->confusion, ".png"))
        TRY(confusion_picture_check(program, classes.count));
    if (options->out && svit_model_output(model) != SVIT_OUTPUT_SOFTMAX)
        return program_fail(program, SVIT_E_ARGUMENT,
                            "--accept: the model predicts no probabilities of classes");
    return SVIT_OK;
}

/* The tables by class need one label for each image. */
static svit_status check_tables(eval_options *options, const svit_dataset *data)
{
    const char *table = options->per_class   ? "--per-class"
                        : options->confusion ? "--confusion"
                                             : NULL;
    return table && svit_dataset_has_targets(data)
               ? program_fail(&options->program, SVIT_E_ARGUMENT,
                              "%s is a table by class, which needs one label for each image; this "
                              "data has targets",
                              table)
               : SVIT_OK;
}

static svit_status evaluate(eval_options *options, svit_model **model, data_splits *data)
{
    struct program *program = &options->program;
    svit_pipeline_config pipeline;
    const run_data_of of = {&options->data, &options->on_bad, options->split};
    TRY(run_data_take(&options->run, program, &of, options->model, "the data set to evaluate on"));
    TRY(check_outputs(options));
    TRY(program_open(program));
    TRY(model_open(model, program, &options->config, options->model));
    TRY(model_pipeline(*model, program, &options->config, &pipeline));
    TRY(evaluation_texts(&options->how.texts, program, *model, &options->how));
    if (!options->how.texts)
        TRY(model_note_features(program, *model, "the scores of classes"));
    TRY(check_model(options, *model));
    TRY(data_open(data, program, &options->data, &pipeline, 1u << options->split));
    TRY(run_data_check(&options->run, program, data));
    if (!data->split[options->split])
        return program_fail(program, SVIT_E_ARGUMENT, "--split: '%s' has no images for '%s'",
                            options->data.spec, data_split_names[options->split]);
    TRY(check_images(options, data->split[options->split]));
    TRY(bad_check(data, program, &options->data, options->on_bad));
    TRY(check_tables(options, data->split[options->split]));
    if (options->how.loss < 0)
        options->how.loss = loss_of(options, *model, data->split[options->split]);
    TRY(match_classes(options, *model, &data->split[options->split]));
    print_data(options, data);
    return report(options, *model, data->split[options->split]);
}

int main(int argc, char **argv)
{
    eval_options options = {.program = PROGRAM_INIT,
                            .data = DATA_OPTION_INIT,
                            .split = SVIT_SPLIT_TEST,
                            .how = {.batch = 256, .loss = -1}};
    svit_model *model = NULL;
    data_splits data = {.drawn = NULL};
    options.data.spec = NULL; /* --data has no default here */
    program_parse(&parser, argc, argv, &options);
    svit_status status = evaluate(&options, &model, &data);
    svit_predictor_free(options.how.texts);
    svit_model_free(model);
    data_close(&data);
    run_data_free(&options.run);
    return program_exit(&options.program, status);
}
