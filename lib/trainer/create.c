/* Creates and frees trainers. */
#include "base/files/path.h"
#include "base/text/utf8.h"
#include "base/threads/fp_env.h"
#include "data/datasets/dataset_ops.h"
#include "session/checkpoint/checkpoint_frozen.h"
#include "session/optimizer_handle.h"
#include "session/session.h"
#include "trainer/checkpoint/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

svit_status sv_trainer_copy_text(const char **out, const svit_trainer *trainer, const char *text,
                                 svit_error *err)
{
    *out = text ? sv_copy_text(&trainer->context->allocator, text) : NULL;
    return text && !*out ? sv_fail_memory(err, strlen(text) + 1, "a text") : SVIT_OK;
}

/* Copies the texts of the caller's configuration into the trainer. */
static svit_status copy_texts(svit_trainer *trainer, const svit_trainer_config *config,
                              svit_error *err)
{
    if (config->description && !sv_utf8_valid(config->description))
        return sv_fail(err, SVIT_E_ARGUMENT, "description is not UTF-8; such a text is accepted");
    SVIT_TRY(sv_trainer_copy_text(&trainer->config.description, trainer, config->description, err));
    if (config->folder)
        SVIT_TRY(sv_path_home(&trainer->home, &trainer->context->allocator, config->folder, err));
    return sv_trainer_copy_text(&trainer->config.folder, trainer, config->folder, err);
}

/* Computes the fingerprints that a resume compares, and that ranks compare. A run without a folder
 * has no checkpoint. */
static svit_status read_fingerprints(svit_trainer *trainer, const svit_dataset *training,
                                     const svit_dataset *validation, svit_error *err)
{
    if (!trainer->config.folder && trainer->ranks.reducer.ranks == 1)
        return SVIT_OK;
    SVIT_TRY(svit_dataset_fingerprint(training, &trainer->training_fingerprint, err));
    if (!validation)
        return SVIT_OK;
    return svit_dataset_fingerprint(validation, &trainer->validation_fingerprint, err);
}

/* Imports the optimiser's configuration and computes the length of a schedule that has none. */
static svit_status read_optimizer(svit_trainer *trainer, const svit_optimizer_config *optimizer,
                                  svit_error *err)
{
    svit_optimizer_config *local = &trainer->optimizer_config;
    SVIT_TRY(sv_config_read(&sv_optimizer_config_type, local, optimizer, err));
    sv_trainer_note_unused(trainer);
    trainer->warmup_steps = local->warmup_steps;
    if (sv_optim_lacks_length(local))
        sv_trainer_compute_schedule(trainer, trainer->config.epochs);
    uint64_t batch = trainer->config.batch;
    if (local->swa_every == 0 && local->ema == SVIT_EMA_SWA)
        local->swa_every = (trainer->training_count + batch - 1) / batch;
    return SVIT_OK;
}

/* Imports the pipeline and checks that its output is the model's input. */
static svit_status read_pipeline(svit_trainer *trainer, const svit_pipeline_config *pipeline,
                                 svit_error *err)
{
    const svit_model_config *model = &trainer->model->config;
    svit_pipeline_config *local = &trainer->pipeline;
    sv_config_defaults(&sv_pipeline_config_type, local);
    if (pipeline)
        SVIT_TRY(sv_config_read(&sv_pipeline_config_type, local, pipeline, err));
    if (local->output_height != model->input_height || local->output_width != model->input_width)
        return sv_fail(
            err, SVIT_E_ARGUMENT, "the pipeline's output is %u x %u; the model's input is %u x %u",
            local->output_height, local->output_width, model->input_height, model->input_width);
    if (local->channels != model->in_channels)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the pipeline's channels is %u; the model's in_channels is %u",
                       local->channels, model->in_channels);
    return SVIT_OK;
}

/* Notes the sizes of the model and of the micro-batches, and what a forward of an image costs. */
static svit_status measure_model(svit_trainer *trainer, svit_error *err)
{
    const svit_model_config *model = &trainer->model->config;
    const uint32_t batch = trainer->config.batch, leaves = trainer->config.leaves;
    const uint32_t parts = leaves > 0 ? leaves : trainer->config.accumulate;
    uint64_t with_backward;
    trainer->micro_batch = (batch + parts - 1) / parts;
    trainer->classes = model->num_classes;
    trainer->image_floats = (size_t)model->input_height * model->input_width * model->in_channels;
    return sv_model_multiply_adds(trainer->model, model->input_height, model->input_width,
                                  &trainer->multiply_adds, &with_backward, err);
}

