/* Resumes a run from its checkpoint: reads and checks everything first, then restores it. */
#include "base/threads/fp_env.h"
#include "optim/schedule.h"
#include "session/checkpoint/checkpoint_frozen.h"
#include "session/optimizer_handle.h"
#include "session/session.h"
#include "trainer/checkpoint/checkpoint.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Fails unless the saved setting is that of `trainer`. */
static svit_status check_setting(const sv_trainer_entry *entry, const svit_trainer *trainer,
                                 const char *saved, svit_error *err)
{
    char present[SV_TRAINER_VALUE];
    sv_trainer_entry_print(present, entry, trainer);
    return strcmp(saved, present) == 0 ? SVIT_OK
                                       : sv_trainer_setting_differs(entry, saved, present, err);
}

/* Whether the run ends later by the setting of `trainer`, a number of epochs of which 0 is no end,
 * than by the saved one. */
static bool ends_later(const sv_trainer_entry *entry, const svit_trainer *trainer,
                       const char *saved)
{
    uint64_t before;
    uint32_t now;
    memcpy(&now, (const char *)trainer + entry->offset, sizeof now);
    return sv_trainer_read_digits(&before, saved, 10) && before > 0 && (now == 0 || now > before);
}

/* Whether a setting may be another one than the saved one. */
static bool may_differ(const sv_trainer_entry *entry, const svit_trainer *trainer,
                       const char *saved, bool extends)
{
    if (entry->change == SV_CHANGE_TO_LAST)
        return trainer->config.keep == SVIT_KEEP_LAST;
    return (extends && entry->change != SV_CHANGE_NONE) ||
           (entry->change == SV_CHANGE_LATER && ends_later(entry, trainer, saved));
}

/* Reads one value of the progress into `into`: decimal digits, or the bits of a real number. */
static svit_status read_state(const sv_trainer_entry *entry, svit_trainer *into, const char *saved,
                              svit_error *err)
{
    uint64_t value;
    if (!sv_trainer_read_digits(&value, saved, entry->kind == SV_ENTRY_F64 ? 16 : 10))
        return sv_fail(err, SVIT_E_FORMAT, "the checkpoint's entry '%s' is '%.40s'", entry->key,
                       saved);
    memcpy((char *)into + entry->offset, &value, sizeof value);
    return SVIT_OK;
}

/* sv_progress.early where the checkpoint has no such entry. */
#define NOT_SAVED UINT64_MAX

/* Counts the smaller images of a run by an older library, which did not. */
static void count_early(svit_trainer *copy, const svit_checkpoint *checkpoint)
{
    sv_progress *at = &copy->progress;
    const uint64_t first = sv_trainer_saved_early(copy, checkpoint) * copy->training_count;
    const uint64_t images = at->epoch * copy->training_count + at->train.samples;
    at->early = images < first ? images : first;
}

static svit_status lacks_entry(const char *key, svit_error *err)
{
    return sv_fail(err, SVIT_E_FORMAT, "the checkpoint is not a trainer's: it has no entry '%s'",
                   key);
}

/* Checks the settings against those of `copy`, a copy of the trainer, and reads the state into
 * it. */
static svit_status read_entries(const svit_checkpoint *checkpoint, svit_trainer *copy,
                                svit_error *err)
{
    bool extends = sv_trainer_extends(copy, checkpoint);
    copy->progress.early = NOT_SAVED;
    for (size_t i = 0; i < sv_trainer_entry_count; i++) {
        const sv_trainer_entry *entry = &sv_trainer_entries[i];
        const char *saved = svit_checkpoint_value(checkpoint, entry->key);
        if (!saved && (entry->kind == SV_ENTRY_FINGERPRINT || entry->kind == SV_ENTRY_LATER))
            continue;
        if (!saved)
            return lacks_entry(entry->key, err);
        if (entry->is_state)
            SVIT_TRY(read_state(entry, copy, saved, err));
        else if (!may_differ(entry, copy, saved, extends))
            SVIT_TRY(check_setting(entry, copy, saved, err));
    }
    if (copy->progress.early == NOT_SAVED)
        count_early(copy, checkpoint);
    return sv_trainer_check_progress(copy, &copy->progress, checkpoint, err);
}

/* The value of {"name":value}, which ends with the brace; {} has none. */
static const char *value_of(const char *json, const char *name)
{
    const size_t head = strlen("{\"\":") + strlen(name);
    return strlen(json) > head ? json + head : "none}";
}

/* SVIT_E_ARGUMENT, with the two values of a field. Of long ones it has what begins a little before
 * they differ. */
