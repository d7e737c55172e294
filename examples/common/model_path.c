/* Where --model takes a file, it takes a training run's folder as well. */
#include "model_path.h"

#include "shown.h"

#include <stdio.h>

svit_status model_path(struct program *self, char *path, const char *given)
{
    static const char *const files[] = {"best.safetensors", "model.safetensors",
                                        "checkpoint.safetensors"};
    char shown[SHOWN_CAPACITY];
    if (!path_is_folder(given)) {
        if (snprintf(path, PATH_CAPACITY, "%s", given) >= PATH_CAPACITY)
            return program_fail(self, SVIT_E_ARGUMENT, "--model: the path is too long");
        return SVIT_OK;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        TRY(path_join(self, path, given, files[i]));
        if (!path_exists(path))
            continue;
        if (!self->quiet)
            fprintf(stderr, "the model is %s\n", shown_text(shown, path));
        return SVIT_OK;
    }
    return program_fail(self, SVIT_E_IO,
                        "--model: the folder '%s' holds no best.safetensors, model.safetensors or "
                        "checkpoint.safetensors",
                        shown_text(shown, given));
}

int model_path_is_run(const char *folder)
{
    static const char *const files[] = {"run.json", "checkpoint.safetensors", "history.csv"};
    char path[PATH_CAPACITY];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (length < PATH_CAPACITY && path_exists(path))
            return 1;
    }
    return 0;
}
