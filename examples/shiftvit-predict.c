/* Prints the classes of images by confidence, or the numbers that a model predicts. Draws a grid of
 * the images with their classes, and their attention maps. */
#include "models/image_paths.h"
#include "models/model_path.h"
#include "outputs/output_check.h"
#include "pictures/picture_grid.h"
#include "program/json_line.h"
#include "program/shown.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_options {
    struct program program;
    config_option config;
    const char *model, *grid, *attention;
    size_t top;
    int32_t compute; /* SVIT_COMPUTE_* */
    int32_t output;  /* SVIT_OUTPUT_* */
    int32_t tta;     /* SVIT_TTA_* */
    char **paths;    /* images and folders as given; borrowed from the command line */
    size_t path_count;
} predict_options;

enum { BATCH = 16 };

enum {
    KEY_MODEL = 'm',
    KEY_TOP = 'k',
    KEY_GRID = 'g',
    KEY_ATTENTION = 'a',
    KEY_COMPUTE = 0x300,
    KEY_OUTPUT,
    KEY_TTA
};

/* The words of SVIT_OUTPUT_*. */
static const char *const output_names[] = {"auto", "softmax", "sigmoid", "logits", NULL};

static const struct option_line option_list[] = {
    {"model", KEY_MODEL, "FILE", 0,
     "A model file, a training run's folder, or a checkpoint of timm, OpenCLIP or transformers "
     "(needed)"},
    {"top", KEY_TOP, "K", 0,
     "Print the K most probable classes (default 5); a model of numbers prints all of them"},
    {"grid", KEY_GRID, "OUT.png", 0, "Draw the first nine images with their classes"},
    {"attention", KEY_ATTENTION, "OUT.png", 0,
     "Draw the first nine images, each beside the attention map of the last layer (ViT models "
     "only): the attention of the class token to the patches where the classifier reads that "
     "token, otherwise the mean of that of all patches"},
    {"compute", KEY_COMPUTE, "TYPE", 0, "f32 (default), bf16 or int8"},
    {"output", KEY_OUTPUT, "NAME", 0,
     "auto (default): what the model's file says; softmax: classes; sigmoid: several labels for "
     "each image; logits: numbers"},
    {"tta", KEY_TTA, "NAME", 0,
     "Test-time augmentation, the mean over versions of each image: none (default), flip, or "
     "flip-shift, which moves the image by one pixel as well"},
    {NULL, 0, NULL, 0, NULL},
};

static int parse_option(int key, char *text, struct option_state *state)
{
    predict_options *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = &self->config;
        state->child_inputs[1] = &self->program;
        return 0;
    case KEY_MODEL:
        self->model = text;
        return 0;
    case KEY_TOP:
        self->top = option_unsigned(state, "--top", text, 1, 1048576);
        return 0;
    case KEY_GRID:
        self->grid = option_png(state, "--grid", text);
        return 0;
    case KEY_ATTENTION:
        self->attention = option_png(state, "--attention", text);
        return 0;
    case KEY_COMPUTE:
        self->compute = option_choice(state, "--compute", text, compute_names);
        return 0;
    case KEY_OUTPUT:
        self->output = option_choice(state, "--output", text, output_names);
        return 0;
    case KEY_TTA:
        self->tta = option_choice(state, "--tta", text, tta_names);
        return 0;
    case OPTION_ARGUMENTS:
        self->paths = state->arguments;
        self->path_count = state->argument_count;
        return 0;
    case OPTION_END:
        if (!self->model)
            option_error(state, "--model FILE is needed");
        if (self->path_count == 0)
            option_error(state, "PATH: an image or a folder of images is needed");
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
    option_list,
    parse_option,
    "PATH...",
    "Prints the classes of JPEG, PNG and WebP images by confidence."
    "\vFor a folder, every JPEG, PNG and WebP file in it is predicted. Images come in the order of "
    "their names. Several are predicted 16 at a time, which rounds the last digits otherwise than "
    "for one alone. The pictures that --grid and --attention name, and the curves.png of a "
    "training "
    "run, are left out.",
    children,
    NULL};

