/* The settings of a training run, as the options of shiftvit-train change them. */
#include "training/train_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What refuses nothing that settings by the rule would accept: the largest batch of a trainer, and
 * a rate above every start of a warm-up. */
enum { LARGEST_BATCH = 65536, LARGE_RATE = 1000 };

svit_status train_settings_rule(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                svit_pipeline_config *pipeline, struct program *self,
                                const svit_model *model, size_t images)
{
    if (model)
        TRY(svit_fine_tuning_settings(model, images ? images : 1, trainer, sizeof *trainer,
                                      optimizer, sizeof *optimizer, pipeline, sizeof *pipeline,
                                      &self->err));
    else
        TRY(svit_training_preset("shiftvit-cifar10", trainer, sizeof *trainer, optimizer,
                                 sizeof *optimizer, pipeline, sizeof *pipeline, &self->err));
    if (images == 0) {
        trainer->batch = LARGEST_BATCH;
        optimizer->learning_rate = LARGE_RATE;
    }
    return SVIT_OK;
}

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

/* Fails if a resumed run is given another seed, of which some data are drawn. */
static svit_status check_seed(const svit_trainer_config *trainer, train_options *options,
                              const stored_settings *stored)
{
    const int by_option = options->program.seed_given;
    const uint64_t seed = by_option ? options->program.seed : trainer->seed;
    return seed == stored->trainer.seed
               ? SVIT_OK
               : program_fail(&options->program, SVIT_E_ARGUMENT,
                              "%s: the seed of the run of '%s' is %" PRIu64
                              ", with which --resume goes on",
                              by_option ? "--seed" : "seed", options->resume, stored->trainer.seed);
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

/* These return 0, or -1 if there is no memory. An option that is not given has a negative
 * number. */
static int put_whole(json_t *given, const char *field, int64_t number)
{
    return number < 0 ? 0 : json_object_set_new(given, field, json_integer(number));
}

static int put_real(json_t *given, const char *field, double number)
{
    return number < 0 ? 0 : json_object_set_new(given, field, json_real(number));
}

static int put_word(json_t *given, const char *field, const char *const *words, int32_t word)
{
    return word < 0 ? 0 : json_object_set_new(given, field, json_string(words[word]));
}

svit_status train_settings_given(json_t **out, train_options *options)
{
    json_t *given = *out = json_object();
    const int32_t compute = options->compute == 0 ? 1 : options->compute; /* "auto" means "f32" */
    if (put_whole(given, "epochs", options->epochs) || put_whole(given, "batch", options->batch) ||
        put_whole(given, "patience", options->patience) ||
        put_word(given, "keep", train_keeps, options->keep) ||
        put_word(given, "memory", train_memories, options->memory) ||
        put_word(given, "schedule", train_schedules, options->schedule) ||
        put_word(given, "compute", train_computes, compute) ||
        put_real(given, "checkpoint_seconds", options->checkpoint_seconds) ||
        put_real(given, "learning_rate", options->lr) ||
        put_real(given, "weight_decay", options->weight_decay) || !given)
        return program_fail(&options->program, SVIT_E_MEMORY, "no memory for the settings");
    return SVIT_OK;
}

svit_status train_settings_complete(svit_trainer_config *trainer, svit_optimizer_config *optimizer,
                                    train_options *options)
{
    stored_settings stored;
    int32_t before = SVIT_SCHEDULE_PIECEWISE; /* the one that has points, in a preset */
    trainer->schedule_anew |= options->resume && options->schedule >= 0;
    optimizer->lr_start = fmin(optimizer->lr_start, optimizer->learning_rate);
    if (options->resumed_training) {
        TRY(read_stored_settings(&stored, options));
        TRY(check_seed(trainer, options, &stored));
        TRY(resume_schedule(trainer, optimizer, options, &stored));
        before = stored.optimizer.schedule;
    }
    TRY(drop_points(optimizer, options, before));
    return apply_freeze(optimizer, options);
}