static svit_status differs(const char *noun, const char *name, const char *saved,
                           const char *present, svit_error *err)
{
    enum { BEFORE = 12, MOST = 40 };
    const char *a = value_of(saved, name), *b = value_of(present, name);
    size_t same = 0;
    while (a[same] == b[same])
        same++;
    const size_t from = same > BEFORE ? same - BEFORE : 0;
    const size_t of_a = strlen(a + from) - 1, of_b = strlen(b + from) - 1;
    const char *dots = from > 0 ? "..." : "";
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "%s: '%s' is %s%.*s%s in the checkpoint and %s%.*s%s here; a resumed run needs "
                   "the same",
                   noun, name, dots, (int)(of_a < MOST ? of_a : MOST), a + from,
                   of_a > MOST ? "..." : "", dots, (int)(of_b < MOST ? of_b : MOST), b + from,
                   of_b > MOST ? "..." : "");
}

/* SVIT_E_ARGUMENT if a field of two configurations differs. It is compared as JSON, since unused
 * bytes of a struct may differ. */
static svit_status check_field(const sv_field_table *table, const sv_field *field,
                               const void *saved, const void *present,
                               const sv_allocator *allocator, svit_error *err)
{
    const sv_field_table one = {
        .type = table->type, .noun = table->noun, .fields = field, .count = 1};
    sv_json_writer a = sv_json_writer_make(allocator), b = a;
    sv_fields_to_json(&one, saved, &a);
    sv_fields_to_json(&one, present, &b);
    svit_status status = sv_json_writer_status(a.status != SVIT_OK ? &a : &b, table->noun, err);
    if (status == SVIT_OK && strcmp(a.text, b.text) != 0)
        status = differs(table->noun, sv_field_key(field), a.text, b.text, err);
    sv_json_writer_free(&b);
    sv_json_writer_free(&a);
    return status;
}

/* SVIT_E_ARGUMENT, which names the first field that differs, unless two configurations have the
 * same fields. */
static svit_status check_same(const sv_field_table *table, const void *saved, const void *present,
                              const sv_allocator *allocator, svit_error *err)
{
    for (size_t i = 0; i < table->count; i++)
        SVIT_TRY(check_field(table, &table->fields[i], saved, present, allocator, err));
    return SVIT_OK;
}

/* Compares the pipelines. Fields that an older library did not save have their defaults. */
static svit_status check_pipeline(const svit_checkpoint *checkpoint, const svit_trainer *trainer,
                                  svit_error *err)
{
    const char *text = svit_checkpoint_value(checkpoint, SV_TRAINER_PIPELINE_KEY);
    svit_pipeline_config saved;
    if (!text)
        return lacks_entry(SV_TRAINER_PIPELINE_KEY, err);
    SVIT_TRY(svit_pipeline_config_from_json(&saved, sizeof saved, text, err));
    return check_same(&sv_pipeline_config_type.table, &saved, &trainer->pipeline,
                      &trainer->context->allocator, err);
}

/* Takes over settings that the schedule does not use. Their defaults were 1 in library 0.2. */
static void take_unused(svit_optimizer_config *to, const svit_optimizer_config *from)
{
    if (!sv_schedule_uses(to->schedule, SV_SCHEDULE_STEP_SIZE))
        to->step_size = from->step_size;
    if (!sv_schedule_uses(to->schedule, SV_SCHEDULE_RESTARTS))
        to->restart_steps = from->restart_steps;
}

/* Takes over the settings of the schedule, which an extension of the run may change. */
static void take_schedule(svit_optimizer_config *to, const svit_optimizer_config *from)
{
    to->schedule = from->schedule;
    to->learning_rate = from->learning_rate;
    to->adamw_learning_rate = from->adamw_learning_rate;
    to->lr_start = from->lr_start;
    to->warmup_steps = from->warmup_steps;
    to->total_steps = from->total_steps;
    to->step_size = from->step_size;
    to->step_factor = from->step_factor;
    to->restart_steps = from->restart_steps;
    to->restart_factor = from->restart_factor;
    to->point_count = from->point_count;
    memcpy(to->points, from->points, sizeof to->points);
}

/* Compares the settings of the optimisers. A checkpoint without their text is one of library 0.1,
 * whose optimisers have no other settings than the entries that were compared. */
static svit_status check_optimizer(const svit_checkpoint *checkpoint, const svit_trainer *copy,
                                   svit_error *err)
{
    const char *text = svit_checkpoint_value(checkpoint, SV_TRAINER_OPTIMIZER_KEY);
    svit_optimizer_config config;
    if (!text)
        return SVIT_OK;
    SVIT_TRY(svit_optimizer_config_from_json(&config, sizeof config, text, err));
    if (sv_trainer_extends(copy, checkpoint))
        take_schedule(&config, &copy->optimizer_config);
    take_unused(&config, &copy->optimizer_config);
    return check_same(&sv_optimizer_config_type.table, &config, &copy->optimizer_config,
                      &copy->context->allocator, err);
}

