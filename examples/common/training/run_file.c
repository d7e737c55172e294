/* Stores the options of a training run in its folder, so that --resume DIR needs no other
 * option. */
#include "training/run_file.h"

#include "program/path_text.h"
#include "program/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_FILE "run.json"

/* Prints every number so that it reads back to the same bits. */
#define EXACT JSON_REAL_PRECISION(17)

/* Writes compact JSON with line breaks and indentation. Numbers stay as they are written, so that
 * they keep the library's shortest exact form. */
static void write_indented(FILE *stream, const char *json)
{
    int depth = 0, in_text = 0;
    for (const char *at = json; *at; at++) {
        int is_empty = (at[0] == '{' && at[1] == '}') || (at[0] == '[' && at[1] == ']');
        if (in_text || *at == '"') {
            fputc(*at, stream);
            if (in_text && *at == '\\')
                fputc(*++at, stream);
            else if (*at == '"')
                in_text = !in_text;
        } else if (is_empty) {
            fprintf(stream, "%.2s", at++);
        } else if (*at == '{' || *at == '[' || *at == ',') {
            depth += *at != ',';
            fprintf(stream, "%c\n%*s", *at, 2 * depth, "");
        } else if (*at == '}' || *at == ']') {
            depth--;
            fprintf(stream, "\n%*s%c", 2 * depth, "", *at);
        } else {
            fprintf(stream, *at == ':' ? "%c " : "%c", *at);
        }
    }
}

#define DRAWN "drawn"
#define DRAWN_SPLITS "drawn_splits"

svit_status run_file_text(char **text, struct program *self, const json_t *options,
                          const data_splits *data, const char *config, const char *training)
{
    data_drawn drawn;
    char drawn_part[sizeof drawn.from + 16] = "";
    char *list = json_dumps(options, JSON_COMPACT), *compact = NULL;
    size_t length = 0;
    FILE *stream = NULL;
    data_describe_drawn(&drawn, data);
    if (drawn.from[0])
        snprintf(drawn_part, sizeof drawn_part, "\"%s\":\"%s\",", DRAWN, drawn.from);
    if (list && asprintf(&compact,
                         "{\"version\":\"%s\",\"options\":%s,%s\"%s\":\"%s\",\"config\":%s,"
                         "\"training\":%s}",
                         svit_version_string(), list, drawn_part, DRAWN_SPLITS, drawn.splits,
                         config, training) >= 0)
        stream = open_memstream(text, &length);
    if (stream) {
        write_indented(stream, compact);
        if (fclose(stream) != 0)
            stream = NULL;
    }
    free(compact);
    free(list);
    return stream ? SVIT_OK : program_fail(self, SVIT_E_MEMORY, "no memory for the options");
}

void run_file_drawn(data_drawn *out, const json_t *run)
{
    const char *from = json_string_value(json_object_get(run, DRAWN));
    const char *splits = json_string_value(json_object_get(run, DRAWN_SPLITS));
    snprintf(out->from, sizeof out->from, "%s", from ? from : "");
    snprintf(out->splits, sizeof out->splits, "%s", splits ? splits : "");
}

/* Writes an entry of the folder's checkpoint to *text, or NULL if there is none. Free it with
 * free(). */
static svit_status read_entry(char **text, struct program *self, const char *folder,
                              const char *key)
{
    char path[PATH_CAPACITY];
    svit_context_config config;
    svit_context *context = NULL;
    svit_checkpoint *checkpoint = NULL;
    *text = NULL;
    TRY(path_join(self, path, folder, RUN_CHECKPOINT_FILE));
    TRY(svit_context_config_init(&config, sizeof config));
    config.threads = 1;
    TRY(svit_context_create(&context, &config, &self->err));
    svit_status status = svit_checkpoint_open(&checkpoint, context, path, &self->err);
    const char *value = checkpoint ? svit_checkpoint_value(checkpoint, key) : NULL;
    if (value && !(*text = strdup(value)))
        status = program_fail(self, SVIT_E_MEMORY, "no memory for '%s'", path);
    svit_checkpoint_free(checkpoint);
    svit_context_free(context);
    return status;
}

