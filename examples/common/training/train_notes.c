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

/* Reads what the user gives: by --set, and in a file other than a run.json, which has every
 * setting, what is not the default. */
static svit_status read_given(settings *given, struct program *self, const config_option *option)
{
    config_option sets = *option, file = *option;
    settings in_file;
    sets.file = NULL;
    file.set_count = 0;
    TRY(settings_read(given, self, &sets));
    if (settings_read(&in_file, self, &file) != SVIT_OK)
        return SVIT_OK;
    if (!in_file.is_run && settings_drop_defaults(&in_file, self) == SVIT_OK)
        json_object_update_missing(given->training, in_file.training);
    settings_free(&in_file);
    return SVIT_OK;
}

/* Whether a setting counts is decided by one of these. */
enum decider { SCHEDULE, OPTIMIZER, AVERAGE, LOOKAHEAD, EARLY, DECIDERS };

/* Warns of the settings in `given` that what decides about them does not read, as in optim/ of the
 * library. */
static void note_settings(const struct program *self, const json_t *given,
                          const svit_trainer_config *trainer,
                          const svit_optimizer_config *optimizer)
{
#define BIT(value) (1 << (value))
#define RISES                                                                                      \
    (BIT(SVIT_SCHEDULE_WARMUP_COSINE) | BIT(SVIT_SCHEDULE_LINEAR) | BIT(SVIT_SCHEDULE_ONE_CYCLE))
#define HAS_ADAMW (BIT(SVIT_OPTIMIZER_ADAMW) | BIT(SVIT_OPTIMIZER_MUON))
#define HAS_BETAS (HAS_ADAMW | BIT(SVIT_OPTIMIZER_LION))
#define HAS_MOMENTUM (BIT(SVIT_OPTIMIZER_SGD) | BIT(SVIT_OPTIMIZER_MUON))
    static const struct {
        const char *name;
        enum decider decider;
        int readers; /* its values that read the setting, a bit each */
    } SETTINGS[] = {
        {"warmup_fraction", SCHEDULE, RISES},
        {"lr_start", SCHEDULE, RISES | BIT(SVIT_SCHEDULE_COSINE_RESTARTS)},
        {"step_factor", SCHEDULE, BIT(SVIT_SCHEDULE_STEP)},
        {"restart_factor", SCHEDULE, BIT(SVIT_SCHEDULE_COSINE_RESTARTS)},
        {"beta1", OPTIMIZER, HAS_BETAS},
        {"beta2", OPTIMIZER, HAS_BETAS},
        {"epsilon", OPTIMIZER, HAS_ADAMW},
        {"epsilon_form", OPTIMIZER, HAS_ADAMW},
        {"momentum", OPTIMIZER, HAS_MOMENTUM},
        {"nesterov", OPTIMIZER, HAS_MOMENTUM},
        {"sgd_form", OPTIMIZER, BIT(SVIT_OPTIMIZER_SGD)},
        {"adamw_learning_rate", OPTIMIZER, BIT(SVIT_OPTIMIZER_MUON)},
        {"ema_momentum", AVERAGE, BIT(SVIT_EMA_PLAIN) | BIT(SVIT_EMA_KERAS)},
        {"swa_start", AVERAGE, BIT(SVIT_EMA_SWA)},
        {"swa_every", AVERAGE, BIT(SVIT_EMA_SWA)},
        {"lookahead_alpha", LOOKAHEAD, BIT(1)},
        {"early_height", EARLY, BIT(1)},
        {"early_width", EARLY, BIT(1)},
    };
#undef HAS_MOMENTUM
#undef HAS_BETAS
#undef HAS_ADAMW
#undef RISES
#undef BIT
    const struct {
        int32_t value;
        const char *why;
    } by[DECIDERS] = {
        [SCHEDULE] = {optimizer->schedule, "it belongs to another schedule than the run's"},
        [OPTIMIZER] = {optimizer->kind, "it belongs to another optimizer than the run's"},
        [AVERAGE] = {optimizer->ema, "it belongs to another value of ema than the run's"},
        [LOOKAHEAD] = {optimizer->lookahead > 0, "lookahead is 0"},
        [EARLY] = {trainer->early_fraction > 0, "early_fraction is 0"},
    };
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++)
        if (json_object_get(given, SETTINGS[i].name) &&
            !(SETTINGS[i].readers >> by[SETTINGS[i].decider].value & 1))
            program_note_unused(self, SETTINGS[i].name, by[SETTINGS[i].decider].why);
}

/* Warns of limits of splits that these data do not have. */
static void note_limits(const struct program *self, const data_option *option,
                        const data_splits *data)
{
    if (option->limit[SVIT_SPLIT_VALIDATION] > 0 && !data->split[SVIT_SPLIT_VALIDATION])
        program_note_unused(self, "--limit-val", "there are no validation data");
    if (option->limit[SVIT_SPLIT_TEST] > 0 && !data->split[SVIT_SPLIT_TEST])
        program_note_unused(self, "--limit-test", "there are no test data");
}

void note_unused(const train_options *options, const svit_trainer_config *trainer,
                 const svit_optimizer_config *optimizer, const data_splits *data)
{
    struct program program = {0};
    settings given;
    note_limits(&program, &options->data, data);
    if (read_given(&given, &program, &options->config) != SVIT_OK)
        return;
    note_settings(&program, given.training, trainer, optimizer);
    if (!data->split[SVIT_SPLIT_VALIDATION] && trainer->patience > 0 &&
        (options->patience > 0 || json_object_get(given.training, "patience")))
        program_note_unused(&program, "patience",
                            "there are no validation data, by which the run would stop");
    settings_free(&given);
}
