/* Checks the progress and the history that a checkpoint holds before a resume uses them. A damaged
 * file must not send the run to an epoch for which there is no history. */
#include "session/optimizer_handle.h"
#include "trainer/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>

#define STATE_KEY "trainer.state."

svit_status sv_trainer_check_number(const char *key, uint64_t value, uint64_t min, uint64_t max,
                                    svit_error *err)
{
    if (value >= min && value <= max)
        return SVIT_OK;
    if (min == max)
        return sv_fail(err, SVIT_E_FORMAT,
                       "the checkpoint's entry '%s' is %" PRIu64 "; it must be %" PRIu64
                       " at the epoch and step of its run",
                       key, value, min);
    return sv_fail(err, SVIT_E_FORMAT,
                   "the checkpoint's entry '%s' is %" PRIu64 "; it must be in %" PRIu64 "..%" PRIu64
                   " at the epoch and step of its run",
                   key, value, min, max);
}

/* SVIT_E_FORMAT, naming the checkpoint's entry, unless the value is legal. */
static svit_status check_real(const char *key, double value, int32_t is_legal, svit_error *err)
{
    if (is_legal)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_FORMAT,
                   "the checkpoint's entry '%s' is %g, which no run can produce", key, value);
}

/* Checks epochs, steps and the state of early stopping. Epochs are those of the checkpoint's run,
 * which the trainer may extend. Patience has no part: it ends a run at the end of an epoch, and one
 * that got a smaller patience within an epoch goes on to this end. */
static svit_status check_position(const svit_trainer *trainer, const sv_progress *at,
                                  const svit_checkpoint *checkpoint, svit_error *err)
{
    bool validates = trainer->validation.loader != NULL;
    uint64_t epochs = 0;
    SVIT_TRY(sv_trainer_read_entry(checkpoint, SV_TRAINER_EPOCHS_KEY, &epochs, err));
    SVIT_TRY(sv_trainer_check_number(STATE_KEY "epoch", at->epoch, 0, epochs, err));
    SVIT_TRY(sv_trainer_check_number(STATE_KEY "rows", at->rows, at->epoch, at->epoch, err));
    SVIT_TRY(sv_trainer_check_number(STATE_KEY "best_epoch", at->best_epoch,
                                     validates && at->epoch > 0, validates ? at->epoch : 0, err));
    uint64_t waited = validates ? at->epoch - at->best_epoch : 0;
    SVIT_TRY(sv_trainer_check_number(STATE_KEY "waited", at->waited, waited, waited, err));
    return sv_trainer_check_number(STATE_KEY "position", at->position, 0,
                                   at->epoch == epochs ? 0 : trainer->steps, err);
}

/* Checks the sums over the current epoch. */
static svit_status check_sums(const svit_trainer *trainer, const sv_progress *at, svit_error *err)
{
    const sv_metrics *sums = &at->train;
    uint64_t samples = at->position * trainer->config.batch;
    if (samples > trainer->training_count)
        samples = trainer->training_count;
    SVIT_TRY(
        sv_trainer_check_number(STATE_KEY "train.samples", sums->samples, samples, samples, err));
    SVIT_TRY(sv_trainer_check_number(
        STATE_KEY "early", at->early, 0,
        trainer->shrink ? at->epoch * trainer->training_count + samples : 0, err));
    SVIT_TRY(sv_trainer_check_number(STATE_KEY "train.top5", sums->top5, 0, samples, err));
    SVIT_TRY(sv_trainer_check_number(STATE_KEY "train.top1", sums->top1, 0, sums->top5, err));
    /* Below 0 too: a function of the program may have computed it. */
    return check_real(STATE_KEY "train.loss", sums->loss,
                      isfinite(sums->loss) && (samples > 0 || sums->loss == 0), err);
}

/* Returns by how much the counter of the session grows in the first `steps` steps of an epoch: by
 * one for each leaf or micro-batch. */
static uint64_t forwards(const svit_trainer *trainer, uint64_t steps)
{
    if (trainer->config.leaves > 0)
        return steps * trainer->config.leaves;
    uint64_t micro_batch = trainer->micro_batch, batch = trainer->config.batch;
    uint64_t rest = trainer->training_count - (trainer->steps - 1) * batch;
    uint64_t of_batch = (batch + micro_batch - 1) / micro_batch;
    uint64_t of_last = (rest + micro_batch - 1) / micro_batch;
    return steps < trainer->steps ? steps * of_batch : (steps - 1) * of_batch + of_last;
}

