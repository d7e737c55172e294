/* The files of a checkpoint: the weights, and the JSON files that lie beside them. */
#include "base/files/file.h"
#include "base/files/path.h"
#include "base/numbers/digits.h"
#include "models/open/open_internal.h"

#include <stdio.h>
#include <string.h>

/* A configuration with the names of 21,000 classes has less than this. */
enum { SIDE_LIMIT = 16 << 20 };

static const char *const SIDE_NAMES[SV_SIDE_FILES] = {
    [SV_SIDE_CONFIG] = "config.json",
    [SV_SIDE_PREPROCESSOR] = "preprocessor_config.json",
    [SV_SIDE_PROCESSOR] = "processor_config.json",
    [SV_SIDE_OPENCLIP] = "open_clip_config.json",
    [SV_SIDE_ADAPTER] = "adapter_config.json",
    [SV_SIDE_ADAPTER_PREPROCESSOR] = "preprocessor_config.json",
    [SV_SIDE_ADAPTER_PROCESSOR] = "processor_config.json"};

/* The names under which libraries save weights, the first that is there counts. */
static const char *const WEIGHTS[] = {"best.safetensors", "model.safetensors",
                                      "model.safetensors.index.json", "open_clip_model.safetensors",
                                      "checkpoint.safetensors",
                                      /* Its files are pickles, which the message says. */
                                      "pytorch_model.bin.index.json"};

/* The names under which libraries save pickles, and those of their safetensors files. */
static const struct {
    const char *name, *written;
} PICKLES[] = {{"pytorch_model.bin", "model.safetensors"},
               {"open_clip_pytorch_model.bin", "open_clip_model.safetensors"},
               {"adapter_model.bin", "adapter_model.safetensors"}};
enum { PICKLE_COUNT = sizeof PICKLES / sizeof *PICKLES };

/* Writes the path of a file in the folder whose path has so many bytes; 0: in the current one. */
static svit_status join(char out[SV_OPEN_PATH], const char *folder, size_t bytes, const char *name,
                        svit_error *err)
{
    const bool needs_separator = bytes > 0 && !sv_path_is_separator(folder[bytes - 1]);
    if (snprintf(out, SV_OPEN_PATH, "%.*s%s%s", (int)bytes, folder, needs_separator ? "/" : "",
                 name) >= SV_OPEN_PATH)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the path of %.80s is too long; it has at most %d bytes", sv_path_name(name),
                       SV_OPEN_PATH - 1);
    return SVIT_OK;
}

/* Says what writes the tensors of a pickle to a file that is read. */
static svit_status fail_pickle(const sv_open *open, svit_status status, svit_error *err)
{
    const char *name = sv_path_name(open->weights), *written = "model.safetensors";
    for (size_t i = 0; i < PICKLE_COUNT; i++)
        if (strcmp(PICKLES[i].name, name) == 0)
            written = PICKLES[i].written;
    return sv_fail(err, status,
                   "%s is a Python pickle; in Python: safetensors.torch.save_file("
                   "torch.load('%s', map_location='cpu'), '%s')",
                   open->weights, name, written);
}

/* Names the last checkpoint among the folders that transformers writes, if there is one. */
static svit_status fail_empty(const sv_open *open, svit_error *err)
{
    static const char begin[] = "checkpoint-";
    sv_listing listing = {0};
    uint64_t last = 0, step;
    char hint[80] = "";
    SVIT_TRY(sv_folder_list(&listing, open->allocator, open->path, err));
    for (size_t i = 0; i < listing.count; i++) {
        const char *name = listing.names[i], *digits = name + sizeof begin - 1;
        if (strncmp(name, begin, sizeof begin - 1) != 0 || !sv_listing_is_folder(&listing, i) ||
            !*digits || sv_digits_read(&step, digits, 10) != name + strlen(name) || step < last)
            continue;
        last = step;
        snprintf(hint, sizeof hint, "; its folder %.40s may have some", name);
    }
    sv_listing_free(open->allocator, &listing);
    return sv_fail(err, SVIT_E_IO,
                   "%s: the folder holds no weights; model.safetensors, "
                   "open_clip_model.safetensors and the files of a training run are accepted%s",
                   open->path, hint);
}

