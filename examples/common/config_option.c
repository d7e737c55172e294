/* The options that select a model configuration: --preset, --config, --set. */
#include "config_option.h"

#include "path_text.h"
#include "shown.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_PRESET = 'p', KEY_CONFIG = 'c', KEY_SET = 0x200, KEY_LIST_PRESETS };

static const struct argp_option options[] = {
    {"preset", KEY_PRESET, "NAME", 0,
     "Start from the preset NAME; shiftvit-train takes its training settings too, and starts from "
     "shiftvit-cifar10 without this option",
     0},
    {"list-presets", KEY_LIST_PRESETS, NULL, 0, "Print the names of the presets", 0},
    {"config", KEY_CONFIG, "FILE", 0,
     "Take the model's configuration from this JSON file, which may be another run's run.json", 0},
    {"set", KEY_SET, "FIELD=VALUE", 0,
     "Change one field of the configuration, for example dim=48 or blocks=[1,2]; may be repeated",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static void list_presets(void)
{
    for (size_t i = 0; svit_model_preset_name(i); i++)
        puts(svit_model_preset_name(i));
    exit(STATUS_DONE);
}

enum { WORDS = 128 };

/* Returns the name of a preset. An unknown name ends the program, with the nearest known one. */
static const char *check_preset(const struct argp_state *state, const char *text)
{
    const char *names[WORDS] = {NULL};
    for (size_t i = 0; i < WORDS - 1 && (names[i] = svit_model_preset_name(i)); i++)
        if (strcmp(names[i], text) == 0)
            return text;
    const char *nearest = nearest_word(text, names);
    char shown[SHOWN_CAPACITY];
    shown_text(shown, text);
    if (nearest)
        argp_error(state, "--preset: '%.80s' is unknown; did you mean '%s'?", shown, nearest);
    else
        argp_error(state, "--preset: '%.80s' is unknown; --list-presets prints the known ones",
                   shown);
    return NULL;
}

static void add_set(config_option *self, const char *text, const struct argp_state *state)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals[1] == '\0')
        argp_error(state, "--set: '%s' is not of the form FIELD=VALUE", text);
    if (self->set_count == CONFIG_SETS)
        argp_error(state, "--set: more than %d of them", CONFIG_SETS);
    self->sets[self->set_count++] = text;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    config_option *self = state->input;
    switch (key) {
    case KEY_PRESET:
        self->preset = check_preset(state, text);
        return 0;
    case KEY_CONFIG:
        self->file = text;
        return 0;
    case KEY_SET:
        add_set(self, text, state);
        return 0;
    case KEY_LIST_PRESETS:
        list_presets();
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp config_argp = {options, parse_option, NULL, NULL, NULL, NULL, NULL};

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

static svit_status preset_text(char **text, struct program *self, const char *preset)
{
    svit_model_config config;
    TRY(svit_model_config_preset(&config, sizeof config, preset, &self->err));
    return config_text(text, self, &config);
}

static svit_status parse_object(json_t **out, struct program *self, const char *text,
                                const char *what)
{
    json_error_t where;
    *out = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (json_is_object(*out))
        return SVIT_OK;
    json_decref(*out);
    *out = NULL;
    return program_fail(self, SVIT_E_FORMAT, "%s is no JSON object: line %d: %s", what, where.line,
                        where.text);
}

/* Sets FIELD of the object to VALUE, which is parsed as JSON if possible and is a text otherwise:
 * dim=48, shift=keras. */
static svit_status apply_set(json_t *object, struct program *self, const char *text)
{
    const char *equals = strchr(text, '=');
    json_t *value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
    if (!value)
        value = json_string(equals + 1);
    char *field = strndup(text, (size_t)(equals - text));
    int failed = !field || !value || json_object_set(object, field, value) != 0;
    json_decref(value);
    free(field);
    return failed ? program_fail(self, SVIT_E_ARGUMENT, "--set: '%s' is no UTF-8 text", text)
                  : SVIT_OK;
}

static svit_status config_object(json_t **out, struct program *self,
                                 const svit_model_config *config)
{
    char *text = NULL;
    TRY(config_text(&text, self, config));
    svit_status status = parse_object(out, self, text, "a configuration");
    free(text);
    return status;
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

/* Adds the fields of all presets to `fields`: every architecture has a preset. */
static svit_status collect_fields(json_t *fields, struct program *self)
{
    const char *name;
    for (size_t i = 0; (name = svit_model_preset_name(i)); i++) {
        svit_model_config config;
        json_t *object = NULL;
        TRY(svit_model_config_preset(&config, sizeof config, name, &self->err));
        TRY(config_object(&object, self, &config));
        json_object_update(fields, object);
        json_decref(object);
    }
    return SVIT_OK;
}

/* Returns the option for a training setting that a user may have tried with --set, or NULL. */
static const char *option_for(const char *field)
{
    static const char *const settings[][2] = {
        {"lr", "--lr"},
        {"learning_rate", "--lr"},
        {"epochs", "--epochs"},
        {"batch", "--batch"},
        {"schedule", "--schedule"},
        {"weight_decay", "--weight-decay"},
        {"patience", "--patience"},
        {"keep", "--keep"},
        {"seed", "--seed"},
        {"compute", "--compute"},
        {"memory", "--memory"},
        {"threads", "--threads"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(settings[i][0], field) == 0)
            return settings[i][1];
    return NULL;
}

/* Fails with a message on `field`, which is none of `fields`, and suggests what may be meant. */
static svit_status refuse_field(struct program *self, const char *field, json_t *fields)
{
    const char *words[WORDS] = {NULL};
    const char *name;
    char shown[SHOWN_CAPACITY];
    json_t *value;
    size_t count = 0;
    json_object_foreach(fields, name, value) if (count < WORDS - 1) words[count++] = name;
    shown_text(shown, field);
    const char *similar = nearest_word(field, words);
    if (option_for(field))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--set: '%s' is a setting of the training; its option is %s", shown,
                            option_for(field));
    if (similar)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "--set: '%.80s' is no field of a model; did you mean '%s'?", shown,
                            similar);
    return program_fail(self, SVIT_E_ARGUMENT,
                        "--set: '%.80s' is no field of a model; shiftvit-info FILE prints those of "
                        "a model file",
                        shown);
}

/* Fails if FIELD of --set FIELD=VALUE is not a field of any architecture. */
static svit_status check_field(struct program *self, const char *set)
{
    char field[SHOWN_CAPACITY];
    snprintf(field, sizeof field, "%.*s", (int)strcspn(set, "="), set);
    json_t *fields = json_object();
    svit_status status = collect_fields(fields, self);
    if (status == SVIT_OK && !json_object_get(fields, field))
        status = refuse_field(self, field, fields);
    json_decref(fields);
    return status;
}

static svit_status apply_sets(json_t *object, struct program *self, const config_option *option)
{
    for (size_t i = 0; i < option->set_count; i++) {
        TRY(check_field(self, option->sets[i]));
        TRY(apply_set(object, self, option->sets[i]));
    }
    return SVIT_OK;
}

/* Puts "--set FIELD=VALUE" before the library's message if it refuses a value that --set gave. */
static svit_status name_set(struct program *self, const config_option *option, svit_status status)
{
    for (size_t i = option->set_count; i-- > 0;) {
        const char *set = option->sets[i];
        size_t length = strcspn(set, "=");
        char after = self->err.message[length];
        if (strncmp(self->err.message, set, length) == 0 && (after == ' ' || after == '['))
            return program_fail(self, status, "--set %.60s: %s", set, self->err.message);
    }
    return status;
}

static svit_status read_config(svit_model_config *out, struct program *self, const json_t *object,
                               const config_option *option)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (!text)
        return program_fail(self, SVIT_E_MEMORY, "no memory for a configuration");
    svit_status status = svit_model_config_from_json(out, sizeof *out, text, &self->err);
    free(text);
    return status == SVIT_OK ? status : name_set(self, option, status);
}

/* Whether the file or --set gives num_classes. */
static int gives_classes(const json_t *file, const config_option *option)
{
    if (option->file && json_object_get(file, "num_classes"))
        return 1;
    for (size_t i = 0; i < option->set_count; i++)
        if (strncmp(option->sets[i], "num_classes=", strlen("num_classes=")) == 0)
            return 1;
    return 0;
}

static svit_status edit_config(svit_model_config *out, struct program *self, json_t *object,
                               const config_option *option, size_t classes)
{
    int follows = classes > 0 && !gives_classes(object, option);
    TRY(apply_sets(object, self, option));
    const json_t *classifier = json_object_get(object, "classifier");
    if (follows && !json_is_false(classifier))
        json_object_set_new(object, "num_classes", json_integer((json_int_t)classes));
    return read_config(out, self, object, option);
}

/* Replaces the object of a run's run.json by its member "config", the model configuration. */
static void take_config(json_t **object)
{
    json_t *inner = json_object_get(*object, "config");
    if (!json_is_object(inner))
        return;
    json_incref(inner);
    json_decref(*object);
    *object = inner;
}

svit_status config_resolve(svit_model_config *out, struct program *self,
                           const config_option *option, size_t classes)
{
    char *text = NULL;
    json_t *object = NULL;
    if (option->file)
        TRY(path_read_text(self, option->file, &text));
    else
        TRY(preset_text(&text, self, option->preset));
    svit_status status =
        parse_object(&object, self, text, option->file ? option->file : option->preset);
    if (status == SVIT_OK && option->file)
        take_config(&object);
    if (status == SVIT_OK)
        status = edit_config(out, self, object, option, classes);
    json_decref(object);
    free(text);
    return status;
}

void config_fit_pipeline(svit_pipeline_config *pipeline, const svit_model_config *model,
                         const svit_dataset *data)
{
    uint32_t margin_height = pipeline->resize_height - pipeline->output_height;
    uint32_t margin_width = pipeline->resize_width - pipeline->output_width;
    pipeline->output_height = model->input_height;
    pipeline->output_width = model->input_width;
    pipeline->resize_height = model->input_height + margin_height;
    pipeline->resize_width = model->input_width + margin_width;
    if (data) {
        pipeline->source_height = (uint32_t)svit_dataset_height(data);
        pipeline->source_width = (uint32_t)svit_dataset_width(data);
    } else {
        pipeline->source_height = pipeline->resize_height;
        pipeline->source_width = pipeline->resize_width;
        pipeline->source_filter = SVIT_SOURCE_SHORTER_SIDE;
    }
}

int config_wants_statistics(const svit_pipeline_config *preset)
{
    int is_normalised = preset->scale != 1;
    for (size_t i = 0; i < 3; i++)
        is_normalised |= preset->mean[i] != 0 || preset->variance[i] != 1;
    return !is_normalised;
}