/* Fails if a picture would replace an image: one that is read, or one that is not, as in `--grid
 * *.png`, where the shell puts the first of them where the name was forgotten. */
static svit_status check_picture(struct program *program, const image_paths *list, const char *name,
                                 const char *picture)
{
    for (size_t i = 0; picture && path_exists(picture) && i < list->count; i++)
        TRY(output_check(program, name, picture, "an image that is read", list->paths[i]));
    return output_check_picture(program, name, picture);
}

static svit_status check_pictures(predict_options *options, const image_paths *list)
{
    struct program *program = &options->program;
    TRY(output_check(program, "--attention", options->attention, "--grid", options->grid));
    TRY(check_picture(program, list, "--grid", options->grid));
    return check_picture(program, list, "--attention", options->attention);
}

/* A class with its probability, or a number. */
typedef struct output {
    float value;
    size_t label;
} output;

/* One prediction: the classes, the most probable first; or numbers, in the order of the model. */
struct ranking {
    output *ranks;
    size_t classes;
    int is_numbers; /* the model predicts numbers */
    int is_none;    /* the image is none of the classes, by the model's threshold */
};

/* NaN comes last. */
static int comes_before(const output *a, const output *b)
{
    return a->value > b->value || (isnan(b->value) && !isnan(a->value));
}

/* Orders by falling value, equal ones by label. */
static int compare_outputs(const void *first, const void *second)
{
    const output *a = first, *b = second;
    const int order = comes_before(b, a) - comes_before(a, b);
    return order != 0 ? order : (a->label > b->label) - (a->label < b->label);
}

/* Ranks a row, which has the probabilities by label, or the numbers. */
static void rank(struct ranking *self, const float *row)
{
    for (size_t i = 0; i < self->classes; i++)
        self->ranks[i] = (output){row[i], i};
    if (!self->is_numbers)
        qsort(self->ranks, self->classes, sizeof *self->ranks, compare_outputs);
}

static const char *class_name(const svit_predictor *predictor, size_t label, char number[32])
{
    const char *name = svit_predictor_class_name(predictor, label);
    int is_number = svit_predictor_output(predictor) == SVIT_OUTPUT_LOGITS;
    snprintf(number, 32, is_number ? "output %zu" : "class %zu", label);
    return name ? name : number;
}

static void print_text(const svit_predictor *predictor, const struct ranking *ranking, size_t top,
                       const char *path)
{
    char number[32];
    char shown[SHOWN_CAPACITY];
    printf("%s\n", shown_text(shown, path));
    if (ranking->is_none)
        printf("  none of these\n");
    for (size_t i = 0; i < top; i++) {
        double value = (double)ranking->ranks[i].value;
        const char *name =
            shown_text(shown, class_name(predictor, ranking->ranks[i].label, number));
        if (ranking->is_numbers)
            printf("  %12.6g  %s\n", value, name);
        else
            printf("  %6.2f %%  %s\n", 100 * value, name);
    }
}

static void print_json(const svit_predictor *predictor, const struct ranking *ranking, size_t top,
                       const char *path)
{
    char number[32];
    json_t *classes = json_array();
    const int numbers = ranking->is_numbers;
    for (size_t i = 0; i < top; i++) {
        const output *one = &ranking->ranks[i];
        json_t *entry =
            json_pack("{s:s, s:I}", numbers ? "name" : "class",
                      class_name(predictor, one->label, number), "label", (json_int_t)one->label);
        const double value = (double)one->value;
        if (!numbers)
            json_object_set_new(entry, "confidence", json_real(100 * value));
        json_object_set_new(entry, numbers ? "value" : "probability", json_real(value));
        json_array_append_new(classes, entry);
    }
    json_t *object = json_pack("{s:o, s:o}", "image", json_line_text(path),
                               numbers ? "outputs" : "classes", classes);
    if (ranking->is_none)
        json_object_set_new(object, "none_of_these", json_true());
    json_line_print(object, numbers ? JSON_LINE_DIGITS : 6);
}

