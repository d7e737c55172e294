/* The folder of a run: claimed for the trainer's life, and what another run has left in it.
 *
 * A new run that replaces another one writes its checkpoint first, before it has a best epoch or a
 * history, and changes the other files afterwards: until then the old run is whole, and from then
 * on the new one can be resumed without any other file. What is left over after a process was
 * killed in between is removed after the next checkpoint. */
#include "trainer/trainer_internal.h"

#include <string.h>

static const char *const RUN_FILES[] = {SV_TRAINER_CHECKPOINT_FILE, SV_TRAINER_BEST_FILE,
                                        SV_TRAINER_HISTORY_FILE, SV_TRAINER_RUN_FILE};

/* The first file of a run that is in the folder; NULL: none. */
static const char *find_run(const svit_trainer *trainer)
{
    for (size_t i = 0; i < sizeof RUN_FILES / sizeof *RUN_FILES; i++)
        if (svit_folder_lock_has(trainer->claim, RUN_FILES[i]))
            return RUN_FILES[i];
    return NULL;
}

/* ", 3 epochs done" of a checkpoint that can be read; else nothing. */
static void add_epochs(sv_trainer_text *text, const svit_trainer *trainer, svit_error *err)
{
    sv_trainer_text path = {.context = trainer->context};
    svit_checkpoint *checkpoint = NULL;
    if (sv_trainer_path(&path, trainer->config.folder, SV_TRAINER_CHECKPOINT_FILE, err) ==
            SVIT_OK &&
        svit_checkpoint_open(&checkpoint, trainer->context, path.data, err) == SVIT_OK) {
        const char *epochs = svit_checkpoint_value(checkpoint, SV_TRAINER_EPOCH_KEY);
        if (epochs)
            sv_trainer_text_add(text, ", %.10s epochs done", epochs);
    }
    svit_checkpoint_free(checkpoint);
    sv_trainer_text_free(&path);
}

static svit_status refuse(const svit_trainer *trainer, const char *file, svit_error *err)
{
    sv_trainer_text epochs = {.context = trainer->context};
    add_epochs(&epochs, trainer, NULL);
    svit_status status = sv_trainer_fail(
        err, SVIT_E_STATE,
        "'%.100s' holds a run (%s%s); set svit_trainer_config.existing to SVIT_EXISTING_RESUME to "
        "go on with it or SVIT_EXISTING_OVERWRITE to replace it",
        trainer->config.folder, file, epochs.length ? epochs.data : "");
    sv_trainer_text_free(&epochs);
    return status;
}

svit_status sv_trainer_folder_open(svit_trainer *trainer, svit_error *err)
{
    if (!trainer->config.folder)
        return SVIT_OK;
    TRAINER_TRY(
        svit_folder_lock_create(&trainer->claim, trainer->context, trainer->config.folder, err));
    const char *file = find_run(trainer);
    if (file && trainer->config.existing == SVIT_EXISTING_REFUSE)
        return refuse(trainer, file, err);
    trainer->has_other_run = file != NULL;
    return SVIT_OK;
}

svit_status sv_trainer_folder_check(const svit_trainer *trainer, svit_error *err)
{
    TRAINER_TRY(svit_context_check(trainer->context, err));
    if (trainer->has_other_run && trainer->config.existing == SVIT_EXISTING_RESUME)
        return sv_trainer_fail(err, SVIT_E_STATE,
                               "'%.100s' holds a run and existing is SVIT_EXISTING_RESUME: "
                               "svit_trainer_resume comes before the first step",
                               trainer->config.folder);
    return SVIT_OK;
}

/* run.json is this run's description, or is none where another run's was. */
static svit_status write_description(svit_trainer *trainer, svit_error *err)
{
    const char *text = trainer->config.description;
    if (!text)
        return trainer->has_other_run
                   ? svit_folder_lock_remove(trainer->claim, SV_TRAINER_RUN_FILE, err)
                   : SVIT_OK;
    sv_trainer_text path = {.context = trainer->context};
    TRAINER_TRY(sv_trainer_path(&path, trainer->config.folder, SV_TRAINER_RUN_FILE, err));
    svit_status status = svit_file_replace(path.data, text, strlen(text), err);
    sv_trainer_text_free(&path);
    return status;
}

svit_status sv_trainer_folder_settle(svit_trainer *trainer, svit_error *err)
{
    if (trainer->is_settled)
        return SVIT_OK;
    if (trainer->progress.best_epoch == 0)
        TRAINER_TRY(svit_folder_lock_remove(trainer->claim, SV_TRAINER_BEST_FILE, err));
    if (trainer->progress.rows == 0)
        TRAINER_TRY(svit_folder_lock_remove(trainer->claim, SV_TRAINER_HISTORY_FILE, err));
    TRAINER_TRY(write_description(trainer, err));
    trainer->has_other_run = 0;
    trainer->is_settled = 1;
    return SVIT_OK;
}
