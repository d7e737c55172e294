/* The results that a finished run has left in its folder: its model and its curves. */
#include "outputs/old_model.h"

#include <stdio.h>

svit_status old_model_find(old_model *out, struct program *self, const char *folder)
{
    *out = (old_model){0};
    for (size_t i = 0; i < RUN_RESULT_FILES; i++) {
        TRY(path_join(self, out->results[i], folder, run_result_files[i]));
        out->is_there = out->is_there || path_exists(out->results[i]);
    }
    TRY(path_join(self, out->checkpoint, folder, RUN_CHECKPOINT_FILE));
    if (stat(out->checkpoint, &out->before) != 0)
        out->before = (struct stat){0};
    return SVIT_OK;
}

/* Checkpoints are replaced as whole files, so a new one is another file. A folder of that name is
 * no result, and remove() would take it. */
void old_model_outdate(old_model *self)
{
    struct stat now;
    if (!self->is_there || stat(self->checkpoint, &now) != 0)
        return;
    if (now.st_ino == self->before.st_ino && now.st_mtime == self->before.st_mtime &&
        now.st_size == self->before.st_size)
        return;
    for (size_t i = 0; i < RUN_RESULT_FILES; i++)
        if (!path_is_folder(self->results[i]))
            remove(self->results[i]);
    self->is_there = 0;
}