static void fill_cell(grid_cell *cell, const svit_predictor *predictor,
                      const struct ranking *ranking, const char *path)
{
    char number[32], name[100];
    char shown[SHOWN_CAPACITY];
    double value = (double)ranking->ranks[0].value;
    text_cut(name, sizeof name,
             shown_text(shown, class_name(predictor, ranking->ranks[0].label, number)));
    snprintf(cell->path, sizeof cell->path, "%s", path);
    if (ranking->is_none)
        snprintf(cell->title, sizeof cell->title, "none of these");
    else if (ranking->is_numbers)
        snprintf(cell->title, sizeof cell->title, "%s %.4g", name, value);
    else
        snprintf(cell->title, sizeof cell->title, "%s %.1f %%", name, 100 * value);
}

static svit_status draw_cells(predict_options *options, const grid_cell *cells, size_t count,
                              attention_map *map)
{
    struct program *program = &options->program;
    if (options->grid && count > 0)
        TRY(picture_grid_draw(program, cells, count, GRID_COLUMNS, NULL, options->grid));
    if (options->attention && count > 0)
        TRY(picture_grid_draw(program, cells, count, GRID_COLUMNS, map, options->attention));
    return SVIT_OK;
}

/* Says why an image has no prediction; what is no fault of its file does not name it. */
static void tell_failure(const char *path, const char *message)
{
    char shown[SHOWN_CAPACITY];
    shown_text(shown, path);
    if (strstr(message, shown))
        fprintf(stderr, "%s: %s\n", option_program_name, message);
    else
        fprintf(stderr, "%s: %s: %s\n", option_program_name, shown, message);
}

/* Images that are predicted at once, and what becomes of them. */
struct batch {
    float *rows; /* [BATCH, classes] */
    svit_error errors[BATCH];
};

/* Predicts `count` images, one after the other where all at once fail: a logit that is not finite
 * is a failure of its image. */
static void predict_batch(svit_predictor *predictor, struct batch *self, char *const *paths,
                          size_t count, size_t classes)
{
    for (size_t i = 0; i < count; i++)
        self->errors[i].struct_size = sizeof self->errors[i];
    if (svit_predict_files(predictor, (const char *const *)paths, count, self->rows, self->errors,
                           NULL) == SVIT_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        svit_error *err = &self->errors[i];
        err->code = svit_predict_file(predictor, paths[i], self->rows + i * classes, err);
    }
}

/* Predicts all images. One that cannot be predicted is reported and skipped, and the call fails at
 * the end. */
static svit_status predict_all(predict_options *options, svit_predictor *predictor,
                               const image_paths *list, struct ranking *ranking,
                               struct batch *batch, attention_map *map)
{
    static grid_cell cells[GRID_PICTURES];
    size_t cell_count = 0;
    svit_status result = SVIT_OK;
    size_t top =
        options->top < ranking->classes && !ranking->is_numbers ? options->top : ranking->classes;
    for (size_t i = 0; i < list->count; i++) {
        const size_t place = i % BATCH, left = list->count - i;
        const float *row = batch->rows + place * ranking->classes;
        if (place == 0)
            predict_batch(predictor, batch, list->paths + i, left < BATCH ? left : BATCH,
                          ranking->classes);
        if (batch->errors[place].code != SVIT_OK) {
            tell_failure(list->paths[i], batch->errors[place].message);
            result = program_fail(&options->program, SVIT_E_FORMAT,
                                  "not every image could be predicted");
            continue;
        }
        rank(ranking, row);
        int32_t label = 0;
        if (svit_predictor_output(predictor) == SVIT_OUTPUT_SOFTMAX)
            TRY(svit_predictor_labels(predictor, row, 1, &label, &options->program.err));
        ranking->is_none = label < 0;
        (options->program.json ? print_json : print_text)(predictor, ranking, top, list->paths[i]);
        if (cell_count < GRID_PICTURES)
            fill_cell(&cells[cell_count++], predictor, ranking, list->paths[i]);
    }
    TRY(draw_cells(options, cells, cell_count, map));
    return result;
}

/* Opens the model for batches, or with less memory for one image. A model file is mapped, and
 * *opened stays NULL, unless its attention is wanted or options say what it is. */
