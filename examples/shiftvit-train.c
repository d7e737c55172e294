/* Trains a model on a data set, validates it after each epoch, tests it at the end and saves it. */
#include "data/data_folder.h"
#include "data/whitening.h"
#include "models/init_from.h"
#include "models/model_path.h"
#include "outputs/old_model.h"
#include "outputs/out_folder.h"
#include "outputs/output_check.h"
#include "pictures/curves.h"
#include "program/json_line.h"
#include "program/path_text.h"
#include "program/shown.h"
#include "results/results.h"
#include "settings/pipeline_fit.h"
#include "training/interrupts.h"
#include "training/mpi_place.h"
#include "training/progress.h"
#include "training/run_file.h"
#include "training/stored_options.h"
#include "training/train_command_line.h"
#include "training/train_notes.h"
#include "training/train_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A training run and everything it owns. */
typedef struct train_run {
    train_options options;
    svit_trainer_config trainer_config;
    svit_optimizer_config optimizer_config;
    svit_pipeline_config pipeline;
    int by_rule;                    /* 1: model and settings follow from --init-from and the data */
    int takes_mean, takes_variance; /* 1: of the training set */
    data_splits data;
    svit_model *model;
    svit_trainer *trainer;
    svit_folder_lock *lock; /* of the folder, until the trainer locks it */
    mpi_place place;        /* among the processes of --mpi */
    char *description;      /* the options, for the trainer */
    struct progress progress;
    char curves[PATH_CAPACITY];
    old_model old; /* results of the run that this one replaces or extends */
} train_run;

/* Decides whether the model and the settings come from --init-from, or from a preset. A resumed run
 * has both already, and names a preset only if it began with one. */
static svit_status choose_source(train_run *self)
{
    train_options *options = &self->options;
    int named = 1;
    if (options->init_from && !options->resume)
        TRY(config_names_model(&named, &options->program, &options->config));
    self->by_rule = !named;
    if (named && !options->config.preset && !options->resumed_training)
        options->config.preset = "shiftvit-cifar10";
    return SVIT_OK;
}

/* Finds what the preset leaves to the training set and nothing else gives: a run that goes on has a
 * mean and a variance of its own, whatever they are, and so has the model of the rule. */
static svit_status find_statistics(train_run *self)
{
    train_options *options = &self->options;
    svit_error *err = &options->program.err;
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config preset;
    int has_mean, has_variance;
    if (self->by_rule || options->resumed_training || !options->config.preset)
        return SVIT_OK;
    TRY(svit_training_preset(options->config.preset, &trainer, sizeof trainer, &optimizer,
                             sizeof optimizer, &preset, sizeof preset, err));
    TRY(config_gives(&has_mean, &options->program, &options->config, "mean"));
    TRY(config_gives(&has_variance, &options->program, &options->config, "variance"));
    self->takes_mean = !has_mean && pipeline_wants_statistics(&preset);
    self->takes_variance = !has_variance && pipeline_wants_statistics(&preset);
    return SVIT_OK;
}

/* Overrides the settings that the run has by those of --config and of --set, and by the options. */
static svit_status override_settings(train_run *self)
{
    train_options *options = &self->options;
    svit_model_config model;
    json_t *last = NULL;
    if (self->model)
        TRY(svit_model_get_config(self->model, &model, sizeof model, &options->program.err));
    TRY(train_settings_given(&last, options));
    svit_status status = config_resolve_training(
        &self->trainer_config, &self->optimizer_config, &self->pipeline, &options->program,
        &options->config, options->resumed_training, self->model ? &model : NULL, last);
    json_decref(last);
    return status == SVIT_OK
               ? train_settings_complete(&self->trainer_config, &self->optimizer_config, options)
               : status;
}

/* Takes the settings of a resumed run, of the preset or of the rule for `images` images (0: an
 * unknown number), and what overrides them. */