/* Sets the objective from the configuration. Rows of targets are as wide as rows of logits. */
static svit_status read_objective(svit_trainer *trainer, const svit_dataset *training,
                                  svit_error *err)
{
    const svit_trainer_config *config = &trainer->config;
    const size_t classes = trainer->classes;
    trainer->objective = (sv_objective){.loss = config->loss,
                                        .label_smoothing = (float)config->label_smoothing,
                                        .classes = classes};
    const bool masked = trainer->model->config.mask_ratio > 0;
    trainer->objective.masked = masked ? &trainer->model->config : NULL;
    SVIT_TRY(sv_views_check(config->tta, trainer->model, err));
    if (masked && config->loss != SVIT_LOSS_MSE)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the model's mask_ratio is above 0, so that it reconstructs images; loss "
                       "'mse' is accepted");
    if (!masked && config->loss != SVIT_LOSS_CROSS_ENTROPY &&
        svit_dataset_classes(training) != classes)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "training has %zu classes or targets; the model has %zu outputs, and "
                       "this loss needs equally many",
                       svit_dataset_classes(training), classes);
    SVIT_TRY(sv_objective_check(&trainer->objective, training, "training", trainer->context, err));
    return sv_trainer_set_class_weights(trainer, training, err);
}

/* Mixed images have targets for the dataset's classes, which must be those of the model. */
static svit_status check_mixing(const svit_trainer *trainer, const svit_dataset *training,
                                svit_error *err)
{
    if (svit_loader_has_targets(trainer->loader) && trainer->objective.masked)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the pipeline mixes images, and the model reconstructs them; a pipeline "
                       "without SVIT_AUGMENT_MIXUP and SVIT_AUGMENT_CUTMIX is accepted");
    if (svit_loader_has_targets(trainer->loader) &&
        svit_dataset_classes(training) != trainer->classes)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "the pipeline mixes images, but training has %zu classes and the "
                       "model %zu; they are equally many",
                       svit_dataset_classes(training), trainer->classes);
    return SVIT_OK;
}

svit_status sv_trainer_open_session(const svit_trainer *trainer, bool early, svit_session **out,
                                    svit_error *err)
{
    svit_session_config config;
    SVIT_TRY(svit_session_config_init(&config, sizeof config));
    config.max_batch = (uint32_t)trainer->micro_batch;
    config.mode = SVIT_MODE_TRAIN;
    config.compute = trainer->config.compute;
    config.seed = trainer->config.seed;
    config.memory = trainer->config.memory;
    config.check_finite = trainer->config.check_finite;
    config.context = trainer->passes;
    if (early) {
        config.input_height = trainer->config.early_height;
        config.input_width = trainer->config.early_width;
    }
    svit_session *session;
    SVIT_TRY(svit_session_create(&session, trainer->model, &config, err));
    svit_status status = trainer->config.leaves > 0
                             ? svit_session_set_reducer(session, &trainer->ranks.reducer, err)
                             : SVIT_OK;
    if (status == SVIT_OK)
        *out = session;
    else
        svit_session_free(session);
    return status;
}

svit_status sv_trainer_open_optimizer(const svit_trainer *trainer, svit_optimizer **out,
                                      const svit_optimizer_config *config, svit_error *err)
{
    return sv_optimizer_create(out, trainer->model, trainer->passes, NULL, config, err);
}

static svit_status open_loader(svit_trainer *trainer, svit_dataset *training, svit_error *err)
{
    svit_loader_config config;
    SVIT_TRY(svit_loader_config_init(&config, sizeof config));
    config.batch = trainer->config.batch;
    config.seed = trainer->config.seed;
    config.shuffle = 1;
    config.sampling = trainer->config.sampling;
    config.augment = 1;
    config.prefetch = trainer->config.prefetch;
    config.leaves = trainer->config.leaves;
    config.rank = trainer->ranks.reducer.rank;
    config.ranks = trainer->ranks.reducer.ranks;
    config.shuffle_window = trainer->config.shuffle_window;
    SVIT_TRY(sv_objective_open_loader(&trainer->loader, &trainer->objective, training,
                                      &trainer->pipeline, &config, err));
    trainer->steps = svit_loader_batches(trainer->loader);
    return SVIT_OK;
}

