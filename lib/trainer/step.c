/* The training loop, one event at a time: each call works up to the next event. */
#include "base/size.h"
#include "base/threads/fp_env.h"
#include "base/threads/thread.h"
#include "session/optimizer_handle.h"
#include "trainer/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>

size_t sv_trainer_batch_images(const svit_trainer *trainer)
{
    const uint64_t done = trainer->progress.position * trainer->config.batch;
    return sv_size_at_most(trainer->training_count - done, trainer->config.batch);
}

svit_status sv_trainer_run_forward(svit_trainer *trainer, const sv_batch *part, double divisor,
                                   sv_metrics *metrics, svit_error *err)
{
    const sv_objective *objective = &trainer->objective;
    float loss;
    double factor = 1;
    SVIT_TRY(svit_forward(trainer->session, part->images, part->n, trainer->logits, err));
    SVIT_TRY(sv_objective_loss(objective, part, trainer->logits, &loss, trainer->dlogits, err));
    /* dlogits is the gradient of the mean over the part. */
    double own = sv_objective_divisor(objective, part);
    if (own != divisor) {
        const float scale = (float)(own / divisor);
        for (size_t i = 0; i < part->n * trainer->classes; i++)
            trainer->dlogits[i] *= scale;
        /* The metrics weigh the part by its images, and its loss by its divisor. */
        factor = own / (double)(int64_t)part->n *
                 ((double)(int64_t)sv_trainer_batch_images(trainer) / divisor);
    }
    return sv_metrics_add(metrics, objective, part, trainer->logits, loss * factor, err);
}

/* The gradients of the micro-batches of a batch. */
static svit_status run_micro_batches(svit_trainer *trainer, sv_metrics *sums, svit_error *err)
{
    const sv_batch *batch = &trainer->data;
    const double divisor = sv_objective_divisor(&trainer->objective, batch);
    for (size_t first = 0, n; first < batch->n; first += n) {
        n = sv_size_min(batch->n - first, trainer->micro_batch);
        sv_batch part =
            sv_batch_part(batch, &trainer->objective, sv_trainer_input_floats(trainer), first, n);
        SVIT_TRY(sv_trainer_run_forward(trainer, &part, divisor, sums, err));
        SVIT_TRY(svit_backward(trainer->session, trainer->dlogits, part.n, err));
    }
    return SVIT_OK;
}

/* One step: the gradients of all parts of a batch, then the update. */
static svit_status run_batch(svit_trainer *trainer, sv_metrics *sums, svit_error *err)
{
    SVIT_TRY(sv_batch_next(&trainer->data, &trainer->objective, trainer->loader, err));
    sv_trainer_shrink_batch(trainer);
    SVIT_TRY((trainer->config.leaves > 0 ? sv_trainer_run_leaves : run_micro_batches)(trainer, sums,
                                                                                      err));
    return svit_step(trainer->optimizer, trainer->session, err);
}

/* Notes the start of the epoch in this process, and of the first interval between checkpoints. */
static void start_clock(svit_trainer *trainer, double now)
{
    if (trainer->timed_steps)
        return;
    trainer->epoch_start = now;
    if (trainer->last_checkpoint == 0)
        trainer->last_checkpoint = now;
}

/* Runs one optimiser step. A failure moves the loader and the session back to its start. */
static svit_status run_step(svit_trainer *trainer, svit_error *err)
{
    double begin = sv_clock_seconds();
    trainer->activity = NULL;
    start_clock(trainer, begin);
    SVIT_TRY(sv_trainer_fit_session(trainer, err));
    uint64_t counter = svit_session_counter(trainer->session);
    sv_metrics sums = trainer->progress.train;
    svit_status status = run_batch(trainer, &sums, err);
    if (status != SVIT_OK) {
        svit_session_zero_gradients(trainer->session, NULL);
        svit_session_set_counter(trainer->session, counter, NULL);
        svit_loader_seek(trainer->loader, trainer->progress.epoch, trainer->progress.position,
                         NULL);
        return status;
    }
    trainer->timed_samples += sums.samples - trainer->progress.train.samples;
    if (trainer->session_is_early)
        trainer->progress.early += sums.samples - trainer->progress.train.samples;
    trainer->timed_steps++;
    trainer->progress.train = sums;
    trainer->progress.position++;
    trainer->training_seconds += sv_clock_seconds() - begin;
    return SVIT_OK;
}

/* Writes a checkpoint of the steps so far if it is due. It comes before the next step, so that a
 * failure is not that of a step which has happened. */
static svit_status save_if_due(svit_trainer *trainer, svit_error *err)
{
    const svit_trainer_config *config = &trainer->config;
    if (!config->folder || config->checkpoint_seconds <= 0 || trainer->timed_steps == 0 ||
        sv_clock_seconds() - trainer->last_checkpoint < config->checkpoint_seconds)
        return SVIT_OK;
    return sv_trainer_save(trainer, err);
}