static svit_status resolve_settings(train_run *self, size_t images)
{
    train_options *options = &self->options;
    svit_trainer_config *trainer = &self->trainer_config;
    if (self->by_rule)
        TRY(train_settings_rule(trainer, &self->optimizer_config, &self->pipeline,
                                &options->program, self->model, images));
    TRY(override_settings(self));
    if (options->program.seed_given)
        trainer->seed = options->program.seed;
    options->program.seed = trainer->seed;
    TRY(find_statistics(self));
    trainer->folder = options->out;
    trainer->existing = options->resume      ? SVIT_EXISTING_RESUME
                        : options->overwrite ? SVIT_EXISTING_OVERWRITE
                                             : SVIT_EXISTING_REFUSE;
    /* Settings are resolved again once the model is known; the place has its leaves by then. */
    if (self->place.mpi)
        trainer->leaves = self->place.reducer.leaves;
    return SVIT_OK;
}

static svit_status load_model(train_run *self)
{
    struct program *program = &self->options.program;
    char path[PATH_CAPACITY];
    TRY(config_refuse_model(program, &self->options.config));
    TRY(path_join(program, path, self->options.resume, RUN_CHECKPOINT_FILE));
    return svit_model_load(&self->model, program->context, path, &program->err);
}

/* CIFAR and the synthetic images are RGB; image files are decoded to the model's channels. */
static svit_status check_channels(train_run *self, const svit_model_config *config)
{
    size_t channels = svit_dataset_channels(self->data.split[SVIT_SPLIT_TRAIN]);
    if (channels == config->in_channels)
        return SVIT_OK;
    return program_fail(&self->options.program, SVIT_E_ARGUMENT,
                        "--data: '%s' has images of %zu channels, and in_channels is %" PRIu32
                        "; folder:DIR, list:FILE.csv and shards:PATTERN give 1, 3 or 4 channels",
                        self->options.data.spec, channels, config->in_channels);
}

/* Opens the data and fits the pipeline. Images of a folder are resized for the model's input, and a
 * new model gets its number of classes from the data, so the input size is determined first, then
 * the data is opened, and the model is created last. */
static svit_status open_data(train_run *self)
{
    struct program *program = &self->options.program;
    const data_option *data = &self->options.data;
    const int stored = self->options.resumed_training != NULL;
    svit_model_config config;
    if (self->model)
        TRY(svit_model_get_config(self->model, &config, sizeof config, &program->err));
    else
        TRY(config_resolve(&config, program, &self->options.config, 0));
    if (!stored && !data_has_own_size(data))
        TRY(pipeline_fit_data(&self->pipeline, program, &self->options.config, NULL));
    TRY(data_open(&self->data, program, data, &self->pipeline, WANT_ALL));
    if (!mpi_is_first(&self->place))
        data_drop(&self->data, SVIT_SPLIT_TEST); /* the first process tests alone */
    TRY(check_channels(self, &config));
    if (self->options.resume)
        TRY(data_check_drawn(&self->data, program, self->options.resumed_drawn,
                             self->options.resume, "it goes on with the images that it had"));
    if (!stored && data_has_own_size(data))
        TRY(pipeline_fit_data(&self->pipeline, program, &self->options.config,
                              self->data.split[SVIT_SPLIT_TRAIN]));
    return bad_check(&self->data, program, data, self->options.on_bad);
}

/* Adds the adapters of --lora or a stored configuration, of `rank` and `alpha`; rank 0: none. */
static svit_status add_adapters(train_run *self, uint32_t rank, double alpha)
{
    const train_options *options = &self->options;
    struct program *program = &self->options.program;
    if (options->lora >= 0) {
        rank = (uint32_t)options->lora;
        alpha = options->lora_alpha < 0 ? (double)rank : options->lora_alpha;
    }
    return rank == 0 ? SVIT_OK
                     : svit_model_add_lora(self->model, rank, alpha, program->seed, &program->err);
}

/* Gives a new model the weights of --init-from, of a classifier those for the data's classes. */
static svit_status init_created(train_run *self, uint32_t rank, double alpha)
{
    train_options *options = &self->options;
    TRY(init_from(&options->program, self->model, &options->config, options->init_from));
    TRY(init_other_classes(&options->program, self->model, &options->config, options->init_from,
                           self->data.split[SVIT_SPLIT_TRAIN]));
    return add_adapters(self, rank, alpha);
}

