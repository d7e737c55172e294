/* Writes the checkpoints of a run: the trainer's text entries beside model, optimiser and
 * session. */
#include "trainer/trainer_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENTRY(name, field, kind, is_state, may_extend)                                             \
    {                                                                                              \
        "trainer." name, offsetof(svit_trainer, field), kind, is_state, may_extend                 \
    }
#define SETTING(field, kind) ENTRY(#field, config.field, kind, 0, 0)
#define RULE(field, kind) ENTRY("optimizer." #field, optimizer_config.field, kind, 0, 0)
#define STATE(field, kind) ENTRY("state." #field, progress.field, kind, 1, 0)

/* Settings that may change if the run is extended. */
#define SETTING_EXTENDS(field, kind) ENTRY(#field, config.field, kind, 0, 1)
#define RULE_EXTENDS(field, kind) ENTRY("optimizer." #field, optimizer_config.field, kind, 0, 1)

/* Keys follow the names of the fields, so a field here keeps its name for the sake of old files. */
const sv_trainer_entry sv_trainer_entries[] = {
    ENTRY("training_count", training_count, SV_ENTRY_U64, 0, 0),
    ENTRY("validation_count", validation_count, SV_ENTRY_U64, 0, 0),
    ENTRY("training_fingerprint", training_fingerprint, SV_ENTRY_FINGERPRINT, 0, 0),
    ENTRY("validation_fingerprint", validation_fingerprint, SV_ENTRY_FINGERPRINT, 0, 0),
    SETTING_EXTENDS(epochs, SV_ENTRY_U32),
    SETTING(batch, SV_ENTRY_U32),
    SETTING(accumulate, SV_ENTRY_U32),
    SETTING_EXTENDS(patience, SV_ENTRY_U32),
    SETTING(keep, SV_ENTRY_U32),
    SETTING(compute, SV_ENTRY_U32),
    SETTING(seed, SV_ENTRY_U64),
    SETTING(label_smoothing, SV_ENTRY_F64),
    RULE(kind, SV_ENTRY_U32),
    RULE_EXTENDS(schedule, SV_ENTRY_U32),
    RULE(decay_rule, SV_ENTRY_U32),
    RULE(decay_exclude, SV_ENTRY_U32),
    RULE(nesterov, SV_ENTRY_U32),
    RULE(ema, SV_ENTRY_U32),
    RULE_EXTENDS(learning_rate, SV_ENTRY_F64),
    RULE(beta1, SV_ENTRY_F64),
    RULE(beta2, SV_ENTRY_F64),
    RULE(epsilon, SV_ENTRY_F64),
    RULE(weight_decay, SV_ENTRY_F64),
    RULE(momentum, SV_ENTRY_F64),
    RULE(clip_norm, SV_ENTRY_F64),
    RULE(ema_momentum, SV_ENTRY_F64),
    RULE_EXTENDS(lr_start, SV_ENTRY_F64),
    RULE_EXTENDS(warmup_steps, SV_ENTRY_U64),
    RULE_EXTENDS(total_steps, SV_ENTRY_U64),
    STATE(epoch, SV_ENTRY_U64),
    STATE(position, SV_ENTRY_U64),
    STATE(train.loss, SV_ENTRY_F64),
    STATE(train.top1, SV_ENTRY_U64),
    STATE(train.top5, SV_ENTRY_U64),
    STATE(train.samples, SV_ENTRY_U64),
    STATE(best_epoch, SV_ENTRY_U64),
    STATE(best_top1, SV_ENTRY_F64),
    STATE(waited, SV_ENTRY_U64),
    STATE(rows, SV_ENTRY_U64),
};
enum { ENTRY_COUNT = sizeof sv_trainer_entries / sizeof *sv_trainer_entries };
const size_t sv_trainer_entry_count = ENTRY_COUNT;

/* Prints integers in decimal, and real numbers as the 16 hexadecimal digits of their bits, which do
 * not depend on the locale or on rounding. */
void sv_trainer_entry_print(char out[SV_TRAINER_VALUE], const sv_trainer_entry *entry,
                            const svit_trainer *trainer)
{
    const char *from = (const char *)trainer + entry->offset;
    uint32_t narrow;
    uint64_t wide;
    memcpy(&narrow, from, sizeof narrow);
    if (entry->kind == SV_ENTRY_U32) {
        snprintf(out, SV_TRAINER_VALUE, "%" PRIu32, narrow);
        return;
    }
    memcpy(&wide, from, sizeof wide);
    snprintf(out, SV_TRAINER_VALUE, entry->kind == SV_ENTRY_U64 ? "%" PRIu64 : "%016" PRIx64, wide);
}

enum { CONFIG_TEXT = 8192 }; /* bytes of the longest configuration as JSON */

svit_status sv_trainer_optimizer_text(sv_trainer_text *text, const svit_optimizer_config *config,
                                      svit_error *err)
{
    char json[CONFIG_TEXT];
    SVIT_TRY(svit_optimizer_config_to_json(config, json, sizeof json, NULL, err));
    sv_trainer_text_add(text, "%s", json);
    if (text->failed)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for the optimiser's text");
    return SVIT_OK;
}

