/* The folder of a run: its lock, and the files of another run that it may hold.
 *
 * A run writes its checkpoint first, before it has a best epoch or a history, and then its other
 * files, or replaces and removes those of another run. Before that checkpoint the folder is as it
 * was, without a run or with the whole old one; after it the new run can be resumed from the
 * checkpoint alone. If the process is killed in between, the checkpoint is that of a run without
 * rows, and the first step after its resume removes the remaining files of the old run. */
#include "trainer/checkpoint/checkpoint.h"

#include "base/files/file.h"

#include <stdio.h>
#include <string.h>

static const char *const RUN_FILES[] = {SV_TRAINER_CHECKPOINT_FILE, SV_TRAINER_BEST_FILE,
                                        SV_TRAINER_HISTORY_FILE, SV_TRAINER_RUN_FILE};

const char *sv_trainer_path(char out[SV_TRAINER_PATH], const svit_trainer *trainer,
                            const char *name)
{
    snprintf(out, SV_TRAINER_PATH, "%s%s/%s", trainer->home, trainer->config.folder, name);
    return out;
}

/* Finds the first file of a run that is in the folder; NULL if there is none. */
static svit_status find_run(const char **out, const svit_trainer *trainer, svit_error *err)
{
    *out = NULL;
    for (size_t i = 0; !*out && i < sizeof RUN_FILES / sizeof *RUN_FILES; i++) {
        bool found;
        SVIT_TRY(sv_folder_lock_find(&found, trainer->lock, RUN_FILES[i], err));
        *out = found ? RUN_FILES[i] : NULL;
    }
    return SVIT_OK;
}

/* Fails because the folder holds a run, of which `file` was found. The message has the completed
 * epochs if the checkpoint can be read. */
static svit_status refuse(const svit_trainer *trainer, const char *file, svit_error *err)
{
    char path[SV_TRAINER_PATH], done[40] = "";
    svit_checkpoint *checkpoint = NULL;
    sv_trainer_path(path, trainer, SV_TRAINER_CHECKPOINT_FILE);
    if (svit_checkpoint_open(&checkpoint, trainer->context, path, NULL) == SVIT_OK) {
        const char *epochs = svit_checkpoint_value(checkpoint, SV_TRAINER_EPOCH_KEY);
        if (epochs)
            snprintf(done, sizeof done, ", %.10s epochs done", epochs);
    }
    svit_checkpoint_free(checkpoint);
    return sv_fail(err, SVIT_E_STATE,
                   "'%.100s' holds a run (%s%s); set svit_trainer_config.existing to "
                   "SVIT_EXISTING_RESUME to go on with it or SVIT_EXISTING_OVERWRITE to replace it",
                   trainer->config.folder, file, done);
}

bool sv_trainer_writes(const svit_trainer *trainer)
{
    return trainer->config.folder && sv_ranks_writes(&trainer->ranks);
}

svit_status sv_trainer_folder_open(svit_trainer *trainer, svit_error *err)
{
    if (!sv_trainer_writes(trainer))
        return SVIT_OK;
    SVIT_TRY(
        svit_folder_lock_create(&trainer->lock, trainer->context, trainer->config.folder, err));
    const char *file;
    SVIT_TRY(find_run(&file, trainer, err));
    if (file && trainer->config.existing == SVIT_EXISTING_REFUSE)
        return refuse(trainer, file, err);
    trainer->has_other_run = file != NULL;
    return SVIT_OK;
}

svit_status sv_trainer_folder_check(const svit_trainer *trainer, svit_error *err)
{
    SVIT_TRY(svit_context_check(trainer->context, err));
    if (trainer->has_other_run && trainer->config.existing == SVIT_EXISTING_RESUME)
        return sv_fail(err, SVIT_E_STATE,
                       "'%.100s' holds a run and existing is SVIT_EXISTING_RESUME: "
                       "no step is made before svit_trainer_resume has succeeded",
                       trainer->config.folder);
    return SVIT_OK;
}

/* Writes the description to run.json. A run without one removes the run.json of another run. */
static svit_status write_description(svit_trainer *trainer, svit_error *err)
{
    const char *text = trainer->config.description;
    if (!text)
        return trainer->has_other_run || (trainer->resumed && trainer->progress.rows == 0)
                   ? svit_folder_lock_remove(trainer->lock, SV_TRAINER_RUN_FILE, err)
                   : SVIT_OK;
    char path[SV_TRAINER_PATH];
    return sv_file_replace(&trainer->context->allocator,
                           sv_trainer_path(path, trainer, SV_TRAINER_RUN_FILE), text, strlen(text),
                           err);
}

svit_status sv_trainer_folder_settle(svit_trainer *trainer, svit_error *err)
{
    if (trainer->is_settled)
        return SVIT_OK;
    if (trainer->resumed && sv_trainer_best_is_last(&trainer->progress))
        SVIT_TRY(sv_trainer_best_save(trainer, err));
    if (trainer->progress.best_epoch == 0)
        SVIT_TRY(svit_folder_lock_remove(trainer->lock, SV_TRAINER_BEST_FILE, err));
    if (trainer->progress.rows == 0) {
        SVIT_TRY(svit_folder_lock_remove(trainer->lock, SV_TRAINER_HISTORY_FILE, err));
        if (trainer->has_other_run || trainer->resumed)
            SVIT_TRY(svit_folder_lock_remove(trainer->lock, SV_TRAINER_EVENTS_FILE, err));
    }
    SVIT_TRY(write_description(trainer, err));
    trainer->has_other_run = false;
    trainer->is_settled = true;
    return SVIT_OK;
}