/* Creates the model with the weights of --init-from, or with initial weights. */
static svit_status create_model(train_run *self)
{
    struct program *program = &self->options.program;
    size_t classes = svit_dataset_classes(self->data.split[SVIT_SPLIT_TRAIN]);
    svit_model_config config;
    TRY(config_resolve(&config, program, &self->options.config, classes));
    const uint32_t rank = config.lora_rank;
    const double alpha = config.lora_alpha;
    if (self->options.init_from) { /* the file has no adapters; they come on top of its weights */
        config.lora_rank = 0;
        config.lora_alpha = 0;
    }
    TRY(svit_model_create(&self->model, program->context, &config, program->seed, &program->err));
    if (self->options.init_from)
        return init_created(self, rank, alpha);
    return config.stem == SVIT_STEM_WHITENED
               ? whiten(program, self->model, self->data.split[SVIT_SPLIT_TRAIN], &self->pipeline)
               : SVIT_OK;
}

/* Gives the model of --init-from its head and adapters, and takes the settings by the rule. The
 * pipeline is fitted to the data already. */
static svit_status adapt_model(train_run *self)
{
    svit_dataset *train = self->data.split[SVIT_SPLIT_TRAIN];
    const svit_pipeline_config fitted = self->pipeline;
    TRY(init_head(&self->options.program, &self->options.config, self->model, train));
    TRY(add_adapters(self, 0, 0));
    TRY(resolve_settings(self, svit_dataset_count(train)));
    self->pipeline = fitted;
    return SVIT_OK;
}

/* Fails for a folder of one class, unless the loss or a masked autoencoder has a use for it. */
static svit_status check_only_class(train_run *self)
{
    const train_options *options = &self->options;
    struct program *program = &self->options.program;
    const char *folder = data_spec_folder(options->data.spec);
    svit_model_config config;
    TRY(svit_model_get_config(self->model, &config, sizeof config, &program->err));
    if (!folder || config.mask_ratio > 0 || self->trainer_config.loss != SVIT_LOSS_CROSS_ENTROPY)
        return SVIT_OK;
    return data_folder_check_classes(program, folder, self->data.split[SVIT_SPLIT_TRAIN]);
}

/* Describes the run for run.json and its checkpoints. */
static svit_status describe(train_run *self)
{
    struct program *program = &self->options.program;
    svit_model_config config;
    char *model = NULL, *training = NULL;
    TRY(svit_model_get_config(self->model, &config, sizeof config, &program->err));
    TRY(config_text(&model, program, &config));
    json_t *list = stored_options(&self->options);
    stored_options_note(&self->options, list);
    svit_status status = training_text(&training, program, &self->trainer_config,
                                       &self->optimizer_config, &self->pipeline);
    if (status == SVIT_OK)
        status = run_file_text(&self->description, program, list, &self->data, model, training);
    self->trainer_config.description = self->description;
    json_decref(list);
    free(training);
    free(model);
    return status;
}

/* Fails if the data have more classes than the model's classifier, to which --config or --set has
 * given their number. */
static svit_status check_classes(train_run *self)
{
    svit_model_config model;
    const svit_dataset *training = self->data.split[SVIT_SPLIT_TRAIN];
    const size_t classes = svit_dataset_classes(training);
    struct program *program = &self->options.program;
    TRY(svit_model_get_config(self->model, &model, sizeof model, &program->err));
    if (classes <= model.num_classes || svit_dataset_has_targets(training) || !model.classifier ||
        model.mask_ratio > 0 || self->options.resume)
        return SVIT_OK;
    return program_fail(program, SVIT_E_ARGUMENT,
                        "training has %zu classes; the model has %" PRIu32
                        "; --set num_classes=%zu is accepted",
                        classes, model.num_classes, classes);
}

/* Hands the folder over to the trainer, which locks it itself. */
static svit_status create_trainer(train_run *self)
{
    struct program *program = &self->options.program;
    self->trainer_config.reducer = self->place.mpi ? &self->place.reducer : NULL;
    svit_folder_lock_free(self->lock);
    self->lock = NULL;
    TRY(check_classes(self));
    TRY(svit_trainer_create(&self->trainer, program->context, self->model,
                            self->data.split[SVIT_SPLIT_TRAIN],
                            self->data.split[SVIT_SPLIT_VALIDATION], &self->trainer_config,
                            &self->optimizer_config, &self->pipeline, &program->err));
    return self->options.resume ? svit_trainer_resume(self->trainer, &program->err) : SVIT_OK;
}

/* Checks the folder of a new run, which takes neither the place of a class of the data nor that of
 * the model that it starts from, nor of what --overwrite does not replace. */
