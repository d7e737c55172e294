/* The options that select a model configuration: --preset, --config, --set. */
#include "settings/config_option.h"

#include "program/shown.h"
#include "settings/pipeline_fit.h"
#include "settings/preset_list.h"
#include "settings/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library's default writes checkpoints after epochs only, which may take hours. */
enum { CHECKPOINT_SECONDS = 60 };

enum {
    KEY_PRESET = 'p',
    KEY_CONFIG = 'c',
    KEY_SET = 0x200,
    KEY_LIST_PRESETS,
    KEY_NAME,
    KEY_PREFIX,
    KEY_BASE,
    KEY_EXPLAIN
};

static const struct option_line options[] = {
    {"preset", KEY_PRESET, "NAME", 0,
     "Start from the preset NAME; shiftvit-train takes its training settings too, and starts from "
     "shiftvit-cifar10 without this option and --init-from"},
    {"list-presets", KEY_LIST_PRESETS, NULL, 0, "Print the names of the presets"},
    {"config", KEY_CONFIG, "FILE", 0,
     "Take fields of the model, which change the preset, from this JSON file; shiftvit-train and "
     "shiftvit-bench take settings of the training too. It may be a whole configuration with its "
     "architecture, or another run's run.json, of "
     "which shiftvit-train takes the data too unless --data is given"},
    {"set", KEY_SET, "FIELD=VALUE", 0,
     "Set one field of the model, for example dim=48 or blocks=[1,2], or with shiftvit-train and "
     "shiftvit-bench one of the training, such as label_smoothing=0.1; up to 64 times. --help "
     "lists the fields"},
    {NULL, 0, NULL, 0, NULL},
};

/* Ends --help with the fields of --set and --config. */
static void print_fields(const void *input)
{
    const config_option *self = input;
    settings_print_fields(stdout, self->takes_training);
}

enum { WORDS = 128 };

/* Returns the name of a preset. An unknown name ends the program, with the nearest known one. */
static const char *check_preset(const struct option_state *state, const char *text)
{
    const char *names[WORDS] = {NULL};
    for (size_t i = 0; i < WORDS - 1 && (names[i] = svit_model_preset_name(i)); i++)
        if (strcmp(names[i], text) == 0)
            return text;
    const char *nearest = nearest_word(text, names);
    char shown[SHOWN_CAPACITY];
    shown_text(shown, text);
    if (nearest)
        option_error(state, "--preset: '%.80s' is unknown; did you mean '%s'?", shown, nearest);
    else
        option_error(state, "--preset: '%.80s' is unknown; --list-presets prints the known ones",
                     shown);
    return NULL;
}

static void add_set(config_option *self, const char *text, const struct option_state *state)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals[1] == '\0')
        option_error(state, "--set: '%s' is not of the form FIELD=VALUE", text);
    if (self->set_count == CONFIG_SETS)
        option_error(state, "--set: more than %d of them", CONFIG_SETS);
    self->sets[self->set_count++] = text;
}

