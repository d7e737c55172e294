/* What shiftvit-train says about its settings before it begins. */
#include "training/train_notes.h"

#include "settings/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void note_average(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
                  size_t images)
{
    const double steps = ceil((double)images / trainer->batch) * trainer->epochs;
    const double rest = pow(optimizer->ema_momentum, steps);
    if ((optimizer->ema == SVIT_EMA_PLAIN || optimizer->ema == SVIT_EMA_KERAS) && rest > 0.1)
        fprintf(
            stderr,
            "after %.0f steps the average of the weights (ema_momentum %g) still has %.0f %% of "
            "those at the start; --set ema=none trains without it\n",
            steps, optimizer->ema_momentum, 100 * rest);
}

void note_rule(const svit_trainer_config *trainer, const svit_optimizer_config *optimizer,
               size_t images, int has_adapters)
{
    int frozen = 0;
    for (uint32_t i = 0; i < optimizer->group_count; i++)
        frozen |= !optimizer->groups[i].trainable;
    fprintf(stderr,
            "settings for %zu images: %s trained, learning rate %g, layer decay %g, %" PRIu32
            " epochs in batches of %" PRIu32 ", %s; --lr, --epochs, --batch, --freeze, --lora and "
            "--set (groups, layer_decay, ema, augment) change them\n",
            images,
            has_adapters ? "adapters and head are"
            : frozen     ? "what is not frozen is"
                         : "everything is",
            optimizer->learning_rate, optimizer->layer_decay, trainer->epochs, trainer->batch,
            optimizer->ema == SVIT_EMA_NONE ? "no average of the weights"
                                            : "an average of the weights");
}

/* Reads what the user gives: of a run.json, which has every setting, only what --set changes. */
static svit_status read_given(settings *given, struct program *self, const config_option *option)
{
    config_option sets = *option;
    TRY(settings_read(given, self, option));
    if (!given->is_run)
        return SVIT_OK;
    settings_free(given);
    sets.file = NULL;
    return settings_read(given, self, &sets);
}

static void note_no_effect(const char *name, const char *why)
{
    fprintf(stderr, "%s: warning: %s has no effect: %s\n", option_program_name, name, why);
}

static void note_schedule(const json_t *given, int32_t schedule)
{
#define RISES                                                                                      \
    (1 << SVIT_SCHEDULE_WARMUP_COSINE | 1 << SVIT_SCHEDULE_LINEAR | 1 << SVIT_SCHEDULE_ONE_CYCLE)
    static const struct {
        const char *name;
        int schedules; /* that use the setting, a bit each, as in optim/schedule.c of the library */
    } SETTINGS[] = {{"warmup_fraction", RISES},
                    {"lr_start", RISES | 1 << SVIT_SCHEDULE_COSINE_RESTARTS},
                    {"step_factor", 1 << SVIT_SCHEDULE_STEP},
                    {"restart_factor", 1 << SVIT_SCHEDULE_COSINE_RESTARTS}};
#undef RISES
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++)
        if (json_object_get(given, SETTINGS[i].name) && !(SETTINGS[i].schedules >> schedule & 1))
            note_no_effect(SETTINGS[i].name, "it belongs to another schedule than the run's");
}

void note_unused(const train_options *options, const svit_trainer_config *trainer,
                 const svit_optimizer_config *optimizer, int has_validation)
{
    struct program program = {0};
    settings given;
    if (read_given(&given, &program, &options->config) != SVIT_OK)
        return;
    note_schedule(given.training, optimizer->schedule);
    if (json_object_get(given.training, "ema_momentum") && optimizer->ema != SVIT_EMA_PLAIN &&
        optimizer->ema != SVIT_EMA_KERAS)
        note_no_effect("ema_momentum", "it belongs to the averages 'plain' and 'keras' of ema");
    if (!has_validation && trainer->patience > 0 &&
        (options->patience > 0 || json_object_get(given.training, "patience")))
        note_no_effect("patience", "there are no validation data, by which the run would stop");
    settings_free(&given);
}