static svit_status open_predictor(svit_predictor **predictor, svit_model **opened,
                                  predict_options *options, size_t images)
{
    struct program *program = &options->program;
    char path[PATH_CAPACITY];
    svit_pipeline_config pipeline;
    svit_predictor_config config;
    TRY(svit_predictor_config_init(&config, sizeof config));
    config.max_batch = images > 1 ? BATCH : 1;
    config.compute = options->compute;
    config.output = options->output;
    config.tta = options->tta;
    if (!config_is_given(&options->config) && !options->attention &&
        model_path_find(program, path, options->model) == SVIT_OK &&
        svit_predictor_create(predictor, program->context, path, &config, &program->err) ==
            SVIT_OK) {
        model_path_note(program, path, options->model);
        return SVIT_OK;
    }
    TRY(model_open(opened, program, &options->config, options->model));
    TRY(model_pipeline(*opened, program, &options->config, &pipeline));
    return svit_predictor_create_from_model(predictor, *opened, &config, &program->err);
}

/* Whether the model is a masked autoencoder, whose numbers are pixels and predict nothing. */
static int is_autoencoder(const svit_model *model)
{
    svit_model_config config;
    return svit_model_get_config(model, &config, sizeof config, NULL) == SVIT_OK &&
           config.mask_ratio > 0;
}

/* Says so if what is printed as classes are features. Models with names for them were trained so,
 * and those of numbers predict no classes. A masked autoencoder is refused. */
static svit_status note_features(predict_options *options, const svit_predictor *predictor,
                                 svit_model *opened)
{
    struct program *program = &options->program;
    char path[PATH_CAPACITY];
    svit_model *mapped = NULL;
    svit_status status = SVIT_OK;
    if (svit_predictor_class_name(predictor, 0))
        return SVIT_OK;
    if (!opened) {
        TRY(model_path_find(program, path, options->model));
        TRY(svit_model_map(&mapped, program->context, path, &program->err));
    }
    const svit_model *model = opened ? opened : mapped;
    if (svit_predictor_output(predictor) != SVIT_OUTPUT_LOGITS || is_autoencoder(model))
        status = model_note_features(program, model, "classes");
    svit_model_free(mapped);
    return status;
}

static svit_status predict(predict_options *options, svit_predictor **predictor,
                           svit_model **opened, attention_map *map, image_paths *list)
{
    struct program *program = &options->program;
    const char *const drawn[2] = {options->grid, options->attention};
    TRY(program_open(program));
    TRY(image_paths_find(list, program, options->paths, options->path_count, drawn));
    TRY(check_pictures(options, list));
    TRY(open_predictor(predictor, opened, options, list->count));
    TRY(note_features(options, *predictor, *opened));
    if (options->attention)
        TRY(attention_map_open(map, program, *opened, options->model));
    struct ranking ranking = {.classes = svit_predictor_classes(*predictor),
                              .is_numbers =
                                  svit_predictor_output(*predictor) == SVIT_OUTPUT_LOGITS};
    struct batch batch = {calloc(BATCH * ranking.classes, sizeof *batch.rows), {{0}}};
    ranking.ranks = calloc(ranking.classes, sizeof *ranking.ranks);
    svit_status status =
        batch.rows && ranking.ranks
            ? predict_all(options, *predictor, list, &ranking, &batch, map)
            : program_fail(program, SVIT_E_MEMORY, "no memory for %zu classes", ranking.classes);
    free(batch.rows);
    free(ranking.ranks);
    return status;
}

int main(int argc, char **argv)
{
    predict_options options = {.program = PROGRAM_INIT, .top = 5};
    svit_predictor *predictor = NULL;
    svit_model *opened = NULL;
    attention_map map = {0};
    image_paths list = {NULL, 0, 0};
    program_parse(&parser, argc, argv, &options);
    svit_status status = predict(&options, &predictor, &opened, &map, &list);
    image_paths_free(&list);
    attention_map_close(&map);
    svit_model_free(opened);
    svit_predictor_free(predictor);
    return program_exit(&options.program, status);
}
