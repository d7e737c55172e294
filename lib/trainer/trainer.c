/* Runs a trainer to its end and passes each event to a callback; and the loss function, the
 * optimiser and the stop value of a trainer. */
#include "trainer/trainer.h"

#include "base/threads/fp_env.h"

#include <stdio.h>

/* Ends a run that was asked to stop: writes a checkpoint and reports the step. */
static svit_status stop(svit_trainer *trainer, const sv_stop *asked, svit_error *err)
{
    const char *who = asked->is_callback ? "the callback" : "the stop function of the context";
    svit_error cause = {.struct_size = sizeof cause};
    char what[100];
    trainer->stop_value = asked->value;
    if (trainer->ranks.reducer.ranks > 1)
        snprintf(what, sizeof what, "rank %u of %u: %s returned %d", asked->rank,
                 trainer->ranks.reducer.ranks, who, asked->value);
    else
        snprintf(what, sizeof what, "%s returned %d", who, asked->value);
    /* Rank 0 alone may have a folder. */
    const svit_status status = trainer->config.folder
                                   ? svit_trainer_checkpoint(trainer, &cause)
                                   : sv_ranks_agree(&trainer->ranks, SVIT_OK, &cause);
    if (status != SVIT_OK)
        return svit_error_set(err, status, cause.message);
    if (trainer->progress.position == 0 && trainer->progress.epoch == 0)
        return sv_fail(err, SVIT_E_STOPPED, "%s before the first step", what);
    if (trainer->progress.position == 0)
        return sv_fail(err, SVIT_E_STOPPED, "%s at the end of epoch %llu", what,
                       (unsigned long long)trainer->progress.epoch);
    return sv_fail(err, SVIT_E_STOPPED, "%s after step %llu of epoch %llu", what,
                   (unsigned long long)trainer->progress.position,
                   (unsigned long long)trainer->progress.epoch + 1);
}

/* Passes an event on to the callbacks of all ranks, which agree on the stop. Several ranks ask
 * their stop functions here as well, for within a step they would not agree. */
static svit_status ask(sv_stop *asked, svit_trainer *trainer, const svit_trainer_event *event,
                       svit_trainer_callback callback, void *user, svit_error *err)
{
    trainer->in_callback = true;
    asked->value = callback ? callback(event, user) : 0;
    asked->is_callback = asked->value != 0;
    trainer->in_callback = false;
    if (!asked->is_callback && trainer->ranks.reducer.ranks > 1 &&
        event->kind != SVIT_EVENT_FINISHED)
        asked->value = sv_context_stop_value(trainer->context);
    return sv_ranks_agree_on_stop(&trainer->ranks, asked, err);
}

SVIT_API svit_status svit_trainer_run(svit_trainer *trainer, svit_trainer_callback callback,
                                      void *user, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(trainer);
    SVIT_TRY(sv_trainer_check_outside(trainer, __func__, err));
    trainer->stop_value = 0;
    svit_trainer_event event;
    do {
        sv_stop asked = {.rank = trainer->ranks.reducer.rank};
        trainer->asked = trainer->validation.asked = 0;
        const svit_status status = svit_trainer_step(trainer, &event, sizeof event, err);
        asked.value = trainer->asked ? trainer->asked : trainer->validation.asked;
        if (asked.value)
            return stop(trainer, &asked, err);
        SVIT_TRY(status);
        SVIT_TRY(ask(&asked, trainer, &event, callback, user, err));
        if (asked.value)
            return stop(trainer, &asked, err);
    } while (event.kind != SVIT_EVENT_FINISHED);
    return SVIT_OK;
}

SVIT_API svit_status svit_trainer_set_loss(svit_trainer *trainer, svit_loss_function function,
                                           void *user, svit_error *err)
{
    static const char *const NAMES[] = {"functions in svit_trainer_set_loss (one NULL, one not)"};
    SV_REQUIRE(trainer);
    const uint64_t has_function = function != NULL;
    SVIT_TRY(sv_ranks_check_same(&trainer->ranks, NAMES, &has_function, 1, err));
    trainer->objective.function = function;
    trainer->objective.user = function ? user : NULL;
    return SVIT_OK;
}

SVIT_API svit_optimizer *svit_trainer_optimizer(svit_trainer *trainer)
{
    return trainer ? trainer->optimizer : NULL;
}

SVIT_API int32_t svit_trainer_stop_value(const svit_trainer *trainer)
{
    return trainer ? trainer->stop_value : 0;
}