static svit_status check_out(train_run *self)
{
    const train_options *options = &self->options;
    struct program *program = &self->options.program;
    TRY(out_folder_check(program, &options->data, "--out", options->out, 1));
    TRY(output_check_start(program, options->out, "--init-from", options->init_from));
    TRY(output_check_start(program, options->out, "--base", options->config.base));
    return output_check_run(program, options->out, self->trainer_config.tensorboard != 0);
}

/* Prepares the run. The folder is locked first, so that a folder in use is reported before the data
 * is read. */
static svit_status prepare(train_run *self)
{
    struct program *program = &self->options.program;
    if (!self->options.resume)
        TRY(check_out(self));
    if (mpi_is_first(&self->place))
        TRY(run_file_lock(&self->lock, program, self->options.out, &self->trainer_config));
    if (mpi_is_first(&self->place))
        TRY(old_model_find(&self->old, program, self->options.out));
    TRY(path_join(program, self->curves, self->options.out, RUN_CURVES_FILE));
    if (self->options.resume)
        TRY(load_model(self));
    else if (self->by_rule)
        TRY(init_model(&self->model, program, &self->options.config, self->options.init_from));
    if (self->by_rule)
        TRY(resolve_settings(self, 0)); /* the pipeline, by which the data is read */
    TRY(open_data(self));
    if (self->takes_mean || self->takes_variance)
        TRY(pipeline_take_statistics(&self->pipeline, program, self->data.split[SVIT_SPLIT_TRAIN],
                                     self->takes_mean, self->takes_variance));
    if (!self->options.resume)
        TRY(self->by_rule ? adapt_model(self) : create_model(self));
    TRY(check_only_class(self));
    return describe(self);
}

/* Takes the place among the processes of --mpi, whose gradients are added in 16 leaves unless the
 * settings say otherwise: a fixed number, so that any number of processes gives the same result. */
static svit_status join_others(train_run *self)
{
    enum { LEAVES = 16 };
    svit_trainer_config *trainer = &self->trainer_config;
    if (!self->options.mpi)
        return SVIT_OK;
    if (trainer->leaves == 0)
        trainer->leaves = trainer->batch < LEAVES ? trainer->batch : LEAVES;
    return mpi_open(&self->place, &self->options.program, self->options.mpi, trainer->leaves);
}

static void introduce(const train_run *self)
{
    svit_dataset *const *split = self->data.split, *train = split[SVIT_SPLIT_TRAIN];
    const size_t images = svit_dataset_count(train);
    svit_model_config model;
    char folder[SHOWN_CAPACITY];
    if (self->options.program.quiet)
        return;
    svit_model_get_config(self->model, &model, sizeof model, NULL);
    fprintf(stderr,
            "%" PRIu64 " parameters, %" PRIu32 " classes; %zu images train, %zu validate, %zu "
            "test%s%s; "
            "at most %" PRIu32 " epochs in batches of %" PRIu32 ", %" PRIu32 " threads; %s/\n",
            svit_model_parameter_elements(self->model),
            model.mask_ratio > 0 ? (uint32_t)svit_dataset_classes(train) : model.num_classes,
            images, svit_dataset_count(split[SVIT_SPLIT_VALIDATION]),
            svit_dataset_count(split[SVIT_SPLIT_TEST]), self->data.drawn ? ", " : "",
            self->data.drawn ? self->data.drawn : "", self->trainer_config.epochs,
            self->trainer_config.batch, svit_context_threads(self->options.program.context),
            shown_text(folder, self->options.out));
    if (self->by_rule)
        note_rule(&self->trainer_config, &self->optimizer_config, images, self->options.lora >= 0);
    note_unused(&self->options, &self->trainer_config, &self->optimizer_config, &self->data);
    note_average(&self->trainer_config, &self->optimizer_config, images);
}

/* Shows an event and stops the run after a signal; an svit_trainer_callback. */
static int32_t watch(const svit_trainer_event *event, void *user)
{
    train_run *self = user;
    const struct program *program = &self->options.program;
    old_model_outdate(&self->old);
    if (event->kind == SVIT_EVENT_STEP && !program->quiet)
        progress_step(&self->progress, event);
    if (event->kind == SVIT_EVENT_EPOCH && !program->quiet)
        progress_epoch(&self->progress, event);
    if (event->kind == SVIT_EVENT_EPOCH && program->json)
        results_epoch(event);
    if (event->kind == SVIT_EVENT_FINISHED && event->stopped_early && !program->quiet)
        fprintf(stderr,
                "stopped early: no better validation than that of epoch %" PRIu64
                "; --resume with a larger --patience goes on\n",
                event->best_epoch);
    return 0;
}