static svit_status open_buffers(svit_trainer *trainer, svit_error *err)
{
    sv_arrays *arrays = &trainer->arrays;
    const svit_reducer *place = &trainer->ranks.reducer;
    const size_t leaves = trainer->config.leaves, row = trainer->classes * sizeof(float);
    const size_t own = sv_size_partition(leaves, place->ranks, place->rank + 1) -
                       sv_size_partition(leaves, place->ranks, place->rank);
    const size_t image = trainer->image_floats * sizeof(float);
    const size_t batch = place->ranks > 1 ? own * trainer->micro_batch : trainer->config.batch;
    SVIT_TRY(sv_arrays_add(arrays, &trainer->data.images, batch, image, "a batch of images", err));
    SVIT_TRY(sv_arrays_add(arrays, &trainer->data.labels, batch, sizeof(int32_t),
                           "the labels of a batch", err));
    if (sv_objective_needs_targets(&trainer->objective, trainer->loader))
        SVIT_TRY(sv_arrays_add(arrays, &trainer->data.targets, batch, row, "the targets of a batch",
                               err));
    SVIT_TRY(sv_arrays_add(arrays, &trainer->logits, trainer->micro_batch, row, "logits", err));
    SVIT_TRY(sv_arrays_add(arrays, &trainer->dlogits, trainer->micro_batch, row,
                           "gradients of logits", err));
    if (leaves > 0) {
        SVIT_TRY(sv_arrays_add(arrays, &trainer->own_leaves, own, sizeof(sv_leaf),
                               "the leaves of a batch", err));
        SVIT_TRY(sv_arrays_add(arrays, &trainer->all_leaves, leaves, sizeof(sv_leaf),
                               "the leaves of a batch", err));
    }
    if (trainer->config.keep != SVIT_KEEP_BEST)
        return SVIT_OK;
    return sv_arrays_add(arrays, &trainer->best, trainer->model->parameters.elements,
                         sizeof *trainer->best, "the best weights", err);
}

/* Fails unless the model accepts the images of both datasets, and their labels as the same
 * classes. */
static svit_status check_data(const svit_trainer *trainer, const svit_dataset *training,
                              const svit_dataset *validation, svit_error *err)
{
    const svit_model *model = trainer->model;
    SVIT_TRY(sv_trainer_check_fit(model, training, training, "training", true, err));
    return validation ? sv_trainer_check_fit(model, training, validation, "validation", true, err)
                      : SVIT_OK;
}

static svit_status open_validation(svit_trainer *trainer, svit_dataset *validation, svit_error *err)
{
    if (!validation)
        return SVIT_OK;
    trainer->validation_count = svit_dataset_count(validation);
    SVIT_TRY(
        sv_objective_check(&trainer->objective, validation, "validation", trainer->context, err));
    const sv_evaluation how = {.passes = trainer->passes,
                               .ranks = &trainer->ranks,
                               .batch = trainer->micro_batch,
                               .compute = trainer->config.compute,
                               .tta = trainer->config.tta,
                               .loss = trainer->config.loss,
                               .prefetch = trainer->config.prefetch};
    return sv_evaluator_open(&trainer->validation, trainer->context, trainer->model, validation,
                             &trainer->pipeline, &how, err);
}

/* Copies the class names of the training set to the model if it names every class of the model. */
static svit_status set_class_names(const svit_trainer *trainer, const svit_dataset *training,
                                   svit_error *err)
{
    if (!training->names)
        return SVIT_OK;
    if (trainer->model->config.mask_ratio > 0)
        return SVIT_OK;
    if (training->classes != trainer->classes) {
        sv_context_warn(trainer->context,
                        "the model has %zu classes and the training set names %zu: the model does "
                        "not get its class names",
                        trainer->classes, training->classes);
        return SVIT_OK;
    }
    return svit_model_set_classes(trainer->model, training->names, training->classes, err);
}

/* Freezes in the model what the groups of the optimiser freeze, so that the session computes no
 * gradients of it, and keeps in *before what was frozen. Without such a group that stays as it is.
 * Patterns that match nothing are reported by svit_optimizer_create. */
