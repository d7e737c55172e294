/* run.json: the options of a training run, so that --resume DIR alone is enough. */
#include "run_file.h"

#include "path_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

svit_status run_file_save(struct program *self, const char *folder, const json_t *options,
                          const char *config)
{
    char path[PATH_CAPACITY];
    TRY(path_join(self, path, folder, "run.json"));
    json_t *object = json_pack("{s:s, s:O, s:o}", "version", svit_version_string(), "options",
                               options, "config", json_loads(config, 0, NULL));
    char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
    json_decref(object);
    if (!text)
        return program_fail(self, SVIT_E_MEMORY, "no memory for '%s'", path);
    svit_status status = svit_file_replace(path, text, strlen(text), &self->err);
    free(text);
    return status;
}

static svit_status read_options(json_t **out, struct program *self, const char *folder)
{
    char path[PATH_CAPACITY];
    char *text = NULL;
    TRY(path_join(self, path, folder, "run.json"));
    TRY(path_read_text(self, path, &text));
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    *out = json_incref(json_object_get(object, "options"));
    json_decref(object);
    if (json_is_object(*out))
        return SVIT_OK;
    json_decref(*out);
    *out = NULL;
    return program_fail(self, SVIT_E_FORMAT, "'%s' is no JSON object with \"options\"", path);
}

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
                            "cannot take the options from '%s/run.json'", folder);
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
