/* Checks, before any work, that what a program writes replaces nothing that it reads. */
#include "outputs/output_check.h"

#include "data/data_option.h"
#include "models/model_files.h"
#include "outputs/drawn_picture.h"
#include "program/path_text.h"
#include "training/run_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

svit_status output_check(struct program *self, const char *out_name, const char *out,
                         const char *other_name, const char *other)
{
    if (!path_is_same(out, other))
        return SVIT_OK;
    return program_fail(self, SVIT_E_ARGUMENT,
                        "%s: '%s' is the file of %s, which would be lost; another name is needed",
                        out_name, out, other_name);
}

/* Fails if something is there that svit_file_replace would refuse. */
static svit_status check_kind(struct program *self, const char *out_name, const char *out)
{
    struct stat found;
    if (lstat(out, &found) != 0)
        return SVIT_OK; /* nothing is there */
    if (stat(out, &found) != 0)
        return program_fail(self, SVIT_E_IO,
                            "%s: cannot write '%s': it is a symbolic link to what is not there; no "
                            "link, or a link to what exists, is accepted",
                            out_name, out);
    if (S_ISREG(found.st_mode))
        return SVIT_OK;
    return program_fail(self, SVIT_E_IO,
                        S_ISDIR(found.st_mode) ? "%s: '%s' is a folder; a file is needed"
                                               : "%s: '%s' is a pipe or a device; a file is needed",
                        out_name, out);
}

static svit_status check_place(struct program *self, const char *out_name, const char *out)
{
    char folder[PATH_CAPACITY];
    if (!out)
        return SVIT_OK;
    TRY(check_kind(self, out_name, out));
    path_split(folder, out);
    return access(folder, W_OK) == 0 ? SVIT_OK
                                     : program_fail(self, SVIT_E_IO, "%s: cannot write to '%s': %s",
                                                    out_name, folder, strerror(errno));
}

/* Whether a path is that of a file of a run, by which the run goes on or is tested. `may_be` may be
 * its last weights, which no run reads again. */
static int is_of_run(const char *path, const char *may_be)
{
    static const char *const FILES[] = {RUN_CHECKPOINT_FILE, "best.safetensors", RUN_MODEL_FILE,
                                        "history.csv"};
    char folder[PATH_CAPACITY];
    const char *name = path_split(folder, path);
    const int may_be_it = strcmp(name, RUN_MODEL_FILE) == 0 && path_is_same(path, may_be);
    for (size_t i = 0; !may_be_it && i < sizeof FILES / sizeof *FILES; i++)
        if (strcmp(name, FILES[i]) == 0 && path_is_run(folder))
            return 1;
    return 0;
}

/* Fails if `out` is a file of a run, or a link to one, which writing follows. A file of a run may
 * be a link itself. */
static svit_status check_run(struct program *self, const char *out_name, const char *out,
                             const char *may_be)
{
    char *whole = out ? realpath(out, NULL) : NULL;
    if (!whole)
        return SVIT_OK; /* nothing is there */
    const int is_one = is_of_run(out, may_be) || is_of_run(whole, may_be);
    free(whole);
    return is_one ? program_fail(self, SVIT_E_ARGUMENT,
                                 "%s: '%s' belongs to the run in its folder, which would lose it; "
                                 "another name is needed",
                                 out_name, out)
                  : SVIT_OK;
}

svit_status output_check_place(struct program *self, const char *out_name, const char *out)
{
    TRY(check_place(self, out_name, out));
    return check_run(self, out_name, out, NULL);
}

svit_status output_check_drawn(struct program *self, const char *out_name, const char *out,
                               const char *accepted)
{
    struct stat found;
    TRY(check_kind(self, out_name, out));
    if (stat(out, &found) != 0 || found.st_size == 0 || picture_is_drawn(out))
        return SVIT_OK;
    return program_fail(self, SVIT_E_ARGUMENT,
                        "%s: '%s' exists and is no picture that these programs, from version 0.4 "
                        "on, have drawn; %s",
                        out_name, out, accepted);
}

svit_status output_check_picture(struct program *self, const char *out_name, const char *out)
{
    TRY(check_place(self, out_name, out));
    return out ? output_check_drawn(self, out_name, out, "another name is needed") : SVIT_OK;
}

/* Whether a file is empty, or begins as safetensors (a length and an object) or ONNX (the version
 * of its form, 6 to 11, and the name of its producer) do. */
static int is_of_kind(const char *path, const char *ending)
{
    unsigned char begin[9] = {0};
    FILE *file = fopen(path, "rb");
    const size_t bytes = file ? fread(begin, 1, sizeof begin, file) : 1;
    if (file)
        fclose(file);
    if (bytes == 0 || has_ending(path, ending))
        return 1;
    if (strcmp(ending, ".onnx") == 0)
        return begin[0] == 0x08 && begin[1] >= 6 && begin[1] <= 11 && begin[2] == 0x12;
    return bytes == sizeof begin && begin[8] == '{';
}

