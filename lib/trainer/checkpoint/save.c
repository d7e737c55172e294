/* Writes the checkpoints of a run: the trainer's text entries beside model, optimiser and
 * session. */
#include "base/numbers/digits.h"
#include "base/threads/fp_env.h"
#include "base/threads/thread.h"
#include "trainer/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENTRY(name, field, kind, is_state, change)                                                 \
    {                                                                                              \
        "trainer." name, offsetof(svit_trainer, field), kind, is_state, change                     \
    }
#define DATA(field, kind) ENTRY(#field, field, kind, false, SV_CHANGE_NONE)
#define SETTING(field, kind) ENTRY(#field, config.field, kind, false, SV_CHANGE_NONE)
#define RULE(field, kind)                                                                          \
    ENTRY("optimizer." #field, optimizer_config.field, kind, false, SV_CHANGE_NONE)
#define STATE(field, kind) ENTRY("state." #field, progress.field, kind, true, SV_CHANGE_NONE)

/* Settings that may change: those that say where the run ends, and those of its schedule. */
#define SETTING_OF_END(field, kind) ENTRY(#field, config.field, kind, false, SV_CHANGE_LATER)
#define RULE_EXTENDS(field, kind)                                                                  \
    ENTRY("optimizer." #field, optimizer_config.field, kind, false, SV_CHANGE_EXTENDED)

/* Keys follow the names of the fields, so a field here keeps its name for the sake of old files. */
const sv_trainer_entry sv_trainer_entries[] = {
    DATA(training_count, SV_ENTRY_U64),
    DATA(validation_count, SV_ENTRY_U64),
    DATA(training_fingerprint, SV_ENTRY_FINGERPRINT),
    DATA(validation_fingerprint, SV_ENTRY_FINGERPRINT),
    SETTING_OF_END(epochs, SV_ENTRY_U32),
    SETTING(batch, SV_ENTRY_U32),
    SETTING(accumulate, SV_ENTRY_U32),
    SETTING_OF_END(patience, SV_ENTRY_U32),
    ENTRY("keep", config.keep, SV_ENTRY_U32, false, SV_CHANGE_TO_LAST),
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
    STATE(early, SV_ENTRY_LATER),
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
    const bool is_decimal = entry->kind == SV_ENTRY_U64 || entry->kind == SV_ENTRY_LATER;
    snprintf(out, SV_TRAINER_VALUE, is_decimal ? "%" PRIu64 : "%016" PRIx64, wide);
}

bool sv_trainer_read_digits(uint64_t *out, const char *text, unsigned base)
{
    *out = 0;
    const char *end = sv_digits_read(out, text, base);
    return end && end > text && !*end && (base == 10 || end - text == 16);
}

void sv_trainer_objective_text(char out[SV_TRAINER_OBJECTIVE], const svit_trainer_config *config,
                               int32_t has_function)
{
    char number[SV_TRAINER_NUMBER];
    int length =
        snprintf(out, SV_TRAINER_OBJECTIVE, "loss %d%s, sampling %d, tta %d, class weights",
                 config->loss, has_function ? " by a function" : "", config->sampling, config->tta);
    for (uint32_t i = 0; i < config->class_weight_count; i++)
        length += snprintf(out + length, SV_TRAINER_OBJECTIVE - (size_t)length, " %s",
                           sv_trainer_number(number, config->class_weights[i]));
    if (config->class_weighting == SVIT_CLASS_WEIGHTING_BALANCED)
        length += snprintf(out + length, SV_TRAINER_OBJECTIVE - (size_t)length, " balanced");
    if (config->leaves > 0)
        length += snprintf(out + length, SV_TRAINER_OBJECTIVE - (size_t)length, ", leaves %u",
                           config->leaves);
    if (config->shuffle_window > 0)
        length += snprintf(out + length, SV_TRAINER_OBJECTIVE - (size_t)length,
                           ", shuffle window %u", config->shuffle_window);
    if (config->early_fraction > 0)
        snprintf(out + length, SV_TRAINER_OBJECTIVE - (size_t)length, ", early %s of %u x %u",
                 sv_trainer_number(number, config->early_fraction), config->early_height,
                 config->early_width);
}

/* The texts of a checkpoint that need memory. */
typedef struct texts {
    sv_json_writer optimizer, pipeline;
    char *history;
} texts;

static svit_status save(svit_trainer *trainer, const texts *t, svit_error *err)
{
    enum { COUNT = ENTRY_COUNT + 6 };
    char path[SV_TRAINER_PATH], objective[SV_TRAINER_OBJECTIVE];
    char printed[ENTRY_COUNT][SV_TRAINER_VALUE], schedule_epochs[SV_TRAINER_VALUE];
    const char *keys[COUNT] = {[ENTRY_COUNT] = SV_TRAINER_OPTIMIZER_KEY,
                               SV_TRAINER_PIPELINE_KEY,
                               SV_TRAINER_OBJECTIVE_KEY,
                               SV_TRAINER_HISTORY_KEY,
                               SV_TRAINER_SCHEDULE_KEY,
                               SV_TRAINER_DESCRIPTION_KEY};
    const char *values[COUNT] = {
        [ENTRY_COUNT] = t->optimizer.text, t->pipeline.text, objective, t->history, schedule_epochs,
        trainer->config.description};
    for (size_t i = 0; i < ENTRY_COUNT; i++) {
        sv_trainer_entry_print(printed[i], &sv_trainer_entries[i], trainer);
        keys[i] = sv_trainer_entries[i].key;
        values[i] = printed[i];
    }
    sv_trainer_objective_text(objective, &trainer->config, trainer->objective.function != NULL);
    snprintf(schedule_epochs, sizeof schedule_epochs, "%" PRIu64, trainer->schedule_epochs);
    return svit_checkpoint_save(sv_trainer_path(path, trainer, SV_TRAINER_CHECKPOINT_FILE),
                                trainer->model, trainer->optimizer, trainer->session, keys, values,
                                COUNT - !trainer->config.description, err);
}

static svit_status write_checkpoint(svit_trainer *trainer, svit_error *err)
{
    const sv_allocator *allocator = &trainer->context->allocator;
    texts t = {sv_json_writer_make(allocator), sv_json_writer_make(allocator),
               sv_trainer_history_pack(trainer)};
    sv_fields_to_json(&sv_optimizer_config_type.table, &trainer->optimizer_config, &t.optimizer);
    sv_fields_to_json(&sv_pipeline_config_type.table, &trainer->pipeline, &t.pipeline);
    svit_status status =
        t.history ? SVIT_OK : sv_fail(err, SVIT_E_MEMORY, "no memory for the history's text");
    if (status == SVIT_OK)
        status = sv_json_writer_status(&t.optimizer, sv_optimizer_config_type.table.noun, err);
    if (status == SVIT_OK)
        status = sv_json_writer_status(&t.pipeline, sv_pipeline_config_type.table.noun, err);
    if (status == SVIT_OK)
        status = save(trainer, &t, err);
    sv_release_text(allocator, t.history);
    sv_json_writer_free(&t.pipeline);
    sv_json_writer_free(&t.optimizer);
    return status;
}

svit_status sv_trainer_save(svit_trainer *trainer, svit_error *err)
{
    SVIT_TRY(sv_trainer_folder_check(trainer, err));
    if (!trainer->config.folder)
        return sv_fail(err, SVIT_E_STATE,
                       "the trainer has no folder to write a checkpoint to; set "
                       "svit_trainer_config.folder");
    /* The last epoch wrote its checkpoint before `finish` changed the weights of the model. */
    if (trainer->finished || !sv_trainer_writes(trainer))
        return SVIT_OK;
    SVIT_TRY(sv_trainer_check_optimizer(trainer, err));
    trainer->activity = "checkpoint";
    SVIT_TRY(write_checkpoint(trainer, err));
    trainer->last_checkpoint = sv_clock_seconds();
    return sv_trainer_folder_settle(trainer, err);
}

SVIT_API svit_status svit_trainer_checkpoint(svit_trainer *trainer, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(trainer);
    svit_error cause = {.struct_size = sizeof cause};
    svit_status status = sv_trainer_save(trainer, &cause);
    status = sv_ranks_agree(&trainer->ranks, status, &cause);
    return status == SVIT_OK ? SVIT_OK : svit_error_set(err, status, cause.message);
}