static int parse_option(int key, char *text, struct option_state *state)
{
    config_option *self = state->input;
    switch (key) {
    case KEY_PRESET:
        self->preset = check_preset(state, text);
        self->preset_given = 1;
        return 0;
    case KEY_CONFIG:
        self->file = text;
        return 0;
    case KEY_SET:
        add_set(self, text, state);
        return 0;
    case KEY_LIST_PRESETS:
        return 0;
    case OPTION_END: /* --json may come after it */
        if (option_is_given("list-presets"))
            preset_list_print(option_is_given("json"));
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

const struct option_table config_table = {options, parse_option, NULL, NULL, NULL, print_fields};

static const struct option_line checkpoint_options[] = {
    {"name", KEY_NAME, "NAME", 0,
     "Which of timm's models a checkpoint is, such as vit_tiny_patch16_224, where no configuration "
     "lies beside it"},
    {"prefix", KEY_PREFIX, "TEXT", 0,
     "What the names of the encoder begin with in a checkpoint that has several"},
    {"base", KEY_BASE, "FOLDER", 0,
     "The model that a PEFT adapter changes, if it is not where the adapter says"},
    {"explain", KEY_EXPLAIN, NULL, 0,
     "Print what a checkpoint was found to be, and which file or tensors tell"},
    {NULL, 0, NULL, 0, NULL},
};

static int parse_checkpoint(int key, char *text, struct option_state *state)
{
    config_option *self = state->input;
    switch (key) {
    case OPTION_INIT:
        state->child_inputs[0] = self;
        return 0;
    case KEY_NAME:
        self->name = text;
        return 0;
    case KEY_PREFIX:
        self->prefix = text;
        return 0;
    case KEY_BASE:
        self->base = text;
        return 0;
    case KEY_EXPLAIN:
        self->explain = 1;
        return 0;
    default:
        return OPTION_UNKNOWN;
    }
}

static const struct option_child checkpoint_children[] = {{&config_table, NULL}, {NULL, NULL}};
const struct option_table checkpoint_table = {
    checkpoint_options, parse_checkpoint, NULL, NULL, checkpoint_children, NULL};

int config_is_given(const config_option *option)
{
    return option->preset || option->file || option->set_count > 0 || option->name ||
           option->prefix || option->base || option->explain;
}

svit_status config_refuse_checkpoint(struct program *self, const config_option *option)
{
    const char *given = option->name      ? "--name"
                        : option->prefix  ? "--prefix"
                        : option->base    ? "--base"
                        : option->explain ? "--explain"
                                          : NULL;
    return given ? program_fail(self, SVIT_E_ARGUMENT,
                                "%s is for finding out what a checkpoint is, which %s says; one of "
                                "the two is accepted",
                                given, option->preset_given ? "--preset" : "--config")
                 : SVIT_OK;
}

svit_status config_text(char **text, struct program *self, const svit_model_config *config)
{
    size_t needed = 0;
    svit_model_config_to_json(config, NULL, 0, &needed, NULL);
    char *buffer = malloc(needed ? needed : 1);
    if (!buffer)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a configuration");
    svit_status status = svit_model_config_to_json(config, buffer, needed, NULL, &self->err);
    if (status == SVIT_OK)
        *text = buffer;
    else
        free(buffer);
    return status;
}

static svit_status config_object(json_t **out, struct program *self,
                                 const svit_model_config *config)
{
    char *text = NULL;
    TRY(config_text(&text, self, config));
    *out = json_loads(text, 0, NULL);
    free(text);
    return *out ? SVIT_OK : program_fail(self, SVIT_E_MEMORY, "no memory for a configuration");
}

svit_status config_architecture(char name[ARCHITECTURE_NAME], struct program *self,
                                const svit_model_config *config)
{
    json_t *object = NULL;
    TRY(config_object(&object, self, config));
    const char *word = json_string_value(json_object_get(object, "architecture"));
    snprintf(name, ARCHITECTURE_NAME, "%s", word ? word : "");
    json_decref(object);
    return SVIT_OK;
}

static int begins_with(const char *message, const char *field, size_t length)
{
    return strncmp(message, field, length) == 0 &&
           (message[length] == ' ' || message[length] == '[');
}

/* Whether the message is of a field that the file of --config gives. */
static int is_of_file(const char *message, const config_option *option)
{
    config_option alone = *option;
    struct program quiet = {0};
    settings given;
    const char *field;
    json_t *value;
    int is_one = 0;
    alone.set_count = 0;
    if (!option->file || settings_read(&given, &quiet, &alone) != SVIT_OK)
        return 0;
    json_object_update(given.training, given.model);
    json_object_foreach (given.training, field, value)
        is_one |= begins_with(message, field, strlen(field));
    settings_free(&given);
    return is_one;
}

/* Puts "--set FIELD=VALUE", or the file of --config, before the library's message if it refuses a
 * value that one of them gave. */
static svit_status name_set(struct program *self, const config_option *option, svit_status status)
{
    for (size_t i = option->set_count; i-- > 0;) {
        const char *set = option->sets[i];
        if (begins_with(self->err.message, set, strcspn(set, "=")))
            return program_fail(self, status, "--set %.60s: %s", set, self->err.message);
    }
    return is_of_file(self->err.message, option)
               ? program_fail(self, status, "%s: %s", option->file, self->err.message)
               : status;
}

static svit_status read_config(svit_model_config *out, struct program *self, const json_t *object,
                               const config_option *option)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a configuration");
    svit_status status = svit_model_config_from_json(out, sizeof *out, text, &self->err);
    free(text);
    return status == SVIT_OK ? status : name_set(self, option, status);
}

/* Fails because the preset and the file are models of two architectures. */
static svit_status refuse_architecture(struct program *self, const config_option *option,
                                       const char *preset, const char *file)
{
    char shown[SHOWN_CAPACITY];
    return program_fail(self, SVIT_E_ARGUMENT,
                        "--preset: '%s' is of architecture '%s', and the model of '%s' of '%.40s'; "
                        "one of the two is accepted",
                        option->preset, preset, option->file, shown_text(shown, file));
}

/* The model's configuration as JSON: that of the file, or of the preset with the file's fields;
 * then each --set. */
static svit_status merge_model(json_t **out, struct program *self, const config_option *option,
                               const settings *given)
{
    svit_model_config preset;
    const json_t *architecture = json_object_get(given->model, "architecture");
    if (given->has_model_file && (architecture ? !option->preset_given : !option->preset)) {
        *out = json_incref(given->model);
        return SVIT_OK;
    }
    if (!option->preset)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--config: '%s' has no field of a model; --preset NAME gives a model",
                            option->file);
    TRY(svit_model_config_preset(&preset, sizeof preset, option->preset, &self->err));
    TRY(config_object(out, self, &preset));
    const json_t *own = json_object_get(*out, "architecture");
    if (given->has_model_file && json_is_string(architecture) && !json_equal(architecture, own))
        return refuse_architecture(self, option, json_string_value(own),
                                   json_string_value(architecture));
    json_object_update(*out, given->model);
    return SVIT_OK;
}