/* Finds the weights in a folder. */
static svit_status find_weights(sv_open *open, svit_error *err)
{
    const size_t bytes = strlen(open->path);
    for (size_t i = 0; i < sizeof WEIGHTS / sizeof *WEIGHTS; i++) {
        SVIT_TRY(join(open->weights, open->path, bytes, WEIGHTS[i], err));
        if (!sv_is_absent(open->weights))
            return SVIT_OK;
    }
    for (size_t i = 0; i < PICKLE_COUNT; i++) {
        SVIT_TRY(join(open->weights, open->path, bytes, PICKLES[i].name, err));
        if (!sv_is_absent(open->weights))
            return fail_pickle(open, SVIT_E_UNSUPPORTED, err);
    }
    return fail_empty(open, err);
}

/* Bytes of the path of the weights' folder, with the separator; 0: there is none. */
static size_t folder_bytes(const sv_open *open)
{
    return (size_t)(sv_path_name(open->weights) - open->weights);
}

/* Reads the JSON file `which` beside the weights, if it is there. */
static svit_status read_side(sv_open *open, size_t which, svit_error *err)
{
    sv_side_file *side = &open->side[which];
    char path[SV_OPEN_PATH];
    side->name = SIDE_NAMES[which];
    SVIT_TRY(join(path, open->weights, folder_bytes(open), side->name, err));
    if (sv_is_absent(path))
        return SVIT_OK;
    SVIT_TRY(sv_file_read(&side->text, &side->bytes, open->allocator, path, SIDE_LIMIT, err));
    return sv_json_parse_object(&side->json, open->allocator, side->text, side->bytes, path, err);
}

enum { MAX_PARTS = 1000 };

/* Whether a text is longer than `ending` and ends with it. */
static bool ends_with(const char *text, const char *ending)
{
    const size_t bytes = strlen(text), end = strlen(ending);
    return bytes > end && strcmp(text + bytes - end, ending) == 0;
}

/* Whether a tensor's file in an index is a plain name of a safetensors file. */
static bool is_part_name(const char *name)
{
    return name && sv_path_is_name(name) && ends_with(name, ".safetensors");
}

/* Collects the names of the files in an index's weight_map, each once, in the order of their first
 * tensors. */
static svit_status list_parts(const char **names, size_t *count, const sv_json_value *map,
                              const char *path, svit_error *err)
{
    const sv_json_value *member = map + 1;
    *count = 0;
    for (size_t i = 0; i < map->count; i++, member = member->after) {
        const char *name = sv_json_text(member);
        size_t k = 0;
        if (!is_part_name(name))
            return sv_fail(err, SVIT_E_FORMAT,
                           "%s: the file of tensor '%.60s' is no name of a safetensors file%s",
                           path, member->key,
                           name && ends_with(name, ".bin")
                               ? "; in Python, from_pretrained and save_pretrained write one"
                               : "");
        while (k < *count && strcmp(names[k], name) != 0)
            k++;
        if (k == MAX_PARTS)
            return sv_fail(err, SVIT_E_FORMAT, "%s: more than %d files", path, MAX_PARTS);
        if (k == *count)
            names[(*count)++] = name;
    }
    return SVIT_OK;
}

/* Opens the files of an index, whose names lie in `names`. */
static svit_status open_parts(sv_open *open, const char *const *names, size_t count,
                              svit_error *err)
{
    const size_t folder = folder_bytes(open);
    char(*paths)[SV_OPEN_PATH];
    const char **list;
    SVIT_TRY(sv_allocate_array(open->allocator, (void **)&list, count + 1, sizeof *list,
                               "the paths of weights", err));
    svit_status status = sv_allocate_array(open->allocator, (void **)&paths, count + 1,
                                           sizeof *paths, "the paths of weights", err);
    if (status == SVIT_OK) {
        for (size_t i = 0; i < count && status == SVIT_OK; i++) {
            list[i] = paths[i];
            status = join(paths[i], open->weights, folder, names[i], err);
        }
        if (status == SVIT_OK)
            status =
                sv_safetensors_join(&open->file, open->allocator, open->weights, list, count, err);
        sv_release(open->allocator, paths, (count + 1) * sizeof *paths);
    }
    sv_release(open->allocator, list, (count + 1) * sizeof *list);
    return status;
}