svit_status sv_trainer_objective_text(sv_trainer_text *text, const svit_trainer_config *config,
                                      int32_t has_function, svit_error *err)
{
    sv_trainer_text_add(text, "loss %d%s, sampling %d, tta %d, class weights", config->loss,
                        has_function ? " by a function" : "", config->sampling, config->tta);
    for (uint32_t i = 0; i < config->class_weight_count; i++) {
        char number[SV_TRAINER_NUMBER];
        sv_trainer_text_add(text, " %s", sv_trainer_number(number, config->class_weights[i]));
    }
    if (text->failed)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for the objective's text");
    return SVIT_OK;
}

svit_status sv_trainer_pipeline_text(sv_trainer_text *text, const svit_trainer *trainer,
                                     svit_error *err)
{
    char json[CONFIG_TEXT];
    SVIT_TRY(svit_pipeline_config_to_json(&trainer->pipeline, json, sizeof json, NULL, err));
    sv_trainer_text_add(text, "%s", json);
    if (text->failed)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for the pipeline's text");
    return SVIT_OK;
}

/* The texts of a checkpoint that need memory. */
typedef struct texts {
    sv_trainer_text path, optimizer, pipeline, objective, history;
} texts;

static svit_status save(svit_trainer *trainer, const texts *t, svit_error *err)
{
    enum { COUNT = ENTRY_COUNT + 6 };
    char printed[ENTRY_COUNT][SV_TRAINER_VALUE], schedule_epochs[SV_TRAINER_VALUE];
    const char *keys[COUNT], *values[COUNT];
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        sv_trainer_entry_print(printed[i], &sv_trainer_entries[i], trainer);
        keys[i] = sv_trainer_entries[i].key;
        values[i] = printed[i];
    }
    snprintf(schedule_epochs, sizeof schedule_epochs, "%" PRIu64, trainer->schedule_epochs);
    const char *const others[COUNT - ENTRY_COUNT][2] = {
        {SV_TRAINER_OPTIMIZER_KEY, t->optimizer.data},
        {SV_TRAINER_PIPELINE_KEY, t->pipeline.data},
        {SV_TRAINER_OBJECTIVE_KEY, t->objective.data},
        {SV_TRAINER_HISTORY_KEY, t->history.data},
        {SV_TRAINER_SCHEDULE_KEY, schedule_epochs},
        {SV_TRAINER_DESCRIPTION_KEY, trainer->config.description}};
    for (size_t i = 0; i < COUNT - ENTRY_COUNT; i++) {
        keys[ENTRY_COUNT + i] = others[i][0];
        values[ENTRY_COUNT + i] = others[i][1];
    }
    return svit_checkpoint_save(t->path.data, trainer->model, trainer->optimizer, trainer->session,
                                keys, values, COUNT - !trainer->config.description, err);
}

static svit_status fill_texts(texts *t, const svit_trainer *trainer, svit_error *err)
{
    SVIT_TRY(sv_trainer_path(&t->path, trainer->config.folder, SV_TRAINER_CHECKPOINT_FILE, err));
    SVIT_TRY(sv_trainer_optimizer_text(&t->optimizer, &trainer->optimizer_config, err));
    SVIT_TRY(sv_trainer_pipeline_text(&t->pipeline, trainer, err));
    SVIT_TRY(sv_trainer_objective_text(&t->objective, &trainer->config,
                                       trainer->objective.function != NULL, err));
    sv_trainer_history_pack(&t->history, trainer);
    if (t->history.failed)
        return sv_fail(err, SVIT_E_MEMORY, "no memory for the history's text");
    return SVIT_OK;
}

static svit_status write_checkpoint(svit_trainer *trainer, svit_error *err)
{
    const sv_trainer_text empty = {.context = trainer->context};
    texts t = {empty, empty, empty, empty, empty};
    svit_status status = fill_texts(&t, trainer, err);
    if (status == SVIT_OK)
        status = save(trainer, &t, err);
    sv_trainer_text_free(&t.history);
    sv_trainer_text_free(&t.objective);
    sv_trainer_text_free(&t.pipeline);
    sv_trainer_text_free(&t.optimizer);
    sv_trainer_text_free(&t.path);
    return status;
}

SVIT_API svit_status svit_trainer_checkpoint(svit_trainer *trainer, svit_error *err)
{
    SV_REQUIRE(trainer);
    SVIT_TRY(sv_trainer_folder_check(trainer, err));
    if (!trainer->config.folder)
        return sv_fail(err, SVIT_E_STATE,
                       "the trainer has no folder to write a checkpoint to; set "
                       "svit_trainer_config.folder");
    /* The last epoch wrote its checkpoint before `finish` changed the weights of the model. */
    if (trainer->finished)
        return SVIT_OK;
    SVIT_TRY(write_checkpoint(trainer, err));
    trainer->last_checkpoint = sv_trainer_clock();
    return sv_trainer_folder_settle(trainer, err);
}