/* Whether an epoch is the best so far: at equal scores the lower loss wins, since the top-1 of a
 * small validation set has few values. */
static bool is_best(const svit_trainer *trainer, double score, double loss)
{
    const sv_progress *progress = &trainer->progress;
    if (score != progress->best_top1)
        return score > progress->best_top1;
    return loss < trainer->history[progress->best_epoch - 1].val_loss;
}

/* Keeps the weights in memory if they are the best so far; otherwise counts the epochs since
 * then. */
static void keep_if_best(svit_trainer *trainer, double score, double loss)
{
    sv_progress *progress = &trainer->progress;
    if (!is_best(trainer, score, loss)) {
        progress->waited++;
        return;
    }
    if (trainer->best)
        sv_trainer_best_copy(trainer, trainer->model);
    progress->best_top1 = score;
    progress->best_epoch = progress->epoch + 1;
    progress->waited = 0;
}

static svit_status validate_weights(svit_trainer *trainer, sv_metrics *metrics, svit_error *err)
{
    SVIT_TRY(sv_evaluator_run(&trainer->validation, metrics, err));
    const double loss = metrics->loss / (double)metrics->samples;
    double score = sv_objective_score(&trainer->objective, loss,
                                      sv_objective_top1(&trainer->objective, metrics));
    keep_if_best(trainer, score, loss);
    return SVIT_OK;
}

/* Validates the moving average of the weights if the optimiser keeps one, else the weights. */
static svit_status validate(svit_trainer *trainer, sv_metrics *metrics, svit_error *err)
{
    double begin = sv_clock_seconds();
    trainer->activity = "validation";
    bool average = trainer->optimizer_config.ema != SVIT_EMA_NONE;
    if (average)
        SVIT_TRY(svit_optimizer_swap_ema(trainer->optimizer, err));
    svit_status status = validate_weights(trainer, metrics, err);
    if (average)
        svit_optimizer_swap_ema(trainer->optimizer, NULL);
    trainer->validation_seconds = sv_clock_seconds() - begin;
    return status;
}

/* Validates and adds the row of the current epoch to the history. */
static svit_status add_row(svit_trainer *trainer, svit_error *err)
{
    SVIT_TRY(sv_trainer_history_reserve(trainer, (size_t)trainer->progress.rows + 1, err));
    sv_metrics metrics = {0};
    bool validated = trainer->validation.loader != NULL;
    if (validated)
        SVIT_TRY(validate(trainer, &metrics, err));
    svit_trainer_event *row = &trainer->history[trainer->progress.rows];
    sv_trainer_describe(trainer, row, SVIT_EVENT_EPOCH);
    if (validated) {
        row->val_loss = metrics.loss / (double)metrics.samples;
        row->val_top1 = sv_objective_top1(&trainer->objective, &metrics);
        row->val_top5 = sv_objective_top5(&trainer->objective, &metrics);
    }
    trainer->progress.rows++;
    return SVIT_OK;
}

/* Adds the history row, moves on to the next epoch and writes the files. */
static svit_status close_epoch(svit_trainer *trainer, svit_error *err)
{
    sv_progress *progress = &trainer->progress;
    SVIT_TRY(add_row(trainer, err));
    if (progress->epoch + 1 < trainer->config.epochs)
        SVIT_TRY(svit_loader_seek(trainer->loader, progress->epoch + 1, 0, err));
    progress->epoch++;
    progress->position = 0;
    progress->train = (sv_metrics){0};
    if (!sv_trainer_writes(trainer))
        return SVIT_OK;
    SVIT_TRY(sv_trainer_history_write(trainer, err));
    SVIT_TRY(sv_trainer_events_write(trainer, err));
    SVIT_TRY(sv_trainer_save(trainer, err));
    return sv_trainer_best_is_last(progress) ? sv_trainer_best_save(trainer, err) : SVIT_OK;
}

/* Completes an epoch, once rank 0 has written its files. A failure leaves the progress as it was.
 */
static svit_status run_epoch_end(svit_trainer *trainer, svit_error *err)
{
    /* A run may be resumed here, behind the last step of an epoch. */
    start_clock(trainer, sv_clock_seconds());
    SVIT_TRY(sv_trainer_check_epoch(trainer, err));
    /* The first file of a run is a checkpoint, from which it can be resumed. */
    if (sv_trainer_writes(trainer) && !trainer->is_settled)
        SVIT_TRY(sv_trainer_save(trainer, err));
    sv_progress before = trainer->progress;
    svit_status status = close_epoch(trainer, err);
    if (status == SVIT_OK)
        status = sv_ranks_agree(&trainer->ranks, SVIT_OK, err);
    if (status != SVIT_OK) {
        trainer->progress = before;
        return status;
    }
    trainer->timed_samples = trainer->timed_steps = 0;
    trainer->training_seconds = 0;
    return SVIT_OK;
}

static bool ran_out_of_patience(const svit_trainer *trainer)
{
    return trainer->config.patience > 0 && trainer->validation.loader &&
           trainer->progress.waited >= trainer->config.patience;
}