/* Opens the weights that model.safetensors.index.json lists. */
static svit_status open_index(sv_open *open, svit_error *err)
{
    void *text = NULL;
    size_t bytes, count = 0;
    sv_json *json = NULL;
    const char **names;
    SVIT_TRY(sv_allocate_array(open->allocator, (void **)&names, MAX_PARTS, sizeof *names,
                               "the names of weights", err));
    svit_status status =
        sv_file_read(&text, &bytes, open->allocator, open->weights, SIDE_LIMIT, err);
    if (status == SVIT_OK)
        status = sv_json_parse_object(&json, open->allocator, text, bytes, open->weights, err);
    if (status == SVIT_OK) {
        const sv_json_value *map = sv_json_get(sv_json_root(json), "weight_map");
        status = map && map->kind == SV_JSON_OBJECT && map->count > 0
                     ? list_parts(names, &count, map, open->weights, err)
                     : sv_fail(err, SVIT_E_FORMAT, "%s has no weight_map", open->weights);
        if (status == SVIT_OK)
            status = open_parts(open, names, count, err);
    }
    sv_json_free(json);
    if (text)
        sv_release(open->allocator, text, bytes + 1);
    sv_release(open->allocator, names, MAX_PARTS * sizeof *names);
    return status;
}

/* Opens a file of weights. Of a zip archive its name tells whether PyTorch wrote it. */
static svit_status open_file(sv_open *open, svit_error *err)
{
    static const char *const endings[] = {".pt", ".pth", ".bin", ".ckpt"};
    const svit_status status =
        sv_safetensors_open(&open->file, open->allocator, open->weights, err);
    if (status != SVIT_E_FORMAT || !err || !strstr(err->message, "torch.save"))
        return status;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends_with(open->weights, endings[i]))
            return fail_pickle(open, status, err);
    return status;
}

/* Opens the weights and the files beside them. */
static svit_status open_weights(sv_open *open, svit_error *err)
{
    if (sv_is_folder(open->path))
        SVIT_TRY(find_weights(open, err));
    else
        SVIT_TRY(join(open->weights, "", 0, open->path, err));
    if (ends_with(open->weights, ".index.json"))
        SVIT_TRY(open_index(open, err));
    else
        SVIT_TRY(open_file(open, err));
    for (size_t i = 0; i < SV_SIDE_ADAPTER; i++)
        SVIT_TRY(read_side(open, i, err));
    return SVIT_OK;
}

svit_status sv_open_files(sv_open *open, const char *base, svit_error *err)
{
    if (sv_is_folder(open->path)) {
        char *path = open->adapter_path;
        SVIT_TRY(join(path, open->path, strlen(open->path), "adapter_model.safetensors", err));
        if (sv_is_absent(path))
            path[0] = '\0';
        memcpy(open->weights, path, strlen(path) + 1);
    }
    if (open->adapter_path[0] != '\0') {
        for (size_t i = SV_SIDE_ADAPTER; i < SV_SIDE_FILES; i++)
            SVIT_TRY(read_side(open, i, err));
        if (!open->side[SV_SIDE_ADAPTER].json)
            return sv_fail(err, SVIT_E_IO, "%s: adapter_config.json is not beside it",
                           open->adapter_path);
        SVIT_TRY(sv_open_adapter(open, base, err));
    }
    return open_weights(open, err);
}

void sv_open_close(sv_open *open)
{
    for (size_t i = 0; i < SV_SIDE_FILES; i++) {
        sv_side_file *side = &open->side[i];
        sv_json_free(side->json);
        if (side->text)
            sv_release(open->allocator, side->text, side->bytes + 1);
    }
    sv_safetensors_close(open->file);
}
