/* Reads --config and --set and tells the fields of the model from those of the training. */
#include "settings/settings.h"

#include "program/path_text.h"
#include "program/shown.h"
#include "settings/pipeline_fit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256 };

#define TRAINING "training"

/* Reads the description of the fields of `of`, an array of objects. */
static svit_status describe(json_t **out, struct program *self, const char *of)
{
    size_t needed = 0;
    svit_config_fields(of, NULL, 0, &needed, NULL);
    char *text = malloc(needed ? needed : 1);
    if (text && svit_config_fields(of, text, needed, NULL, NULL) == SVIT_OK)
        *out = json_loads(text, 0, NULL);
    free(text);
    return *out ? SVIT_OK : program_fail(self, SVIT_E_MEMORY, "no memory for a list of fields");
}

static const char *field_text(const json_t *field, const char *key)
{
    return json_string_value(json_object_get(field, key));
}

/* Adds the names of the fields of `of` to the keys of `names`. */
static svit_status add_names(json_t *names, struct program *self, const char *of)
{
    json_t *list = NULL, *field;
    size_t i;
    TRY(describe(&list, self, of));
    json_array_foreach (list, i, field)
        json_object_set_new(names, field_text(field, "name"), json_true());
    json_decref(list);
    return SVIT_OK;
}

/* The names of all fields, as the keys of two objects. */
typedef struct field_names {
    json_t *model, *training;
} field_names;

static void names_free(field_names *names)
{
    json_decref(names->model);
    json_decref(names->training);
}

static svit_status names_read(field_names *names, struct program *self)
{
    *names = (field_names){json_object(), json_object()};
    svit_status status = add_names(names->training, self, TRAINING);
    const char *name;
    for (size_t i = 0; status == SVIT_OK && (name = svit_model_architecture_name(i)); i++)
        status = add_names(names->model, self, name);
    if (status != SVIT_OK)
        names_free(names);
    return status;
}

/* Names of other libraries for fields, which no misspelling of ours resembles. */
static const char *other_name(const char *field)
{
    static const char *const others[][2] = {{"lr", "learning_rate"},
                                            {"wd", "weight_decay"},
                                            {"batch_size", "batch"},
                                            {"smoothing", "label_smoothing"},
                                            {"opt", "optimizer"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i][0], field) == 0)
            return others[i][1];
    return NULL;
}

/* Fails with a message on `field`, which nothing has, and suggests what may be meant. */
static svit_status refuse_field(struct program *self, const char *where, const char *field,
                                const field_names *names)
{
    const char *words[MAX_WORDS] = {NULL};
    const char *name;
    char shown[SHOWN_CAPACITY];
    json_t *value;
    size_t count = 0;
    json_object_foreach (names->model, name, value)
        if (count < MAX_WORDS - 1)
            words[count++] = name;
    json_object_foreach (names->training, name, value)
        if (count < MAX_WORDS - 1)
            words[count++] = name;
    const char *similar = other_name(field);
    if (!similar)
        similar = nearest_word(field, words);
    shown_text(shown, field);
    if (similar)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "%s: '%.80s' is no field of a model or of the training; did you mean "
                            "'%s'?",
                            where, shown, similar);
    return program_fail(self, SVIT_E_ARGUMENT,
                        "%s: '%.80s' is no field of a model or of the training; --help lists them",
                        where, shown);
}

/* Whether a field of that name is one of the model. Both have a field "groups": a word in the
 * model, a list in the training. */
static int is_of_model(const char *field, const json_t *value, const field_names *names)
{
    if (!json_object_get(names->model, field))
        return 0;
    return !(json_object_get(names->training, field) && json_is_array(value));
}

/* Whether a setting is a size of the pipeline's images, their channels, or how they are brought to
 * the first size. */
static int is_size(const char *field)
{
    static const char *const SIZES[] = {"source_height", "source_width", "source_filter",
                                        "resize_height", "resize_width", "output_height",
                                        "output_width",  "channels"};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        if (strcmp(SIZES[i], field) == 0)
            return 1;
    return 0;
}

static const char SET[] = "--set", EXISTING[] = "existing";

/* Fails if EXISTING is set to other than what svit_training_to_json writes: options say it. */
static svit_status check_existing(struct program *self, const char *where, const json_t *value)
{
    const char *word = json_string_value(value);
    return word && strcmp(word, "refuse") == 0
               ? SVIT_OK
               : program_fail(self, SVIT_E_ARGUMENT,
                              "%s: existing: with shiftvit-train --resume DIR goes on with a run "
                              "that is there, and --overwrite replaces it",
                              where);
}

