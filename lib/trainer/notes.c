/* Warnings of settings that change nothing. */
#include "optim/schedule.h"
#include "trainer/trainer.h"

#include <inttypes.h>

void sv_trainer_note_unused(const svit_trainer *trainer)
{
    const svit_optimizer_config *config = &trainer->optimizer_config;
    const struct {
        const char *name;
        sv_schedule_setting setting;
        uint64_t value, unset;
    } settings[] = {{"warmup_steps", SV_SCHEDULE_WARMUP, config->warmup_steps, 0},
                    {"step_size", SV_SCHEDULE_STEP_SIZE, config->step_size, 1},
                    {"restart_steps", SV_SCHEDULE_RESTARTS, config->restart_steps, 1},
                    {"points", SV_SCHEDULE_POINTS, config->point_count, 0}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (sv_schedule_uses(config->schedule, settings[i].setting) ||
            settings[i].value <= settings[i].unset)
            continue;
        sv_context_warn(trainer->context,
                        "%s has no effect: it belongs to another schedule than the run's",
                        settings[i].name);
    }
}

void sv_trainer_note_no_average(const svit_trainer *trainer)
{
    const svit_optimizer_config *config = &trainer->optimizer_config;
    const bool is_moving = config->ema == SVIT_EMA_PLAIN || config->ema == SVIT_EMA_KERAS;
    const uint64_t steps = trainer->config.epochs * trainer->steps;
    if (is_moving && config->ema_momentum == 0)
        sv_context_warn(trainer->context,
                        "ema_momentum is 0, so that the average is the last weights; 0.99 to "
                        "0.9999 are usual");
    if (config->ema == SVIT_EMA_SWA && sv_optim_due_snapshots(config, steps) == 0)
        sv_context_warn(
            trainer->context,
            "the average 'swa' has no weights in it: the run ends within swa_every (%" PRIu64
            ") steps of swa_start",
            config->swa_every);
}
