/* Evaluates a model on a dataset, batch by batch, without gradients. */
#include "base/threads/fp_env.h"
#include "trainer/trainer.h"

#include "base/size.h"
#include "data/datasets/dataset_ops.h"
#include "session/session.h"

#include <math.h>
#include <string.h>

static svit_status open_session(sv_evaluator *evaluator, svit_model *model,
                                const sv_evaluation *how, const svit_pipeline_config *pipeline,
                                svit_error *err)
{
    size_t height, width;
    SVIT_TRY(svit_pipeline_evaluation_size(pipeline, &height, &width, err));
    svit_session_config config;
    SVIT_TRY(svit_session_config_init(&config, sizeof config));
    config.max_batch = (uint32_t)evaluator->batch;
    config.mode = SVIT_MODE_INFER;
    config.compute = how->compute;
    config.context = how->passes;
    config.input_height = (uint32_t)height;
    config.input_width = (uint32_t)width;
    evaluator->views.height = height;
    evaluator->views.width = width;
    evaluator->views.channels = pipeline->channels;
    evaluator->views.classes = model->config.num_classes;
    return svit_session_create(&evaluator->session, model, &config, err);
}

static svit_status open_loader(sv_evaluator *evaluator, svit_dataset *dataset, uint32_t prefetch,
                               const svit_pipeline_config *pipeline, svit_error *err)
{
    svit_loader_config config;
    SVIT_TRY(svit_loader_config_init(&config, sizeof config));
    config.batch = (uint32_t)evaluator->batch;
    config.prefetch = prefetch;
    return sv_objective_open_loader(&evaluator->loader, &evaluator->objective, dataset, pipeline,
                                    &config, err);
}

static svit_status open_buffers(sv_evaluator *evaluator, svit_error *err)
{
    sv_arrays *arrays = &evaluator->arrays;
    const sv_views *views = &evaluator->views;
    const size_t batch = evaluator->batch, row = views->classes * sizeof(float);
    const size_t image = views->height * views->width * views->channels * sizeof(float);
    SVIT_TRY(
        sv_arrays_add(arrays, &evaluator->data.images, batch, image, "a batch of images", err));
    SVIT_TRY(sv_arrays_add(arrays, &evaluator->logits, batch, row, "logits", err));
    SVIT_TRY(sv_views_allocate(&evaluator->views, arrays, batch, err));
    if (sv_objective_needs_targets(&evaluator->objective, evaluator->loader))
        SVIT_TRY(sv_arrays_add(arrays, &evaluator->data.targets, batch, row,
                               "the targets of a batch", err));
    const size_t batches = (size_t)svit_loader_batches(evaluator->loader);
    SVIT_TRY(sv_arrays_add(arrays, &evaluator->own, batches, sizeof *evaluator->own,
                           "the sums of batches", err));
    SVIT_TRY(sv_arrays_add(arrays, &evaluator->all, batches, sizeof *evaluator->all,
                           "the sums of batches", err));
    return sv_arrays_add(arrays, &evaluator->data.labels, batch, sizeof(int32_t),
                         "the labels of a batch", err);
}

static svit_status open_steps(sv_evaluator *evaluator, svit_model *model, svit_dataset *dataset,
                              const svit_pipeline_config *pipeline, const sv_evaluation *how,
                              svit_error *err)
{
    const bool masked = model->config.mask_ratio > 0;
    evaluator->objective = (sv_objective){.loss = masked ? SVIT_LOSS_MSE : how->loss,
                                          .classes = model->config.num_classes,
                                          .masked = masked ? &model->config : NULL};
    SVIT_TRY(open_session(evaluator, model, how, pipeline, err));
    SVIT_TRY(open_loader(evaluator, dataset, how->prefetch, pipeline, err));
    return open_buffers(evaluator, err);
}