/* Puts a field where it belongs. `where` is SET or the file that gives it. */
static svit_status put_field(settings *out, struct program *self, const config_option *option,
                             const char *where, const char *field, json_t *value,
                             const field_names *names)
{
    if (is_of_model(field, value, names)) {
        json_object_set(out->model, field, value);
        return SVIT_OK;
    }
    if (!json_object_get(names->training, field))
        return refuse_field(self, where, field, names);
    if (!option->takes_training)
        return program_fail(self, SVIT_E_ARGUMENT,
                            "%s: '%s' is a setting of the training; accepted are fields of a model",
                            where, field);
    if (strcmp(field, EXISTING) == 0)
        return check_existing(self, where, value);
    json_object_set(where == SET && is_size(field) ? out->sizes : out->training, field, value);
    return SVIT_OK;
}

static svit_status parse_object(json_t **out, struct program *self, const char *text,
                                const char *what)
{
    json_error_t where;
    *out = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (json_is_object(*out))
        return SVIT_OK;
    const int is_json = *out != NULL;
    json_decref(*out);
    *out = NULL;
    if (!is_json && json_error_code(&where) == json_error_numeric_overflow &&
        strstr(where.text, "integer"))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "%s: line %d: %s; whole numbers up to 2^63 - 1 are accepted here", what,
                            where.line, where.text);
    return is_json ? program_fail(self, SVIT_E_FORMAT, "%s is no JSON object, but other JSON", what)
                   : program_fail(self, SVIT_E_FORMAT, "%s is no JSON object: line %d: %s", what,
                                  where.line, where.text);
}

/* Takes both parts of a run.json. */
static void take_run(settings *out, const json_t *object, const config_option *option)
{
    out->is_run = 1;
    json_object_update(out->model, json_object_get(object, "config"));
    if (option->takes_training)
        json_object_update(out->training, json_object_get(object, TRAINING));
}

static svit_status put_file(settings *out, struct program *self, const config_option *option,
                            json_t *object, const field_names *names)
{
    const char *field;
    json_t *value;
    if (json_is_object(json_object_get(object, "config")))
        take_run(out, object, option);
    else
        json_object_foreach (object, field, value)
            TRY(put_field(out, self, option, option->file, field, value, names));
    out->has_model_file = json_object_size(out->model) > 0;
    return SVIT_OK;
}

static svit_status read_file(settings *out, struct program *self, const config_option *option,
                             const field_names *names)
{
    char *text = NULL;
    json_t *object = NULL;
    TRY(path_check_file(self, "--config", option->file));
    TRY(path_read_text(self, option->file, &text));
    svit_status status = parse_object(&object, self, text, option->file);
    if (status == SVIT_OK)
        status = put_file(out, self, option, object, names);
    json_decref(object);
    free(text);
    return status;
}

/* Reads a number that JSON writes otherwise, such as .1 or 007; NULL if the text is none. */
static json_t *read_number(const char *text)
{
    char *end = NULL;
    double number;
    if (!decimal_read(&number, text))
        return NULL;
    errno = 0;
    const long long whole = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0 ? json_integer(whole) : json_real(number);
}

/* Reads the value of FIELD=VALUE: JSON if possible, otherwise a text, unless it begins as a list or
 * an object. */
static svit_status parse_value(json_t **value, struct program *self, const char *set,
                               const char *text)
{
    json_error_t wrong;
    double number;
    svit_status status = SVIT_OK;
    *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &wrong);
    if (!*value && (text[0] == '[' || text[0] == '{'))
        return program_fail(self, SVIT_E_ARGUMENT, "--set %.100s: no JSON: column %d: %s", set,
                            wrong.column, wrong.text);
    if (!*value)
        *value = read_number(text);
    if (json_is_real(*value) && text[strspn(text, "0123456789")] == '\0')
        status = program_fail(self, SVIT_E_ARGUMENT,
                              "--set %.100s: whole numbers up to 2^63 - 1 are accepted here", set);
    if (json_is_number(*value) && !decimal_read(&number, text))
        status = program_fail(self, SVIT_E_ARGUMENT,
                              "--set %.100s: decimal numbers without blanks are accepted, and none "
                              "so small that it becomes 0",
                              set);
    if (!*value)
        *value = json_string(text);
    if (!*value)
        status = program_fail(self, SVIT_E_ARGUMENT, "--set: '%s' is no UTF-8 text", set);
    if (status != SVIT_OK)
        json_decref(*value);
    return status;
}