/* Fails because the folder, which holds no run, has a file that a run would replace. */
static svit_status refuse_file(struct program *self, const char *folder, const char *file)
{
    return program_fail(self, SVIT_E_STATE,
                        "'%s' has the file %s, which the run would replace; take another folder: "
                        "--out DIR; or replace it: --overwrite",
                        folder, file);
}

/* Fails because the folder holds a run, of which `file` was found. */
static svit_status refuse_used(struct program *self, const char *folder, const char *file)
{
    char *epochs = NULL;
    if (read_entry(&epochs, self, folder, "trainer.state.epoch") != SVIT_OK)
        return program_fail(self, SVIT_E_STATE,
                            "'%s' holds a run (%s) without a checkpoint that can be read; replace "
                            "it: --overwrite; or take another folder: --out DIR",
                            folder, file);
    char shown[SHOWN_CAPACITY];
    svit_status status =
        program_fail(self, SVIT_E_STATE,
                     "'%s' holds a run (%s%s%.10s%s); go on with it: --resume %s; replace it: "
                     "--overwrite; or take another folder: --out DIR",
                     folder, file, epochs ? ", " : "", epochs ? epochs : "",
                     epochs ? " epochs done" : "", shown_word(shown, folder));
    free(epochs);
    return status;
}

const char *const run_result_files[RUN_RESULT_FILES] = {RUN_MODEL_FILE, RUN_CURVES_FILE};

svit_status run_file_lock(svit_folder_lock **out, struct program *self, const char *folder,
                          const svit_trainer_config *trainer)
{
    const int may_be_used = trainer->existing != SVIT_EXISTING_REFUSE;
    static const char *const files[] = {RUN_CHECKPOINT_FILE, "best.safetensors", "history.csv",
                                        RUN_FILE};
    TRY(svit_folder_lock_create(out, self->context, folder, &self->err));
    for (size_t i = 0; !may_be_used && i < sizeof files / sizeof *files; i++)
        if (svit_folder_lock_has(*out, files[i]))
            return refuse_used(self, folder, files[i]);
    for (size_t i = 0; !may_be_used && i < RUN_RESULT_FILES; i++)
        if (svit_folder_lock_has(*out, run_result_files[i]))
            return refuse_file(self, folder, run_result_files[i]);
    if (!may_be_used && trainer->tensorboard && svit_folder_lock_has(*out, RUN_EVENTS_FILE))
        return refuse_file(self, folder, RUN_EVENTS_FILE);
    return SVIT_OK;
}

/* Reads a description from its text, which is that of the file at `path`. */
static svit_status parse_description(json_t **out, struct program *self, const char *text,
                                     const char *path)
{
    json_error_t wrong = {.line = 0};
    *out = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    if (json_is_object(json_object_get(*out, "options")))
        return SVIT_OK;
    const int is_json = *out != NULL;
    json_decref(*out);
    *out = NULL;
    return program_fail(self, SVIT_E_FORMAT,
                        "'%s' has no options of shiftvit-train, a JSON object with \"options\"%s%s",
                        path, is_json ? "" : ": ", is_json ? "" : wrong.text);
}

/* Reads the description of the run from its checkpoint, or from run.json if the checkpoint has
 * none. */
static svit_status read_description(json_t **out, struct program *self, const char *folder)
{
    char path[PATH_CAPACITY];
    char *text = NULL;
    TRY(read_entry(&text, self, folder, "trainer.description"));
    TRY(path_join(self, path, folder, text ? RUN_CHECKPOINT_FILE : RUN_FILE));
    if (!text)
        TRY(path_read_text(self, path, &text));
    svit_status status = parse_description(out, self, text, path);
    free(text);
    return status;
}

svit_status run_file_json(json_t **out, struct program *self, const char *folder)
{
    char path[PATH_CAPACITY];
    char *text = NULL;
    *out = NULL;
    TRY(path_join(self, path, folder, RUN_FILE));
    if (!path_is_there(path))
        return SVIT_OK;
    TRY(path_read_text(self, path, &text));
    svit_status status = parse_description(out, self, text, path);
    free(text);
    return status;
}

