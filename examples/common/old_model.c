/* The model that a finished run has left in its folder. */
#include "old_model.h"

#include "run_file.h"

#include <stdio.h>

svit_status old_model_find(old_model *out, struct program *self, const char *folder)
{
    *out = (old_model){0};
    TRY(path_join(self, out->model, folder, RUN_MODEL_FILE));
    TRY(path_join(self, out->checkpoint, folder, RUN_CHECKPOINT_FILE));
    out->is_there = path_exists(out->model);
    if (stat(out->checkpoint, &out->before) != 0)
        out->before = (struct stat){0};
    return SVIT_OK;
}

/* Checkpoints are replaced as whole files, so a new one is another file. */
void old_model_outdate(old_model *self)
{
    struct stat now;
    if (!self->is_there || stat(self->checkpoint, &now) != 0)
        return;
    if (now.st_ino == self->before.st_ino && now.st_mtime == self->before.st_mtime &&
        now.st_size == self->before.st_size)
        return;
    remove(self->model);
    self->is_there = 0;
}