svit_status output_check_replaced(struct program *self, const char *out_name, const char *out,
                                  const char *ending, const char *may_be)
{
    struct stat found;
    if (!out)
        return SVIT_OK;
    TRY(check_place(self, out_name, out));
    if (stat(out, &found) == 0 && S_ISREG(found.st_mode) && !is_of_kind(out, ending))
        return program_fail(self, SVIT_E_ARGUMENT,
                            "%s: '%s' is there and is no %s file; such a file, or a new one, is "
                            "accepted",
                            out_name, out, ending);
    /* A model in one file may be replaced as a whole; a part of it may not. */
    if (may_be && model_files_role(may_be, out) != MODEL_FILE_WHOLE)
        TRY(output_check_model(self, out_name, out, may_be));
    return check_run(self, out_name, out, may_be);
}

svit_status output_check_data(struct program *self, const char *out_name, const char *out,
                              const char *spec)
{
    static const char *const BESIDE[] = {"val.csv", "test.csv"};
    char folder[PATH_CAPACITY], path[PATH_CAPACITY];
    const char *read = spec ? data_spec_path(spec) : NULL;
    if (!out || !read)
        return SVIT_OK;
    TRY(output_check(self, out_name, out, "--data", read));
    if (strcmp(path_split(folder, read), "train.csv") != 0)
        return SVIT_OK;
    for (size_t i = 0; i < sizeof BESIDE / sizeof *BESIDE; i++) {
        TRY(path_join(self, path, folder, BESIDE[i]));
        TRY(output_check(self, out_name, out, "a split of --data", path));
    }
    return SVIT_OK;
}

svit_status output_check_source(struct program *self, const char *out_name, const char *out,
                                const char *source_name, const char *source)
{
    const int role = source && out ? model_files_role(source, out) : MODEL_FILE_OTHER;
    if (role == MODEL_FILE_OTHER)
        return SVIT_OK;
    return program_fail(
        self, SVIT_E_ARGUMENT,
        role == MODEL_FILE_WHOLE
            ? "%s: '%s' is the file of %s, which would be lost; another name is needed"
            : "%s: '%s' is a file that %s is read from, which would be lost; another "
              "name is needed",
        out_name, out, source_name);
}

svit_status output_check_run(struct program *self, const char *folder, int tensorboard)
{
    static const char *const FILES[] = {RUN_CHECKPOINT_FILE, "best.safetensors", "history.csv",
                                        "run.json",          RUN_MODEL_FILE,     RUN_CURVES_FILE,
                                        RUN_EVENTS_FILE};
    const size_t count = sizeof FILES / sizeof *FILES - (tensorboard ? 0 : 1);
    char path[PATH_CAPACITY];
    for (size_t i = 0; i < count; i++) {
        TRY(path_join(self, path, folder, FILES[i]));
        TRY(check_kind(self, "--out", path));
    }
    TRY(path_join(self, path, folder, RUN_CURVES_FILE));
    return path_is_run(folder) /* the curves of old runs have no mark */
               ? SVIT_OK
               : output_check_drawn(self, "--out", path,
                                    "the run draws its curves there, so the file has to be moved");
}

/* The folder itself is refused too: with the run's files in it, its name stands for their model. */
svit_status output_check_start(struct program *self, const char *folder, const char *source_name,
                               const char *source)
{
    static const char *const FILES[] = {RUN_CHECKPOINT_FILE, "best.safetensors", RUN_MODEL_FILE};
    char path[PATH_CAPACITY];
    int is_lost = source && path_is_folder(source) && path_is_same(folder, source);
    for (size_t i = 0; source && i < sizeof FILES / sizeof *FILES; i++) {
        TRY(path_join(self, path, folder, FILES[i]));
        is_lost |= model_files_role(source, path) != MODEL_FILE_OTHER;
    }
    return is_lost ? program_fail(self, SVIT_E_ARGUMENT,
                                  "--out: '%s' has the model of %s, which the run would replace; "
                                  "another folder is needed",
                                  folder, source_name)
                   : SVIT_OK;
}

svit_status output_check_model(struct program *self, const char *out_name, const char *out,
                               const char *model)
{
    return output_check_source(self, out_name, out, "--model", model);
}

svit_status output_check_images(struct program *self, const char *out_name, const char *out,
                                const svit_dataset *images)
{
    char path[PATH_CAPACITY];
    if (!out || !path_exists(out))
        return SVIT_OK;
    for (size_t i = 0; i < svit_dataset_count(images); i++) {
        TRY(svit_dataset_path(images, i, path, sizeof path, NULL, &self->err));
        TRY(output_check(self, out_name, out, "an image that is read", path[0] ? path : NULL));
    }
    return SVIT_OK;
}