svit_status config_resolve(svit_model_config *out, struct program *self,
                           const config_option *option, size_t classes)
{
    settings given;
    json_t *object = NULL;
    TRY(settings_read(&given, self, option));
    svit_status status = merge_model(&object, self, option, &given);
    if (status == SVIT_OK && classes > 0 && !json_object_get(given.model, "num_classes") &&
        !json_is_false(json_object_get(object, "classifier")))
        json_object_set_new(object, "num_classes", json_integer((json_int_t)classes));
    if (status == SVIT_OK)
        status = read_config(out, self, object, option);
    json_decref(object);
    settings_free(&given);
    return status;
}

svit_status config_init_training(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                 svit_pipeline_config *pipeline)
{
    TRY(svit_trainer_config_init(trainer, sizeof *trainer));
    TRY(svit_optimizer_config_init(optimizer, sizeof *optimizer));
    return svit_pipeline_config_init(pipeline, sizeof *pipeline);
}

/* Applies settings of --config and --set. */
static svit_status apply(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                         svit_pipeline_config *pipeline, struct program *self,
                         const config_option *option, const json_t *given)
{
    char *text = json_dumps(given, JSON_COMPACT | JSON_REAL_PRECISION(17));
    svit_status status =
        text ? svit_training_from_json(trainer, optimizer, pipeline, text, &self->err)
             : program_fail(self, SVIT_E_MEMORY, "no memory for the settings");
    free(text);
    return status == SVIT_OK ? status : name_set(self, option, status);
}

/* Adds the fields of `last`. A warm-up from above the rate that they give begins at this rate. */
static svit_status add_last(json_t *given, struct program *self,
                            const svit_optimizer_config *optimizer, const json_t *last)
{
    const json_t *rate = json_object_get(last, "learning_rate");
    const json_t *start = json_object_get(given, "lr_start");
    const double first = start ? json_number_value(start) : optimizer->lr_start;
    int failed = 0;
    if (rate && first > json_number_value(rate))
        failed = json_object_set_new(given, "lr_start", json_real(json_number_value(rate)));
    if (last)
        failed |= json_object_update(given, (json_t *)last);
    return failed ? program_fail(self, SVIT_E_MEMORY, "no memory for the settings") : SVIT_OK;
}

/* Leaves out what depends on the channels, which only a model tells. */
static void drop_channels(settings *given)
{
    static const char *const FIELDS[] = {"channels", "mean", "variance", "augment"};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++)
        json_object_del(given->training, FIELDS[i]);
}