/* Tests the model. A masked autoencoder has no classes to test. */
static svit_status test(train_run *self)
{
    struct program *program = &self->options.program;
    const size_t images = svit_dataset_count(self->data.split[SVIT_SPLIT_TEST]);
    svit_model_config config;
    TRY(svit_model_get_config(self->model, &config, sizeof config, &program->err));
    if (images == 0 || config.mask_ratio > 0) {
        if (program->json)
            json_line_print(
                json_pack("{s:s, s:I, s:n}", "split", "test", "images", (json_int_t)images, "loss"),
                JSON_LINE_DIGITS);
        else
            puts(config.mask_ratio > 0 ? "test: none" : "test: no images");
        return SVIT_OK;
    }
    const evaluation_how how = {.batch = self->trainer_config.batch,
                                .compute = SVIT_COMPUTE_F32,
                                .tta = self->trainer_config.tta,
                                .loss = self->trainer_config.loss};
    return results_evaluate(program, self->model, self->data.split[SVIT_SPLIT_TEST],
                            self->options.data.spec, "test", &how);
}

/* Writes and tests the model. A picture that cannot be drawn loses neither. */
static svit_status finish(train_run *self)
{
    struct program *program = &self->options.program;
    char path[PATH_CAPACITY];
    TRY(path_join(program, path, self->options.out, RUN_MODEL_FILE));
    TRY(svit_model_save(self->model, path, &program->err));
    const svit_status drawn = curves_draw(program, self->trainer, self->curves);
    const svit_error why = program->err;
    TRY(test(self));
    program->err = why;
    return drawn;
}

/* Says how a run that a signal has stopped goes on. */
static svit_status tell_stop(train_run *self)
{
    struct program *program = &self->options.program;
    char folder[SHOWN_CAPACITY];
    if (mpi_is_first(&self->place) &&
        curves_draw(program, self->trainer, self->curves) != SVIT_OK && !program->quiet)
        fprintf(stderr, "%s: warning: %s\n", option_program_name, program->err.message);
    return program_fail(program, SVIT_E_STOPPED,
                        "stopped, checkpoint written; go on with: shiftvit-train --resume %s",
                        shown_word(folder, self->options.out));
}

/* Trains the model; rank 0 then writes and tests it. */
static svit_status train(train_run *self)
{
    struct program *program = &self->options.program;
    TRY(mpi_agree(&self->place, program, prepare(self)));
    TRY(create_trainer(self));
    introduce(self);
    interrupts_watch();
    svit_status status = svit_trainer_run(self->trainer, watch, self, &program->err);
    interrupts_unwatch();
    old_model_outdate(&self->old);
    if (status != SVIT_OK && !program->quiet)
        progress_clear();
    if (!program->quiet)
        mpi_report(&self->place);
    if (status == SVIT_E_STOPPED)
        return tell_stop(self);
    return status == SVIT_OK && mpi_is_first(&self->place) ? finish(self) : status;
}

/* Opens what a failure on one process alone must not hold up the others for, and trains. */
static svit_status run_together(train_run *self)
{
    self->options.program.stop = interrupts_seen;
    TRY(program_open(&self->options.program));
    TRY(choose_source(self));
    TRY(resolve_settings(self, 0));
    TRY(join_others(self));
    return mpi_agree(&self->place, &self->options.program, train(self));
}

int main(int argc, char **argv)
{
    static train_run run;
    run_file stored = {0};
    train_command_line(&run.options, &stored, argc, argv);
    svit_status status = run_together(&run);
    svit_trainer_free(run.trainer);
    svit_folder_lock_free(run.lock);
    free(run.description);
    svit_model_free(run.model);
    data_close(&run.data);
    int exit_status = program_exit(&run.options.program, status);
    /* Last, for mpirun ends the job when one process has failed, before another may have said why.
     */
    mpi_close(&run.place);
    run_file_free(&stored);
    return exit_status;
}