/* Gives the model its final weights: the best, the moving average, or those of the last step. */
static svit_status finish(svit_trainer *trainer, svit_error *err)
{
    if (trainer->finished)
        return SVIT_OK;
    if (trainer->best && trainer->progress.best_epoch)
        sv_trainer_best_restore(trainer);
    else if (trainer->optimizer_config.ema != SVIT_EMA_NONE)
        SVIT_TRY(svit_optimizer_swap_ema(trainer->optimizer, err));
    trainer->finished = true;
    return SVIT_OK;
}

static svit_status next_event(svit_trainer *trainer, svit_trainer_event *event, svit_error *err)
{
    const sv_progress *progress = &trainer->progress;
    if (!trainer->finished)
        SVIT_TRY(sv_optim_check_weights(trainer->optimizer->core, err));
    trainer->started = true;
    if (progress->epoch == trainer->config.epochs ||
        (progress->position == 0 && ran_out_of_patience(trainer))) {
        SVIT_TRY(finish(trainer, err));
        *event = trainer->history[progress->rows - 1];
        event->kind = SVIT_EVENT_FINISHED;
        event->eta_seconds = 0;
        event->stopped_early = progress->epoch < trainer->config.epochs;
        return SVIT_OK;
    }
    SVIT_TRY(save_if_due(trainer, err));
    if (progress->position < trainer->steps) {
        SVIT_TRY(sv_ranks_go_on(&trainer->ranks, trainer->context, &trainer->asked, err));
        SVIT_TRY(run_step(trainer, err));
        sv_trainer_describe(trainer, event, SVIT_EVENT_STEP);
    } else {
        SVIT_TRY(run_epoch_end(trainer, err));
        *event = trainer->history[progress->rows - 1];
    }
    return SVIT_OK;
}

/* A number that is not finite is the run's affair, not that of one image: says where it came up,
 * and what keeps a run from diverging. */
static svit_status fail_numeric(const svit_trainer *trainer, const svit_error *cause,
                                svit_error *err)
{
    const sv_progress *progress = &trainer->progress;
    const uint64_t epoch = progress->epoch + 1, step = progress->position + 1;
    if (trainer->activity)
        return sv_fail(err, SVIT_E_NUMERIC,
                       "epoch %" PRIu64 ", %s: %s; a lower learning_rate, or "
                       "clip_norm 1, keeps weights small",
                       epoch, trainer->activity, cause->message);
    return sv_fail(err, SVIT_E_NUMERIC,
                   "epoch %" PRIu64 ", step %" PRIu64 " of %" PRIu64 ": %s; a lower "
                   "learning_rate, or clip_norm 1, keeps weights small",
                   epoch, step, trainer->steps, cause->message);
}

/* Works up to the next event, and explains a number that is not finite. */
static svit_status step(svit_trainer *trainer, svit_trainer_event *event, svit_error *err)
{
    svit_error cause = {.struct_size = sizeof cause};
    SVIT_TRY(sv_trainer_folder_check(trainer, err));
    /* The run that wrote the checkpoint may have been killed before it wrote the files that belong
     * to it, or removed those of another run. */
    if (trainer->resumed && sv_trainer_writes(trainer))
        SVIT_TRY(sv_trainer_folder_settle(trainer, err));
    svit_status status = next_event(trainer, event, &cause);
    if (status == SVIT_OK)
        return SVIT_OK;
    if (status == SVIT_E_NUMERIC)
        return fail_numeric(trainer, &cause, err);
    return svit_error_set(err, status, cause.message);
}

static svit_status check_event(const svit_trainer_event *event, size_t size, svit_error *err)
{
    if (!event)
        return sv_fail_null(err, "svit_trainer_step", "event");
    return sv_config_check_size(size, sizeof *event, "svit_trainer_event", err);
}

svit_status sv_trainer_check_outside(const svit_trainer *trainer, const char *where,
                                     svit_error *err)
{
    if (!trainer->in_callback)
        return SVIT_OK;
    return sv_fail(err, SVIT_E_STATE,
                   "%s: the callback of svit_trainer_run is running; the run goes on when it "
                   "returns",
                   where);
}

SVIT_API svit_status svit_trainer_step(svit_trainer *trainer, svit_trainer_event *event,
                                       size_t size, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(trainer);
    SVIT_TRY(sv_trainer_check_outside(trainer, __func__, err));
    svit_trainer_event local = {.struct_size = sizeof local};
    svit_error cause = {.struct_size = sizeof cause};
    svit_status status = check_event(event, size, &cause);
    if (status == SVIT_OK)
        status = step(trainer, &local, &cause);
    if (status != SVIT_OK) {
        status = sv_ranks_agree(&trainer->ranks, status, &cause);
        return svit_error_set(err, status, cause.message);
    }
    return sv_config_export(event, size, &local, sizeof local, "svit_trainer_event", err);
}