svit_status config_resolve_training(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                    svit_pipeline_config *pipeline, struct program *self,
                                    const config_option *option, const char *resumed,
                                    const svit_model_config *model, const json_t *last)
{
    settings given;
    svit_model_config own;
    /* A stored run has all settings, those of older versions but empty lists, which a preset would
     * fill. */
    if (resumed)
        TRY(config_init_training(trainer, optimizer, pipeline));
    else if (option->preset)
        TRY(svit_training_preset(option->preset, trainer, sizeof *trainer, optimizer,
                                 sizeof *optimizer, pipeline, sizeof *pipeline, &self->err));
    trainer->checkpoint_seconds = CHECKPOINT_SECONDS;
    if (resumed)
        TRY(svit_training_from_json(trainer, optimizer, pipeline, resumed, &self->err));
    if (!resumed && option->preset) {
        TRY(config_resolve(&own, self, option, 0));
        model = &own;
    }
    TRY(settings_read(&given, self, option));
    svit_status status = add_last(given.training, self, optimizer, last);
    /* The flag is of the command that extends a run, not of the run. */
    if (resumed)
        trainer->schedule_anew = json_object_get(given.training, "schedule") != NULL;
    if (model == &own)
        pipeline_add_channels(given.training, pipeline, own.in_channels);
    if (!model && !resumed)
        drop_channels(&given);
    if (status == SVIT_OK)
        status = apply(trainer, optimizer, pipeline, self, option, given.training);
    if (status == SVIT_OK && model) {
        pipeline_fit_model(pipeline, model);
        status = pipeline_check_output(self, given.sizes, model);
    }
    if (status == SVIT_OK && (model || resumed))
        status = apply(trainer, optimizer, pipeline, self, option, given.sizes);
    settings_free(&given);
    return status;
}

svit_status config_names_model(int *named, struct program *self, const config_option *option)
{
    settings given;
    TRY(settings_read(&given, self, option));
    *named = option->preset || given.has_model_file;
    settings_free(&given);
    return SVIT_OK;
}

svit_status config_gives(int *gives, struct program *self, const config_option *option,
                         const char *field)
{
    settings given;
    TRY(settings_read(&given, self, option));
    *gives = json_object_get(given.model, field) || json_object_get(given.training, field) ||
             json_object_get(given.sizes, field);
    settings_free(&given);
    return SVIT_OK;
}

svit_status config_change(svit_model_config *config, struct program *self,
                          const config_option *option)
{
    settings given;
    json_t *object = NULL;
    TRY(settings_read(&given, self, option));
    svit_status status = SVIT_OK;
    if (json_object_size(given.model) > 0) {
        status = config_object(&object, self, config);
        if (status == SVIT_OK) {
            json_object_update(object, given.model);
            status = read_config(config, self, object, option);
        }
    }
    json_decref(object);
    settings_free(&given);
    return status;
}

svit_status config_is_same(int *same, struct program *self, const svit_model_config *a,
                           const svit_model_config *b)
{
    char *first = NULL, *second = NULL;
    svit_status status = config_text(&first, self, a);
    if (status == SVIT_OK)
        status = config_text(&second, self, b);
    *same = status == SVIT_OK && strcmp(first, second) == 0;
    free(first);
    free(second);
    return status;
}

svit_status config_change_model(int *same, svit_model_config *changed, struct program *self,
                                const svit_model *model, const config_option *config)
{
    svit_model_config own;
    TRY(svit_model_get_config(model, &own, sizeof own, &self->err));
    *changed = own;
    TRY(config_change(changed, self, config));
    return config_is_same(same, self, &own, changed);
}

svit_status config_set_text(char **text, struct program *self, const config_option *option)
{
    settings given;
    *text = NULL;
    TRY(settings_read(&given, self, option));
    const int any = json_object_size(given.model) > 0;
    if (any)
        *text = json_dumps(given.model, JSON_COMPACT | JSON_REAL_PRECISION(17));
    settings_free(&given);
    return any && !*text ? program_fail(self, SVIT_E_MEMORY, "no memory for the settings")
                         : SVIT_OK;
}

svit_status config_refuse_model(struct program *self, const config_option *option)
{
    settings given;
    TRY(settings_read(&given, self, option));
    int count = (int)json_object_size(given.model);
    settings_free(&given);
    return count == 0 ? SVIT_OK
                      : program_fail(self, SVIT_E_ARGUMENT,
                                     "--config and --set: the model of a resumed run is fixed; "
                                     "its fields are accepted without --resume");
}

svit_status training_text(char **text, struct program *self, const svit_trainer_config *trainer,
                          const svit_optimizer_config *optimizer,
                          const svit_pipeline_config *pipeline)
{
    size_t needed = 0;
    svit_training_to_json(trainer, optimizer, pipeline, NULL, 0, &needed, NULL);
    char *buffer = malloc(needed ? needed : 1);
    if (!buffer)
        return program_fail(self, SVIT_E_MEMORY, "no memory for the settings");
    svit_status status =
        svit_training_to_json(trainer, optimizer, pipeline, buffer, needed, NULL, &self->err);
    if (status == SVIT_OK)
        *text = buffer;
    else
        free(buffer);
    return status;
}
