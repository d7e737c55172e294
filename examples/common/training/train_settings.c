/* The settings of a training run, as the options of shiftvit-train change them. */
#include "training/train_settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The settings that a resumed run has stored. */
typedef struct stored_settings {
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
} stored_settings;

static svit_status read_stored_settings(stored_settings *out, train_options *options)
{
    svit_pipeline_config pipeline;
    TRY(config_init_training(&out->trainer, &out->optimizer, &pipeline));
    return svit_training_from_json(&out->trainer, &out->optimizer, &pipeline,
                                   options->resumed_training, &options->program.err);
}

/* Chooses the schedule of a run that goes on. Where it has no length of its own, a given length of
 * the stored one stays, as in the library, so that the description of the run tells it. Extended by
 * more epochs and with a rate of its own it keeps that rate, unless a schedule is given; such a
 * schedule has no length from before. */
static svit_status resume_schedule(const svit_trainer_config *trainer,
                                   svit_optimizer_config *optimizer, train_options *options,
                                   const stored_settings *stored)
{
    struct program *program = &options->program;
    const int extends = trainer->epochs > stored->trainer.epochs;
    const int is_new = extends && trainer->schedule_anew;
    int gives_rate, gives_length;
    if (!is_new && optimizer->total_steps == 0 && optimizer->schedule == stored->optimizer.schedule)
        optimizer->total_steps = stored->optimizer.total_steps;
    TRY(config_gives(&gives_rate, program, &options->config, "learning_rate"));
    TRY(config_gives(&gives_length, program, &options->config, "total_steps"));
    if (is_new && !gives_length)
        optimizer->total_steps = 0;
    if (extends && !is_new && (gives_rate || options->lr >= 0))
        optimizer->schedule = SVIT_SCHEDULE_CONSTANT;
    return SVIT_OK;
}

/* Leaves out the points of a preset's or a stored schedule, `before`, that another one replaces. */
static svit_status drop_points(svit_optimizer_config *optimizer, train_options *options,
                               int32_t before)
{
    int given;
    TRY(config_gives(&given, &options->program, &options->config, "points"));
    if (!given && optimizer->schedule != before)
        optimizer->point_count = 0;
    return SVIT_OK;
}

static void apply_options(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                          const train_options *options)
{
    trainer->schedule_anew |= options->resume && options->schedule >= 0;
    trainer->epochs = options->epochs < 0 ? trainer->epochs : (uint32_t)options->epochs;
    trainer->batch = options->batch < 0 ? trainer->batch : (uint32_t)options->batch;
    trainer->patience = options->patience < 0 ? trainer->patience : (uint32_t)options->patience;
    trainer->keep = options->keep < 0 ? trainer->keep : options->keep;
    trainer->memory = options->memory < 0 ? trainer->memory : options->memory;
    if (options->compute >= 0)
        trainer->compute = options->compute == 2 ? SVIT_COMPUTE_BF16 : SVIT_COMPUTE_F32;
    if (options->checkpoint_seconds >= 0)
        trainer->checkpoint_seconds = options->checkpoint_seconds;
    optimizer->schedule = options->schedule < 0 ? optimizer->schedule : options->schedule;
    optimizer->learning_rate = options->lr < 0 ? optimizer->learning_rate : options->lr;
    optimizer->lr_start = fmin(optimizer->lr_start, optimizer->learning_rate);
    if (options->weight_decay >= 0)
        optimizer->weight_decay = options->weight_decay;
}

/* Adds a group of frozen parameters for each --freeze. */
static svit_status apply_freeze(svit_optimizer_config *optimizer, train_options *options)
{
    for (size_t i = 0; i < options->freeze_count; i++) {
        const char *pattern = options->freeze[i];
        svit_parameter_group *group = &optimizer->groups[optimizer->group_count];
        if (optimizer->group_count == SVIT_MAX_GROUPS || strlen(pattern) >= sizeof group->pattern)
            return program_fail(&options->program, SVIT_E_ARGUMENT,
                                "--freeze: '%s' is too long, or there are more than %d groups",
                                pattern, SVIT_MAX_GROUPS);
        *group = (svit_parameter_group){.lr_scale = 1, .weight_decay = -1};
        snprintf(group->pattern, sizeof group->pattern, "%s", pattern);
        optimizer->group_count++;
    }
    return SVIT_OK;
}

svit_status train_settings_override(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                    train_options *options)
{
    stored_settings stored;
    int32_t before = SVIT_SCHEDULE_PIECEWISE; /* the one that has points, in a preset */
    apply_options(trainer, optimizer, options);
    if (options->resumed_training) {
        TRY(read_stored_settings(&stored, options));
        TRY(resume_schedule(trainer, optimizer, options, &stored));
        before = stored.optimizer.schedule;
    }
    TRY(drop_points(optimizer, options, before));
    return apply_freeze(optimizer, options);
}