svit_status run_file_argument(char **out, struct program *self, const char *name,
                              const json_t *value)
{
    if (!json_is_string(value))
        return program_fail(self, SVIT_E_FORMAT, "run.json: the option '%s' is no text", name);
    if (asprintf(out, "--%s=%s", name, json_string_value(value)) >= 0)
        return SVIT_OK;
    *out = NULL;
    return program_fail(self, SVIT_E_MEMORY, "no memory for the options of a run");
}

/* Appends a copy of an argument of the command line. */
static svit_status add_argument(run_file *out, struct program *self, const char *argument)
{
    char *copy = strdup(argument);
    if (!copy)
        return program_fail(self, SVIT_E_MEMORY, "no memory for the options of a run");
    out->arguments[out->argument_count++] = copy;
    return SVIT_OK;
}

/* Builds the arguments: the program's name, the stored options, and those of the command line. */
static svit_status take_arguments(run_file *out, struct program *self, json_t *options, int argc,
                                  char **argv)
{
    const char *name;
    json_t *value;
    const size_t capacity = json_object_size(options) + (size_t)argc + 1;
    out->arguments = calloc(capacity, sizeof *out->arguments);
    if (!out->arguments)
        return program_fail(self, SVIT_E_MEMORY, "no memory for the options of a run");
    out->capacity = (int)capacity;
    TRY(add_argument(out, self, argv[0]));
    json_object_foreach (options, name, value) {
        TRY(run_file_argument(&out->arguments[out->argument_count], self, name, value));
        out->argument_count++;
    }
    for (int i = 1; i < argc; i++)
        TRY(add_argument(out, self, argv[i]));
    return SVIT_OK;
}

svit_status run_file_read(run_file *out, struct program *self, const char *folder, int argc,
                          char **argv)
{
    json_t *object = NULL;
    *out = (run_file){0};
    TRY(read_description(&object, self, folder));
    json_t *options = json_object_get(object, "options");
    svit_status status = take_arguments(out, self, options, argc, argv);
    const json_t *training = json_object_get(object, "training");
    run_file_drawn(&out->drawn, object);
    if (status == SVIT_OK && training && !(out->training = json_dumps(training, EXACT)))
        status = program_fail(self, SVIT_E_MEMORY, "no memory for the settings");
    json_decref(object);
    if (status != SVIT_OK)
        run_file_free(out);
    return status;
}

/* Copies those of the options that are stored. */
static void copy_options(json_t *to, const json_t *stored, const char *const *names)
{
    for (; *names; names++) {
        json_t *value = json_object_get(stored, *names);
        if (value)
            json_object_set(to, *names, value);
    }
}

svit_status run_file_read_start(run_file *out, struct program *self, const char *path,
                                const run_file_given *given, int argc, char **argv)
{
    static const char *const START[] = {"init-from", NULL};
    static const char *const CHECKPOINT[] = {"name", "prefix", "base", NULL};
    static const char *const DATA[] = {"data",       "labels",    "val-fraction", "limit-train",
                                       "limit-test", "limit-val", "on-bad",       NULL};
    char *text = NULL;
    svit_status status = SVIT_OK;
    *out = (run_file){0};
    TRY(path_check_file(self, "--config", path));
    TRY(path_read_text(self, path, &text));
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *stored = json_object_get(object, "options"), *options = json_object();
    if (!given->has_start)
        copy_options(options, stored, START);
    const int begins_by_rule = json_object_get(options, "init-from") && !given->has_model &&
                               !json_object_get(stored, "preset");
    if (begins_by_rule)
        copy_options(options, stored, CHECKPOINT);
    if (!given->has_data && json_object_get(stored, "data"))
        copy_options(options, stored, DATA);
    if (json_object_size(options) > 0)
        status = take_arguments(out, self, options, argc, argv);
    out->begins_by_rule = begins_by_rule;
    json_decref(options);
    json_decref(object);
    free(text);
    if (status != SVIT_OK)
        run_file_free(out);
    return status;
}

void run_file_free(run_file *self)
{
    for (int i = 0; i < self->capacity; i++)
        free(self->arguments[i]);
    free(self->arguments);
    free(self->training);
    *self = (run_file){0};
}
