/* Extends a run by more epochs than it was started with. */
#include "optim/schedule.h"
#include "trainer/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define NO_RATE 1e-5 /* the fraction of learning_rate up to which nothing is learned */
#define SCHEDULE_KEY "trainer.optimizer.schedule"
#define TOTAL_KEY "trainer.optimizer.total_steps"
#define WARMUP_KEY "trainer.optimizer.warmup_steps"

svit_status sv_trainer_read_entry(const svit_checkpoint *checkpoint, const char *key, uint64_t *out,
                                  svit_error *err)
{
    const char *text = svit_checkpoint_value(checkpoint, key);
    if (text && sv_trainer_read_digits(out, text, 10))
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT,
                   "the checkpoint's entry '%s' is '%.40s'; it is a whole number", key,
                   text ? text : "");
}

bool sv_trainer_extends(const svit_trainer *trainer, const svit_checkpoint *checkpoint)
{
    uint64_t epochs = trainer->config.epochs;
    sv_trainer_read_entry(checkpoint, SV_TRAINER_EPOCHS_KEY, &epochs, NULL);
    return epochs < trainer->config.epochs;
}

void sv_trainer_warn_of_extension(const svit_trainer *trainer, const svit_checkpoint *checkpoint)
{
    const svit_optimizer_config *config = &trainer->optimizer_config;
    uint64_t epochs = trainer->config.epochs;
    sv_trainer_read_entry(checkpoint, SV_TRAINER_EPOCHS_KEY, &epochs, NULL);
    if (epochs >= trainer->config.epochs)
        return;
    const uint64_t done = epochs * trainer->steps;
    if (!sv_schedule_uses(config->schedule, SV_SCHEDULE_LENGTH) || done < config->total_steps)
        return;
    const double rate = sv_learning_rate(config, done);
    if (rate > NO_RATE * config->learning_rate)
        return;
    sv_context_warn(trainer->context,
                    "the learning rate is %g from epoch %" PRIu64 " on, where the run's schedule "
                    "has ended; a schedule that is given, or schedule_anew, gives the new epochs a "
                    "rate",
                    rate, epochs + 1);
}

uint64_t sv_trainer_saved_early(const svit_trainer *trainer, const svit_checkpoint *checkpoint)
{
    uint64_t epochs = 0;
    sv_trainer_read_entry(checkpoint, SV_TRAINER_SCHEDULE_KEY, &epochs, NULL);
    if (epochs == 0)
        sv_trainer_read_entry(checkpoint, SV_TRAINER_EPOCHS_KEY, &epochs, NULL);
    return sv_trainer_early_part(trainer, epochs < UINT32_MAX ? epochs : UINT32_MAX);
}

/* Keras' example counts the batches of an epoch as a real number, and so does this, unless a whole
 * epoch or more of a small set would be left behind the end of the schedule. */
static uint64_t schedule_length(const svit_trainer *trainer, uint64_t epochs)
{
    const double batches = (double)trainer->training_count / (double)trainer->config.batch;
    const double steps = ceil(batches), all = steps * (double)epochs;
    const double length = floor(batches * (double)epochs);
    return (uint64_t)(all - length < steps ? length : all);
}

/* Sets the length of the schedule of so many epochs, and that of the warm-up. */
static void set_length(svit_trainer *trainer, uint64_t length, uint64_t epochs)
{
    trainer->optimizer_config.total_steps = length;
    trainer->optimizer_config.warmup_steps =
        trainer->warmup_steps ? trainer->warmup_steps
                              : (uint64_t)(trainer->config.warmup_fraction * (double)length);
    trainer->schedule_epochs = epochs;
}

void sv_trainer_compute_schedule(svit_trainer *trainer, uint64_t epochs)
{
    set_length(trainer, schedule_length(trainer, epochs), epochs);
}

/* Reads the length of the checkpoint's schedule, which may have none. */
static svit_status read_total(uint64_t *total, const svit_trainer *copy,
                              const svit_checkpoint *checkpoint, svit_error *err)
{
    const bool least = sv_schedule_uses(copy->optimizer_config.schedule, SV_SCHEDULE_LENGTH);
    SVIT_TRY(sv_trainer_read_entry(checkpoint, TOTAL_KEY, total, err));
    return sv_trainer_check_number(TOTAL_KEY, *total, least, UINT64_MAX, err);
}

/* Gives `copy` the length that was given to the checkpoint's run, and the warm-up unless the caller
 * gives one. */
static svit_status adopt_given(svit_trainer *copy, const svit_checkpoint *checkpoint,
                               svit_error *err)
{
    uint64_t total = 0, warmup = 0;
    SVIT_TRY(read_total(&total, copy, checkpoint, err));
    SVIT_TRY(sv_trainer_read_entry(checkpoint, WARMUP_KEY, &warmup, err));
    SVIT_TRY(sv_trainer_check_number(WARMUP_KEY, warmup, 0, total, err));
    copy->optimizer_config.total_steps = total;
    copy->optimizer_config.warmup_steps = copy->warmup_steps ? copy->warmup_steps : warmup;
    copy->schedule_epochs = 0;
    return SVIT_OK;
}

svit_status sv_trainer_adopt_schedule(svit_trainer *copy, const svit_checkpoint *checkpoint,
                                      svit_error *err)
{
    uint64_t schedule = 0, epochs = 0, all = 0, total = 0;
    if (copy->schedule_epochs == 0 || !svit_checkpoint_value(checkpoint, SV_TRAINER_EPOCHS_KEY))
        return SVIT_OK;
    if (copy->config.schedule_anew && sv_trainer_extends(copy, checkpoint))
        return SVIT_OK;
    SVIT_TRY(sv_trainer_read_entry(checkpoint, SCHEDULE_KEY, &schedule, err));
    if (schedule != (uint64_t)copy->optimizer_config.schedule)
        return SVIT_OK;
    /* A checkpoint of library 0.1 lacks the entry: its runs were never extended. */
    const char *key = svit_checkpoint_value(checkpoint, SV_TRAINER_SCHEDULE_KEY)
                          ? SV_TRAINER_SCHEDULE_KEY
                          : SV_TRAINER_EPOCHS_KEY;
    SVIT_TRY(sv_trainer_read_entry(checkpoint, key, &epochs, err));
    SVIT_TRY(sv_trainer_read_entry(checkpoint, SV_TRAINER_EPOCHS_KEY, &all, err));
    SVIT_TRY(sv_trainer_check_number(key, epochs, 0, all, err));
    if (epochs == 0)
        return adopt_given(copy, checkpoint, err);
    /* An older library may have counted the steps of these epochs in another way. */
    SVIT_TRY(read_total(&total, copy, checkpoint, err));
    set_length(copy, total, epochs);
    return SVIT_OK;
}