svit_status sv_evaluator_open(sv_evaluator *evaluator, svit_context *context, svit_model *model,
                              svit_dataset *dataset, const svit_pipeline_config *pipeline,
                              const sv_evaluation *how, svit_error *err)
{
    size_t count = svit_dataset_count(dataset);
    *evaluator = (sv_evaluator){.arrays.allocator = &context->allocator,
                                .context = context,
                                .ranks = how->ranks,
                                .batch = sv_size_min(how->batch, count),
                                .views.tta = how->tta};
    svit_status status = open_steps(evaluator, model, dataset, pipeline, how, err);
    if (status != SVIT_OK)
        sv_evaluator_close(evaluator);
    return status;
}

void sv_evaluator_close(sv_evaluator *evaluator)
{
    sv_arrays_free(&evaluator->arrays);
    svit_loader_free(evaluator->loader);
    svit_session_free(evaluator->session);
    *evaluator = (sv_evaluator){0};
}

/* Reads a batch and computes its logits, unless the caller asks to stop. */
static svit_status next_logits(sv_evaluator *evaluator, svit_error *err)
{
    SVIT_TRY(sv_ranks_go_on(evaluator->ranks, evaluator->context, &evaluator->asked, err));
    SVIT_TRY(sv_batch_next(&evaluator->data, &evaluator->objective, evaluator->loader, err));
    return sv_views_forward(&evaluator->views, evaluator->session, evaluator->data.images,
                            evaluator->data.n, 0, evaluator->logits, err);
}

/* Evaluates the next batch. */
static svit_status run_batch(sv_evaluator *evaluator, sv_metrics *metrics, svit_error *err)
{
    const float *logits = evaluator->logits;
    float loss;
    *metrics = (sv_metrics){0};
    SVIT_TRY(next_logits(evaluator, err));
    SVIT_TRY(sv_objective_loss(&evaluator->objective, &evaluator->data, logits, &loss, NULL, err));
    return sv_metrics_add(metrics, &evaluator->objective, &evaluator->data, logits, loss, err);
}

svit_status sv_evaluator_run(sv_evaluator *evaluator, sv_metrics *metrics, svit_error *err)
{
    const svit_reducer *place = &evaluator->ranks->reducer;
    const uint64_t batches = svit_loader_batches(evaluator->loader);
    const uint64_t first = svit_partition_begin(batches, place->ranks, place->rank);
    const uint64_t end = svit_partition_begin(batches, place->ranks, place->rank + 1);
    SVIT_TRY(svit_loader_seek(evaluator->loader, 0, first, err));
    for (uint64_t batch = first; batch < end; batch++)
        SVIT_TRY(run_batch(evaluator, &evaluator->own[batch - first], err));
    SVIT_TRY(sv_ranks_collect(evaluator->ranks, evaluator->own, evaluator->all, (size_t)batches,
                              sizeof *evaluator->own, err));
    *metrics = (sv_metrics){0};
    for (uint64_t batch = 0; batch < batches; batch++)
        sv_metrics_join(metrics, &evaluator->all[batch]);
    return SVIT_OK;
}

SVIT_API svit_status svit_evaluate(svit_context *context, svit_model *model, svit_dataset *dataset,
                                   const svit_pipeline_config *pipeline, size_t batch, double *loss,
                                   double *top1, double *top5, svit_error *err)
{
    SV_REQUIRE(context);
    SV_REQUIRE(model);
    SV_REQUIRE(dataset);
    return svit_evaluate_with_compute(context, model, dataset, pipeline, batch, SVIT_COMPUTE_F32,
                                      loss, top1, top5, err);
}

/* Checks the arguments that the evaluating functions share, of which the pointers have been
 * checked, sets how->passes, and opens an evaluator. */