static svit_status freeze_groups(svit_trainer *trainer, sv_frozen_set *before, svit_error *err)
{
    const svit_optimizer_config *config = &trainer->optimizer_config;
    const sv_parameter_table *table = &trainer->model->parameters;
    uint32_t frozen = 0;
    for (uint32_t g = 0; g < config->group_count; g++)
        frozen += !config->groups[g].trainable;
    if (frozen == 0)
        return SVIT_OK;
    SVIT_TRY(sv_frozen_set_keep(before, trainer->model, err));
    for (uint32_t g = 0; g < config->group_count; g++)
        svit_model_set_trainable(trainer->model, config->groups[g].pattern,
                                 config->groups[g].trainable, NULL);
    for (size_t i = 0; i < table->count; i++)
        if (!table->list[i].frozen)
            return SVIT_OK;
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "nothing is left to train: the groups freeze the rest of the model");
}

/* States what predictors make of the logits that this loss trains. */
static svit_status set_output(const svit_trainer *trainer, svit_error *err)
{
    static const int32_t OUTPUTS[] = {[SVIT_LOSS_CROSS_ENTROPY] = SVIT_OUTPUT_SOFTMAX,
                                      [SVIT_LOSS_BINARY] = SVIT_OUTPUT_SIGMOID,
                                      [SVIT_LOSS_MSE] = SVIT_OUTPUT_LOGITS};
    return svit_model_set_output(trainer->model, OUTPUTS[trainer->config.loss], err);
}

/* Takes over the leaves of the reducer, which are those of the run. */
static svit_status read_ranks(svit_trainer *trainer, svit_error *err)
{
    svit_trainer_config *config = &trainer->config;
    const svit_reducer *reducer = &trainer->ranks.reducer;
    if (!config->reducer)
        return SVIT_OK;
    config->reducer = NULL;
    if (config->leaves > 0 && config->leaves != reducer->leaves)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "leaves is %u and the reducer has %u; 0 or equally many are accepted",
                       config->leaves, reducer->leaves);
    config->leaves = reducer->leaves;
    return sv_config_check(&sv_trainer_config_type, config, err);
}

/* Does the work of svit_trainer_create that may fail; the caller frees a partly created trainer. */
static svit_status create_steps(svit_trainer *trainer, sv_frozen_set *before,
                                const svit_trainer_config *config, svit_dataset *training,
                                svit_dataset *validation, const svit_optimizer_config *optimizer,
                                const svit_pipeline_config *pipeline, svit_error *err)
{
    SVIT_TRY(read_ranks(trainer, err));
    if (config->keep == SVIT_KEEP_BEST && !validation)
        return sv_fail(
            err, SVIT_E_ARGUMENT,
            "keep is 'best' and there is no validation data, by which the best weights are "
            "chosen; 'last' is accepted");
    SVIT_TRY(copy_texts(trainer, config, err));
    trainer->training_count = svit_dataset_count(training);
    SVIT_TRY(check_data(trainer, training, validation, err));
    SVIT_TRY(read_optimizer(trainer, optimizer, err));
    SVIT_TRY(read_pipeline(trainer, pipeline, err));
    SVIT_TRY(measure_model(trainer, err));
    SVIT_TRY(read_objective(trainer, training, err));
    SVIT_TRY(freeze_groups(trainer, before, err));
    SVIT_TRY(
        sv_trainer_open_optimizer(trainer, &trainer->optimizer, &trainer->optimizer_config, err));
    SVIT_TRY(sv_trainer_open_early(trainer, err));
    trainer->session_is_early = sv_trainer_is_early(trainer, 0);
    SVIT_TRY(sv_trainer_open_session(trainer, trainer->session_is_early, &trainer->session, err));
    SVIT_TRY(open_loader(trainer, training, err));
    sv_trainer_note_no_average(trainer);
    SVIT_TRY(check_mixing(trainer, training, err));
    SVIT_TRY(open_validation(trainer, validation, err));
    SVIT_TRY(open_buffers(trainer, err));
    SVIT_TRY(read_fingerprints(trainer, training, validation, err));
    SVIT_TRY(sv_trainer_folder_open(trainer, err));
    SVIT_TRY(sv_trainer_check_start(trainer, training, validation, err));
    /* The model is changed last, so that a failure leaves it as it was. The pipeline is legal here.
     */
    SVIT_TRY(set_class_names(trainer, training, err));
    SVIT_TRY(set_output(trainer, err));
    return svit_model_set_pipeline(trainer->model, &trainer->pipeline, err);
}

