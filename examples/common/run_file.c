/* Stores the options of a training run in its folder, so that --resume DIR needs no other
 * option. */
#include "run_file.h"

#include "path_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT_FILE "checkpoint.safetensors"
#define RUN_FILE "run.json"

/* Prints JSON with 15 significant digits, or with 17 if 15 do not keep every number. */
static char *dump_exactly(const json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_t *read = text ? json_loads(text, 0, NULL) : NULL;
    if (read && !json_equal(read, object)) {
        free(text);
        text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    }
    json_decref(read);
    return text;
}

svit_status run_file_text(char **text, struct program *self, const json_t *options,
                          const char *config)
{
    json_t *object = json_pack("{s:s, s:O, s:o}", "version", svit_version_string(), "options",
                               options, "config", json_loads(config, 0, NULL));
    *text = object ? dump_exactly(object) : NULL;
    json_decref(object);
    return *text ? SVIT_OK : program_fail(self, SVIT_E_MEMORY, "no memory for the options");
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
    TRY(path_join(self, path, folder, CHECKPOINT_FILE));
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

/* Fails because the folder holds a run, of which `file` was found. */
static svit_status refuse_used(struct program *self, const char *folder, const char *file)
{
    char *epochs = NULL;
    read_entry(&epochs, self, folder, "trainer.state.epoch");
    svit_status status =
        program_fail(self, SVIT_E_STATE,
                     "'%s' holds a run (%s%s%.10s%s); go on with it: --resume %s; replace it: "
                     "--overwrite; or take another folder: --out DIR",
                     folder, file, epochs ? ", " : "", epochs ? epochs : "",
                     epochs ? " epochs done" : "", folder);
    free(epochs);
    return status;
}

svit_status run_file_lock(svit_folder_lock **out, struct program *self, const char *folder,
                          int may_be_used)
{
    static const char *const files[] = {CHECKPOINT_FILE, "best.safetensors", "history.csv",
                                        RUN_FILE};
    TRY(svit_folder_lock_create(out, self->context, folder, &self->err));
    for (size_t i = 0; !may_be_used && i < sizeof files / sizeof *files; i++)
        if (svit_folder_lock_has(*out, files[i]))
            return refuse_used(self, folder, files[i]);
    return SVIT_OK;
}

/* Reads the options from the checkpoint, or from run.json if the checkpoint has none. */
static svit_status read_options(json_t **out, struct program *self, const char *folder)
{
    char path[PATH_CAPACITY];
    char *text = NULL;
    TRY(read_entry(&text, self, folder, "trainer.description"));
    TRY(path_join(self, path, folder, text ? CHECKPOINT_FILE : RUN_FILE));
    if (!text)
        TRY(path_read_text(self, path, &text));
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    *out = json_incref(json_object_get(object, "options"));
    json_decref(object);
    if (json_is_object(*out))
        return SVIT_OK;
    json_decref(*out);
    *out = NULL;
    return program_fail(self, SVIT_E_FORMAT,
                        "'%s' has no options of shiftvit-train, a JSON object with \"options\"",
                        path);
}

/* Returns the number of arguments, or -1 if an option is not a text or there is no memory. */
static int fill_arguments(char **list, json_t *options, int argc, char **argv)
{
    const char *name;
    json_t *value;
    int count = 0;
    list[count++] = strdup(argv[0]);
    json_object_foreach(options, name, value) if (!json_is_string(value) ||
                                                  asprintf(&list[count++], "--%s=%s", name,
                                                           json_string_value(value)) < 0) return -1;
    for (int i = 1; i < argc; i++)
        list[count++] = strdup(argv[i]);
    return count;
}

svit_status run_file_arguments(struct program *self, const char *folder, int argc, char **argv,
                               int *argument_count, char ***arguments)
{
    json_t *options = NULL;
    TRY(read_options(&options, self, folder));
    size_t capacity = json_object_size(options) + (size_t)argc + 1;
    char **list = calloc(capacity, sizeof *list);
    int count = list ? fill_arguments(list, options, argc, argv) : 0;
    json_decref(options);
    if (count <= 0) {
        run_file_free((int)capacity, list);
        return program_fail(self, count < 0 ? SVIT_E_FORMAT : SVIT_E_MEMORY,
                            "cannot take the options of the run in '%s'", folder);
    }
    *argument_count = count;
    *arguments = list;
    return SVIT_OK;
}

void run_file_free(int argument_count, char **arguments)
{
    for (int i = 0; arguments && i < argument_count; i++)
        free(arguments[i]);
    free(arguments);
}