/* Applies FIELD=VALUE. The value is parsed as JSON if possible and is a text otherwise: dim=48,
 * shift=keras. */
static svit_status put_set(settings *out, struct program *self, const config_option *option,
                           const char *set, const field_names *names)
{
    char field[SHOWN_CAPACITY];
    const char *equals = strchr(set, '=');
    json_t *value = NULL;
    TRY(parse_value(&value, self, set, equals + 1));
    snprintf(field, sizeof field, "%.*s", (int)(equals - set), set);
    svit_status status = put_field(out, self, option, SET, field, value, names);
    json_decref(value);
    return status;
}

/* Gives the file's pipeline the channels that --set gives the model. */
static void fit_channels(settings *out, const config_option *option)
{
    static const char FIELD[] = "in_channels=";
    const json_t *had = json_object_get(out->training, "channels");
    for (size_t i = 0; had && i < option->set_count; i++) {
        if (strncmp(option->sets[i], FIELD, sizeof FIELD - 1) != 0)
            continue;
        const long channels = strtol(option->sets[i] + sizeof FIELD - 1, NULL, 10);
        if (channels >= 1 && channels <= INT32_MAX && channels != json_integer_value(had))
            pipeline_change_channels(out->training, (uint32_t)channels);
        had = json_object_get(out->training, "channels");
    }
}

svit_status settings_read(settings *out, struct program *self, const config_option *option)
{
    field_names names;
    *out = (settings){json_object(), json_object(), json_object(), 0, 0};
    svit_status status = names_read(&names, self);
    if (status == SVIT_OK) {
        if (option->file)
            status = read_file(out, self, option, &names);
        if (status == SVIT_OK)
            fit_channels(out, option);
        for (size_t i = 0; status == SVIT_OK && i < option->set_count; i++)
            status = put_set(out, self, option, option->sets[i], &names);
        names_free(&names);
    }
    if (status != SVIT_OK)
        settings_free(out);
    return status;
}

void settings_free(settings *self)
{
    json_decref(self->model);
    json_decref(self->training);
    json_decref(self->sizes);
    *self = (settings){0};
}

svit_status settings_drop_defaults(settings *self, struct program *program)
{
    json_t *list = NULL, *field;
    size_t i;
    TRY(describe(&list, program, "training"));
    json_array_foreach (list, i, field) {
        const char *name = field_text(field, "name");
        const json_t *usual = json_object_get(field, "default");
        const json_t *given = json_object_get(self->training, name);
        if (json_is_number(usual) && json_is_number(given)
                ? json_number_value(usual) == json_number_value(given)
                : json_equal(usual, given))
            json_object_del(self->training, name);
    }
    json_decref(list);
    return SVIT_OK;
}

/* What a field accepts here: jansson reads no larger integers. */
static const char *accepted_text(const json_t *field)
{
    const char *text = field_text(field, "accepted");
    return strcmp(text, "0..2^64 - 1") == 0 ? "0..2^63 - 1" : text;
}

static void print_fields(FILE *stream, const char *of)
{
    struct program program = {0};
    json_t *list = NULL, *field;
    size_t i;
    char line[1024];
    if (describe(&list, &program, of) != SVIT_OK)
        return;
    json_array_foreach (list, i, field) {
        if (strcmp(field_text(field, "name"), EXISTING) == 0)
            continue;
        char *value = json_dumps(json_object_get(field, "default"),
                                 JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
        snprintf(line, sizeof line, "  %-20s %-9s default %-10s %s", field_text(field, "name"),
                 field_text(field, "type"), value ? value : "", accepted_text(field));
        option_wrap(stream, line, 0, 0);
        free(value);
    }
    json_decref(list);
}

void settings_print_fields(FILE *stream, int takes_training)
{
    const char *name;
    if (takes_training) {
        fputc('\n', stream);
        option_wrap(stream,
                    "Fields of the training for --set and --config (presets have values of their "
                    "own):",
                    0, 0);
        print_fields(stream, TRAINING);
    }
    for (size_t i = 0; (name = svit_model_architecture_name(i)); i++) {
        fprintf(stream, "\nFields of a model of architecture '%s' for --set and --config:\n", name);
        print_fields(stream, name);
    }
}