static svit_status check_arguments(svit_trainer **out, const svit_context *context,
                                   const svit_model *model, const svit_dataset *training,
                                   svit_error *err)
{
    const char *missing = !out        ? "out"
                          : !context  ? "context"
                          : !model    ? "model"
                          : !training ? "training"
                                      : NULL;
    if (!missing)
        return SVIT_OK;
    return sv_fail_null(err, "svit_trainer_create", missing);
}

/* Allocates a trainer that can tell the other ranks a failure. After a failure of its own,
 * svit_trainer_free takes *out. */
static svit_status open_trainer(svit_trainer **out, svit_context *context, svit_model *model,
                                const svit_trainer_config *config, svit_error *err)
{
    svit_trainer *trainer;
    SVIT_TRY(sv_allocate_array(&context->allocator, (void **)&trainer, 1, sizeof *trainer,
                               "a trainer", err));
    *out = trainer;
    trainer->context = sv_context_retain(context);
    trainer->arrays.allocator = &context->allocator;
    trainer->passes = sv_session_context(model, context);
    trainer->model = model;
    trainer->config = *config;
    trainer->config.folder = trainer->config.description = NULL; /* until copy_texts copies them */
    trainer->progress.best_top1 = -INFINITY;
    trainer->ranks = sv_ranks_alone();
    trainer->ranks.reducer.leaves = config->leaves;
    return config->reducer ? sv_ranks_open(&trainer->ranks, context, config->reducer, err)
                           : SVIT_OK;
}

SVIT_API svit_status svit_trainer_create(svit_trainer **out, svit_context *context,
                                         svit_model *model, svit_dataset *training,
                                         svit_dataset *validation,
                                         const svit_trainer_config *config,
                                         const svit_optimizer_config *optimizer,
                                         const svit_pipeline_config *pipeline, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    svit_trainer_config local;
    svit_trainer *trainer = NULL;
    sv_frozen_set before = {0}; /* what the model had frozen, which a failure brings back */
    svit_error cause = {.struct_size = sizeof cause}, refused = {.struct_size = sizeof refused};
    /* The other ranks wait for this one, so that what is wrong is kept until they can be told. */
    const svit_status read = sv_config_read(&sv_trainer_config_type, &local, config, &refused);
    svit_status status = check_arguments(out, context, model, training, &cause);
    if (status == SVIT_OK)
        status = open_trainer(&trainer, context, model, &local, &cause);
    status = sv_ranks_begin(local.reducer, status, &cause);
    if (status != SVIT_OK) {
        svit_trainer_free(trainer);
        return svit_error_set(err, status, cause.message);
    }
    if (read != SVIT_OK)
        status = svit_error_set(&cause, read, refused.message);
    else
        status = create_steps(trainer, &before, &local, training, validation, optimizer, pipeline,
                              &cause);
    if (status != SVIT_OK)
        sv_frozen_set_bring_back(&before, model);
    sv_frozen_set_free(&before, model);
    if (status != SVIT_OK) {
        status = sv_ranks_agree(&trainer->ranks, status, &cause);
        svit_trainer_free(trainer);
        return svit_error_set(err, status, cause.message);
    }
    *out = trainer;
    return SVIT_OK;
}

SVIT_API void svit_trainer_free(svit_trainer *trainer)
{
    if (!trainer)
        return;
    svit_context *context = trainer->context;
    const sv_allocator *allocator = &context->allocator;
    sv_evaluator_close(&trainer->validation);
    svit_loader_free(trainer->loader);
    svit_optimizer_free(trainer->optimizer);
    svit_folder_lock_free(trainer->lock);
    svit_session_free(trainer->session);
    sv_shrink_free(trainer->shrink);
    sv_arrays_free(&trainer->arrays);
    sv_ranks_close(&trainer->ranks);
    sv_release(allocator, trainer->history, trainer->history_capacity * sizeof *trainer->history);
    sv_release_text(allocator, trainer->home);
    sv_release_text(allocator, (char *)trainer->config.folder);
    sv_release_text(allocator, (char *)trainer->config.description);
    sv_release(allocator, trainer, sizeof *trainer);
    svit_context_free(context);
}