/* Compares loss, sampling, test-time augmentation, class weights, leaves and the window. A
 * checkpoint without their text is one of library 0.1, which had none of them. */
static svit_status check_objective(const svit_checkpoint *checkpoint, const svit_trainer *trainer,
                                   svit_error *err)
{
    char old[SV_TRAINER_OBJECTIVE], present[SV_TRAINER_OBJECTIVE];
    const char *saved = svit_checkpoint_value(checkpoint, SV_TRAINER_OBJECTIVE_KEY);
    sv_trainer_objective_text(old, &(svit_trainer_config){0}, 0);
    sv_trainer_objective_text(present, &trainer->config, trainer->objective.function != NULL);
    if (strcmp(saved ? saved : old, present) == 0)
        return SVIT_OK;
    return sv_trainer_objective_differs(saved ? saved : old, present, err);
}

/* Logs a warning if the checkpoint has no fingerprints to compare. */
static void warn_without_fingerprints(const svit_checkpoint *checkpoint,
                                      const svit_trainer *trainer)
{
    for (size_t i = 0; i < sv_trainer_entry_count; i++)
        if (sv_trainer_entries[i].kind == SV_ENTRY_FINGERPRINT &&
            !svit_checkpoint_value(checkpoint, sv_trainer_entries[i].key)) {
            sv_context_warn(
                trainer->context,
                "the checkpoint was written by an older library and has no fingerprints of "
                "its data; only the numbers of samples were compared");
            return;
        }
}

/* Reads the history and the best weights. They stay unused until `restore` sets the progress, so a
 * failure leaves the trainer as it was. */
static svit_status read_history(svit_trainer *trainer, const svit_checkpoint *checkpoint,
                                const sv_progress *at, svit_error *err)
{
    const char *history = svit_checkpoint_value(checkpoint, SV_TRAINER_HISTORY_KEY);
    SVIT_TRY(sv_trainer_history_unpack(trainer, history ? history : "", at->rows,
                                       sv_trainer_saved_early(trainer, checkpoint), err));
    SVIT_TRY(sv_trainer_check_history(trainer, at, err));
    return trainer->best && at->best_epoch && !sv_trainer_best_is_last(at)
               ? sv_trainer_best_load(trainer, err)
               : SVIT_OK;
}

/* Restores the run as `copy` describes it; sets the progress last. The optimiser is created anew if
 * its schedule has another length or warm-up, and optimiser and session are with `anew`. */
static svit_status restore(svit_trainer *trainer, const svit_checkpoint *checkpoint,
                           const svit_trainer *copy, bool anew, svit_error *err)
{
    svit_optimizer *optimizer = trainer->optimizer;
    svit_session *session = trainer->session;
    const svit_optimizer_config *config = &copy->optimizer_config;
    const bool is_other = config->total_steps != trainer->optimizer_config.total_steps ||
                          config->warmup_steps != trainer->optimizer_config.warmup_steps;
    svit_status status =
        svit_loader_seek(trainer->loader, copy->progress.epoch, copy->progress.position, err);
    if (status == SVIT_OK && (anew || is_other))
        status = sv_trainer_open_optimizer(trainer, &optimizer, config, err);
    if (status == SVIT_OK && anew)
        status = sv_trainer_open_session(trainer, trainer->session_is_early, &session, err);
    if (status == SVIT_OK)
        status = svit_checkpoint_restore(checkpoint, trainer->model, optimizer, session, err);
    const bool restored = status == SVIT_OK;
    if (optimizer != trainer->optimizer)
        svit_optimizer_free(restored ? trainer->optimizer : optimizer);
    if (session != trainer->session)
        svit_session_free(restored ? trainer->session : session);
    if (!restored) {
        svit_loader_seek(trainer->loader, 0, 0, NULL);
        return status;
    }
    trainer->optimizer = optimizer;
    trainer->optimizer_config = *config;
    trainer->schedule_epochs = copy->schedule_epochs;
    trainer->session = session;
    trainer->progress = copy->progress;
    if (trainer->best && sv_trainer_best_is_last(&trainer->progress))
        sv_trainer_best_take(trainer);
    return SVIT_OK;
}

/* Freezes in the model what the checkpoint's has, and restores the run with an optimiser and a
 * session for what it trains. After a failure the model is as it was. */
static svit_status restore_other(svit_trainer *trainer, const svit_checkpoint *checkpoint,
                                 const svit_trainer *copy, const sv_frozen_set *saved,
                                 svit_error *err)
{
    sv_frozen_set before = {0};
    svit_status status = sv_frozen_set_keep(&before, trainer->model, err);
    if (status == SVIT_OK) {
        sv_frozen_set_apply(saved, trainer->model);
        status = restore(trainer, checkpoint, copy, true, err);
    }
    if (status != SVIT_OK)
        sv_frozen_set_bring_back(&before, trainer->model);
    sv_frozen_set_free(&before, trainer->model);
    return status;
}

