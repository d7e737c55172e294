/* The files that a model is read from: weights in one file or in several, and what lies beside
 * them. */
#include "models/model_files.h"

#include "models/model_path.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char ADAPTER_CONFIG[] = "adapter_config.json";

/* What svit_model_open reads beside the weights of an adapter. */
static const char *const ADAPTER_SIDES[] = {ADAPTER_CONFIG, "preprocessor_config.json",
                                            "processor_config.json"};

/* What svit_model_open reads beside any weights. */
static const char *const SIDES[] = {"config.json", "preprocessor_config.json",
                                    "processor_config.json", "open_clip_config.json"};

/* Writes the path of a file in a folder; returns 0 if there is none. */
static int find(char *out, const char *folder, const char *name)
{
    const int length = snprintf(out, PATH_CAPACITY, "%s/%s", folder, name);
    return length > 0 && length < PATH_CAPACITY && path_is_there(out);
}

static int is_in(const char *folder, const char *name, const char *path)
{
    char file[PATH_CAPACITY];
    return find(file, folder, name) && path_is_same(file, path);
}

/* Whether an index lists the file. An index that cannot be read opens no model either. */
static int is_listed(const char *index, const char *folder, const char *path)
{
    json_t *root = json_load_file(index, 0, NULL), *value;
    const char *tensor, *last = "";
    int found = 0;
    json_object_foreach (json_object_get(root, "weight_map"), tensor, value) {
        const char *name = json_string_value(value);
        if (found || !name || strcmp(name, last) == 0)
            continue;
        last = name;
        found = is_in(folder, name, path);
    }
    json_decref(root);
    return found;
}

/* The role in a model that is no adapter. */
static int role_in_weights(const char *given, const char *path)
{
    char folder[PATH_CAPACITY], weights[PATH_CAPACITY] = "";
    if (path_is_folder(given)) {
        snprintf(folder, sizeof folder, "%s", given);
        for (size_t i = 0; model_path_files[i] && !find(weights, given, model_path_files[i]); i++)
            weights[0] = '\0';
    } else {
        path_split(folder, given);
        snprintf(weights, sizeof weights, "%s", given);
    }
    for (size_t i = 0; i < sizeof SIDES / sizeof *SIDES; i++)
        if (is_in(folder, SIDES[i], path))
            return MODEL_FILE_SIDE;
    const int is_index = model_path_is_index(weights);
    if (path_exists(weights) && path_is_same(weights, path))
        return is_index ? MODEL_FILE_PART : MODEL_FILE_WHOLE;
    return is_index && is_listed(weights, folder, path) ? MODEL_FILE_PART : MODEL_FILE_OTHER;
}

/* Whether the file belongs to the adapter in a folder, or to the model that it says it changes. */
static int is_of_adapter(const char *folder, const char *path)
{
    char config[PATH_CAPACITY];
    if (is_in(folder, model_path_adapter, path))
        return 1;
    for (size_t i = 0; i < sizeof ADAPTER_SIDES / sizeof *ADAPTER_SIDES; i++)
        if (is_in(folder, ADAPTER_SIDES[i], path))
            return 1;
    json_t *root = find(config, folder, ADAPTER_CONFIG) ? json_load_file(config, 0, NULL) : NULL;
    const char *base = json_string_value(json_object_get(root, "base_model_name_or_path"));
    const int found = base && role_in_weights(base, path) != MODEL_FILE_OTHER;
    json_decref(root);
    return found;
}

int model_files_role(const char *given, const char *path)
{
    char adapter[PATH_CAPACITY];
    if (!path_exists(path))
        return MODEL_FILE_OTHER;
    if (path_is_folder(given) && find(adapter, given, model_path_adapter))
        return is_of_adapter(given, path) ? MODEL_FILE_PART : MODEL_FILE_OTHER;
    return role_in_weights(given, path);
}
