/* The files of a checkpoint: the weights, and the JSON files that lie beside them. */
#include "base/files/file.h"
#include "models/open/open_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A configuration with the names of 21,000 classes has less than this. */
enum { SIDE_LIMIT = 16 << 20 };

static const char *const SIDE_NAMES[SV_SIDE_FILES] = {[SV_SIDE_CONFIG] = "config.json",
                                                      [SV_SIDE_PREPROCESSOR] =
                                                          "preprocessor_config.json",
                                                      [SV_SIDE_OPENCLIP] = "open_clip_config.json",
                                                      [SV_SIDE_ADAPTER] = "adapter_config.json"};

/* The names under which libraries save weights, the first that is there counts. */
static const char *const WEIGHTS[] = {"best.safetensors", "model.safetensors",
                                      "open_clip_model.safetensors", "checkpoint.safetensors"};

static bool is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static svit_status join(char out[SV_OPEN_PATH], const char *folder, size_t bytes, const char *name,
                        svit_error *err)
{
    if (snprintf(out, SV_OPEN_PATH, "%.*s%s%s", (int)bytes, folder, bytes > 0 ? "/" : "", name) >=
        SV_OPEN_PATH)
        return sv_fail(err, SVIT_E_ARGUMENT, "the path of %s is too long; it has at most %d bytes",
                       name, SV_OPEN_PATH - 1);
    return SVIT_OK;
}

/* Finds the weights in a folder. */
static svit_status find_weights(sv_open *open, svit_error *err)
{
    static const char *const pickles[] = {"pytorch_model.bin", "open_clip_pytorch_model.bin",
                                          "adapter_model.bin"};
    const size_t bytes = strlen(open->path);
    for (size_t i = 0; i < sizeof WEIGHTS / sizeof *WEIGHTS; i++) {
        SVIT_TRY(join(open->weights, open->path, bytes, WEIGHTS[i], err));
        if (!sv_is_absent(open->weights))
            return SVIT_OK;
    }
    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
        SVIT_TRY(join(open->weights, open->path, bytes, pickles[i], err));
        if (!sv_is_absent(open->weights))
            return sv_fail(err, SVIT_E_UNSUPPORTED,
                           "%s is a Python pickle; in Python: safetensors.torch.save_file("
                           "torch.load('%s'), 'model.safetensors')",
                           open->weights, pickles[i]);
    }
    return sv_fail(
        err, SVIT_E_IO,
        "%s: the folder holds no weights; model.safetensors, open_clip_model.safetensors "
        "and the files of a training run are accepted",
        open->path);
}

/* Reads the JSON file `which` beside the weights, if it is there. */
static svit_status read_side(sv_open *open, size_t which, svit_error *err)
{
    sv_side_file *side = &open->side[which];
    const char *slash = strrchr(open->weights, '/');
    char path[SV_OPEN_PATH];
    side->name = SIDE_NAMES[which];
    SVIT_TRY(
        join(path, open->weights, slash ? (size_t)(slash - open->weights) : 0, side->name, err));
    if (sv_is_absent(path))
        return SVIT_OK;
    SVIT_TRY(sv_file_read(&side->text, &side->bytes, open->allocator, path, SIDE_LIMIT, err));
    return sv_json_parse_object(&side->json, open->allocator, side->text, side->bytes, path, err);
}

svit_status sv_open_files(sv_open *open, svit_error *err)
{
    if (is_folder(open->path))
        SVIT_TRY(find_weights(open, err));
    else
        SVIT_TRY(join(open->weights, "", 0, open->path, err));
    SVIT_TRY(sv_safetensors_open(&open->file, open->allocator, open->weights, err));
    for (size_t i = 0; i < SV_SIDE_FILES; i++)
        SVIT_TRY(read_side(open, i, err));
    return SVIT_OK;
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