/* The updates that the optimiser has made by then. */
static uint64_t updates(const svit_trainer *trainer, const sv_progress *at)
{
    return at->epoch * trainer->steps + at->position;
}

svit_status sv_trainer_check_optimizer(const svit_trainer *trainer, svit_error *err)
{
    const sv_optim *core = trainer->optimizer->core;
    const uint64_t wanted = updates(trainer, &trainer->progress);
    SVIT_TRY(sv_optim_check_weights(core, err));
    if (core->steps != wanted)
        return sv_fail(err, SVIT_E_STATE,
                       "the trainer's optimiser counts %" PRIu64 " updates and the run %" PRIu64
                       ", so that no checkpoint of it could be resumed",
                       core->steps, wanted);
    return SVIT_OK;
}

/* Checks the counters that the optimiser and the session restore from the checkpoint. */
static svit_status check_handles(const svit_trainer *trainer, const sv_progress *at,
                                 const svit_checkpoint *checkpoint, svit_error *err)
{
    const struct {
        const char *key;
        uint64_t wanted;
    } numbers[] = {
        {"optimizer.steps", updates(trainer, at)},
        {"optimizer.swapped", 0},
        {"session.counter",
         at->epoch * forwards(trainer, trainer->steps) + forwards(trainer, at->position)},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t value;
        SVIT_TRY(svit_checkpoint_get_u64(checkpoint, numbers[i].key, &value, err));
        SVIT_TRY(sv_trainer_check_number(numbers[i].key, value, numbers[i].wanted,
                                         numbers[i].wanted, err));
    }
    return SVIT_OK;
}

svit_status sv_trainer_check_progress(const svit_trainer *trainer, const sv_progress *at,
                                      const svit_checkpoint *checkpoint, svit_error *err)
{
    SVIT_TRY(check_position(trainer, at, checkpoint, err));
    SVIT_TRY(check_sums(trainer, at, err));
    return check_handles(trainer, at, checkpoint, err);
}

/* Whether a value is a fraction, or NaN if the run has none of its kind. */
static bool is_fraction(double value, bool has_it)
{
    return has_it ? value >= 0 && value <= 1 : isnan(value);
}

static bool is_amount(double value)
{
    return isfinite(value) && value >= 0;
}

/* Whether a history row has values that a run can produce. `before` is the row of the previous
 * epoch, or NULL for the first. */
static bool is_row(const svit_trainer *trainer, const svit_trainer_event *row,
                   const svit_trainer_event *before)
{
    bool has_top1 = trainer->config.loss != SVIT_LOSS_MSE;
    bool has_top5 = trainer->config.loss == SVIT_LOSS_CROSS_ENTROPY;
    bool trained = isfinite(row->train_loss) && is_fraction(row->train_top1, has_top1) &&
                   is_fraction(row->train_top5, has_top5) && is_amount(row->learning_rate) &&
                   is_amount(row->images_per_second) && is_amount(row->seconds) &&
                   isfinite(row->eta_seconds) && is_amount(row->pflop);
    if (!trainer->validation.loader)
        return trained && isnan(row->val_loss) && isnan(row->val_top1) && isnan(row->val_top5) &&
               row->best_epoch == 0;
    bool is_better = !before || row->best_epoch == row->epoch;
    return trained && is_amount(row->val_loss) && is_fraction(row->val_top1, has_top1) &&
           is_fraction(row->val_top5, has_top5) &&
           row->best_epoch == (is_better ? row->epoch : before->best_epoch);
}

svit_status sv_trainer_check_history(const svit_trainer *trainer, const sv_progress *at,
                                     svit_error *err)
{
    const svit_trainer_event *rows = trainer->history;
    for (uint64_t i = 0; i < at->rows; i++)
        if (!is_row(trainer, &rows[i], i ? &rows[i - 1] : NULL))
            return sv_fail(err, SVIT_E_FORMAT,
                           "the checkpoint's entry '" SV_TRAINER_HISTORY_KEY
                           "' has values for epoch %" PRIu64 " that no run can produce",
                           i + 1);
    uint64_t best = at->rows ? rows[at->rows - 1].best_epoch : 0;
    SVIT_TRY(sv_trainer_check_number(STATE_KEY "best_epoch", at->best_epoch, best, best, err));
    double score = best ? sv_objective_score(&trainer->objective, rows[best - 1].val_loss,
                                             rows[best - 1].val_top1)
                        : -INFINITY;
    return check_real(STATE_KEY "best_top1", at->best_top1, at->best_top1 == score, err);
}