static svit_status open_checked(sv_evaluator *evaluator, svit_context *context, svit_model *model,
                                svit_dataset *dataset, const svit_pipeline_config *pipeline,
                                sv_evaluation *how, bool reads_labels, svit_error *err)
{
    svit_pipeline_config local;
    if (!pipeline && model->has_pipeline)
        pipeline = &model->pipeline;
    sv_config_defaults(&sv_pipeline_config_type, &local);
    if (pipeline)
        SVIT_TRY(sv_config_read(&sv_pipeline_config_type, &local, pipeline, err));
    else
        sv_context_warn(context,
                        "pipeline is NULL and the model has none; the default pipeline evaluates "
                        "it");
    if (how->batch < 1 || how->batch > 65536)
        return sv_fail(err, SVIT_E_ARGUMENT, "batch is %zu; it is 1..65536", how->batch);
    SVIT_TRY(sv_trainer_check_fit(model, NULL, dataset, "dataset", reads_labels, err));
    how->passes = sv_session_context(model, context);
    return sv_evaluator_open(evaluator, context, model, dataset, &local, how, err);
}

SVIT_API svit_status svit_evaluate_with_compute(svit_context *context, svit_model *model,
                                                svit_dataset *dataset,
                                                const svit_pipeline_config *pipeline, size_t batch,
                                                int32_t compute, double *loss, double *top1,
                                                double *top5, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(context);
    SV_REQUIRE(model);
    SV_REQUIRE(dataset);
    sv_ranks alone = sv_ranks_alone();
    sv_evaluation how = {.ranks = &alone, .batch = batch, .compute = compute, .prefetch = 2};
    sv_evaluator evaluator;
    SVIT_TRY(open_checked(&evaluator, context, model, dataset, pipeline, &how, true, err));
    sv_metrics metrics;
    svit_status status = sv_objective_check(&evaluator.objective, dataset, "dataset", context, err);
    if (status == SVIT_OK)
        status = sv_evaluator_run(&evaluator, &metrics, err);
    sv_evaluator_close(&evaluator);
    if (status != SVIT_OK)
        return status;
    const double samples = (double)metrics.samples;
    const bool has_classes = model->config.mask_ratio == 0;
    if (loss)
        *loss = metrics.loss / samples;
    if (top1)
        *top1 = has_classes ? (double)metrics.top1 / samples : NAN;
    if (top5)
        *top5 = has_classes ? (double)metrics.top5 / samples : NAN;
    return SVIT_OK;
}

/* Computes the logits of all batches, one after another. Labels of targets are -1. */
static svit_status run_logits(sv_evaluator *evaluator, float *logits, int32_t *labels,
                              svit_error *err)
{
    const size_t classes = evaluator->objective.classes;
    for (uint64_t left = svit_loader_batches(evaluator->loader); left > 0; left--) {
        SVIT_TRY(next_logits(evaluator, err));
        const size_t n = evaluator->data.n;
        memcpy(logits, evaluator->logits, n * classes * sizeof *logits);
        logits += n * classes;
        for (size_t i = 0; labels && i < n; i++)
            *labels++ = evaluator->data.targets ? -1 : evaluator->data.labels[i];
    }
    return SVIT_OK;
}

SVIT_API svit_status svit_evaluate_logits(svit_context *context, svit_model *model,
                                          svit_dataset *dataset,
                                          const svit_pipeline_config *pipeline, size_t batch,
                                          int32_t compute, int32_t tta, float *logits,
                                          int32_t *labels, svit_error *err)
{
    SV_DEFAULT_FP_ENV;
    SV_REQUIRE(logits);
    SV_REQUIRE(context);
    SV_REQUIRE(model);
    SV_REQUIRE(dataset);
    SVIT_TRY(sv_views_check(tta, model, err));
    sv_ranks alone = sv_ranks_alone();
    sv_evaluation how = {
        .ranks = &alone, .batch = batch, .compute = compute, .tta = tta, .prefetch = 2};
    sv_evaluator evaluator;
    SVIT_TRY(
        open_checked(&evaluator, context, model, dataset, pipeline, &how, labels != NULL, err));
    svit_status status = run_logits(&evaluator, logits, labels, err);
    sv_evaluator_close(&evaluator);
    return status;
}