/* Whether the optimiser and the session of the trainer train what the run has trained. */
static bool trains_the_same(const svit_trainer *trainer, const sv_frozen_set *saved)
{
    return sv_frozen_set_check(saved, trainer->model, "", NULL) == SVIT_OK &&
           sv_optimizer_check_trainable(trainer->optimizer, NULL) == SVIT_OK &&
           sv_session_check_trainable(trainer->session, NULL) == SVIT_OK;
}

/* Restores the run, whose model may have frozen other parameters. */
static svit_status restore_run(svit_trainer *trainer, const svit_checkpoint *checkpoint,
                               const svit_trainer *copy, svit_error *err)
{
    sv_frozen_set saved;
    svit_status status = sv_frozen_set_of_checkpoint(&saved, trainer->model, checkpoint, err);
    if (status == SVIT_OK)
        status = trains_the_same(trainer, &saved)
                     ? restore(trainer, checkpoint, copy, false, err)
                     : restore_other(trainer, checkpoint, copy, &saved, err);
    sv_frozen_set_free(&saved, trainer->model);
    return status;
}

/* Checks the checkpoint against the trainer and restores it. Settings and progress are read into a
 * copy of the trainer, so that a trainer whose checkpoint is refused is unchanged. */
static svit_status resume_from(svit_trainer *trainer, const svit_checkpoint *checkpoint,
                               svit_error *err)
{
    svit_trainer copy = *trainer;
    SVIT_TRY(sv_trainer_adopt_schedule(&copy, checkpoint, err));
    /* Before the progress, whose counters depend on the leaves. */
    SVIT_TRY(check_objective(checkpoint, trainer, err));
    SVIT_TRY(read_entries(checkpoint, &copy, err));
    SVIT_TRY(check_optimizer(checkpoint, &copy, err));
    SVIT_TRY(check_pipeline(checkpoint, trainer, err));
    SVIT_TRY(read_history(trainer, checkpoint, &copy.progress, err));
    const char *description = trainer->config.description;
    if (!description)
        SVIT_TRY(sv_trainer_copy_text(&description, trainer,
                                      svit_checkpoint_value(checkpoint, SV_TRAINER_DESCRIPTION_KEY),
                                      err));
    svit_status status = restore_run(trainer, checkpoint, &copy, err);
    if (status == SVIT_OK)
        trainer->config.description = description;
    else if (!trainer->config.description)
        sv_release_text(&trainer->context->allocator, (char *)description);
    return status;
}

static svit_status resume(svit_trainer *trainer, svit_error *err)
{
    SVIT_TRY(svit_context_check(trainer->context, err));
    if (!trainer->config.folder)
        return sv_fail(err, SVIT_E_STATE,
                       "the trainer has no folder to resume from; set "
                       "svit_trainer_config.folder");
    if (trainer->started)
        return sv_fail(err, SVIT_E_STATE,
                       "the run has begun; svit_trainer_resume comes before the first step");
    if (trainer->has_other_run && trainer->config.existing == SVIT_EXISTING_OVERWRITE)
        return sv_fail(err, SVIT_E_STATE,
                       "existing is SVIT_EXISTING_OVERWRITE, which replaces the run in "
                       "'%.100s'; SVIT_EXISTING_RESUME continues it",
                       trainer->config.folder);
    char path[SV_TRAINER_PATH];
    sv_trainer_path(path, trainer, SV_TRAINER_CHECKPOINT_FILE);
    svit_checkpoint *checkpoint;
    SVIT_TRY(svit_checkpoint_open(&checkpoint, trainer->context, path, err));
    svit_status status = resume_from(trainer, checkpoint, err);
    if (status == SVIT_OK)
        status = sv_trainer_check_resumed(trainer, err);
    if (status == SVIT_OK) {
        trainer->started = trainer->resumed = true;
        trainer->has_other_run = false;
        warn_without_fingerprints(checkpoint, trainer);
        sv_trainer_warn_of_extension(trainer, checkpoint);
    }
    svit_checkpoint_free(checkpoint);
    return status;
}

SVIT_API svit_status svit_trainer_resume(svit_trainer *trainer, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(trainer);
    svit_error cause = {.struct_size = sizeof cause};
    svit_status status = resume(trainer, &cause);
    if (status == SVIT_OK)
        return SVIT_OK;
    status = sv_ranks_agree(&trainer->ranks, status, &cause);
    return svit_error_set(err, status, cause.message);
}
