/* Scenarios of trainers, evaluations and feature sets. */
#include "scenario.h"

static svit_status create(world *w, const svit_trainer_config *config, svit_error *err)
{
    const svit_pipeline_config pipeline = world_pipeline();
    svit_optimizer_config optimizer = world_optimizer();
    optimizer.group_count = 1;
    optimizer.groups[0] =
        (svit_parameter_group){.pattern = "*.bias", .lr_scale = 1, .weight_decay = -1};
    return svit_trainer_create(&w->made.trainer, w->has.context, w->has.model, w->has.dataset,
                               w->has.dataset, config, &optimizer, &pipeline, err);
}

SCENARIO(svit_trainer_create, NEEDS_MODEL | NEEDS_DATASET, 0)
{
    const svit_trainer_config config = world_trainer();
    return create(w, &config, err);
}

VARIANT(svit_trainer_create, weighted, NEEDS_MODEL | NEEDS_DATASET, 0, NULL)
{
    svit_trainer_config config = world_trainer();
    config.keep = SVIT_KEEP_LAST;
    config.leaves = 2;
    config.tta = SVIT_TTA_FLIP_SHIFT;
    config.class_weight_count = CLASSES;
    for (size_t i = 0; i < CLASSES; i++)
        config.class_weights[i] = 1 + (double)i;
    return create(w, &config, err);
}

VARIANT(svit_trainer_create, balanced, NEEDS_MODEL | NEEDS_DATASET, 0, NULL)
{
    svit_trainer_config config = world_trainer();
    config.class_weighting = SVIT_CLASS_WEIGHTING_BALANCED;
    return create(w, &config, err);
}

static void shrink_early(svit_trainer_config *config)
{
    config->early_fraction = 0.5;
    config->early_height = config->early_width = SIDE - 2;
}

VARIANT(svit_trainer_create, early, NEEDS_MODEL | NEEDS_DATASET, 0, NULL)
{
    svit_trainer_config config = world_trainer();
    shrink_early(&config);
    return create(w, &config, err);
}

VARIANT(svit_trainer_create, overwrite, NEEDS_MODEL | NEEDS_DATASET | NEEDS_RUN, 0, NULL)
{
    svit_trainer_config config = world_trainer();
    config.existing = SVIT_EXISTING_OVERWRITE;
    return create(w, &config, err);
}

static void make_resumer(world *w)
{
    const svit_pipeline_config pipeline = world_pipeline();
    const svit_optimizer_config optimizer = world_optimizer();
    svit_trainer_config config = world_trainer();
    config.existing = SVIT_EXISTING_RESUME;
    config.epochs = 3;
    WORKS(svit_trainer_create(&w->has.trainer, w->has.context, w->has.model, w->has.dataset,
                              w->has.dataset, &config, &optimizer, &pipeline, err));
}

VARIANT(svit_trainer_resume, , NEEDS_MODEL | NEEDS_DATASET | NEEDS_RUN, GOES_ON, make_resumer)
{
    return svit_trainer_resume(w->has.trainer, err);
}

SCENARIO(svit_trainer_run, NEEDS_TRAINER, GOES_ON)
{
    return svit_trainer_run(w->has.trainer, NULL, NULL, err);
}

static void make_overwriter(world *w)
{
    const svit_pipeline_config pipeline = world_pipeline();
    const svit_optimizer_config optimizer = world_optimizer();
    svit_trainer_config config = world_trainer();
    config.existing = SVIT_EXISTING_OVERWRITE;
    config.description = NULL;
    config.tensorboard = 0;
    config.epochs = 1;
    WORKS(svit_trainer_create(&w->has.trainer, w->has.context, w->has.model, w->has.dataset,
                              w->has.dataset, &config, &optimizer, &pipeline, err));
}

VARIANT(svit_trainer_run, overwrite, NEEDS_MODEL | NEEDS_DATASET | NEEDS_RUN, GOES_ON,
        make_overwriter)
{
    return svit_trainer_run(w->has.trainer, NULL, NULL, err);
}

SCENARIO(svit_trainer_step, NEEDS_TRAINER, PURE)
{
    return svit_trainer_step(w->has.trainer, OUT(svit_trainer_event, 1), sizeof(svit_trainer_event),
                             err);
}

/* Two steps are an epoch, whose end writes files. */
static void go_to_epoch_end(world *w)
{
    svit_trainer_event event;
    for (int i = 0; i < 2; i++)
        WORKS(svit_trainer_step(w->has.trainer, &event, sizeof event, err));
}

VARIANT(svit_trainer_step, epoch, NEEDS_TRAINER, GOES_ON, go_to_epoch_end)
{
    return svit_trainer_step(w->has.trainer, OUT(svit_trainer_event, 1), sizeof(svit_trainer_event),
                             err);
}

/* The first epoch, on smaller images; the next step needs a session for larger ones. */
static void go_to_larger_images(world *w)
{
    const svit_pipeline_config pipeline = world_pipeline();
    const svit_optimizer_config optimizer = world_optimizer();
    svit_trainer_config config = world_trainer();
    shrink_early(&config);
    svit_trainer_event event = {.kind = SVIT_EVENT_STEP};
    WORKS(svit_trainer_create(&w->has.trainer, w->has.context, w->has.model, w->has.dataset,
                              w->has.dataset, &config, &optimizer, &pipeline, err));
    while (event.kind == SVIT_EVENT_STEP)
        WORKS(svit_trainer_step(w->has.trainer, &event, sizeof event, err));
}

VARIANT(svit_trainer_step, larger, NEEDS_MODEL | NEEDS_DATASET, GOES_ON, go_to_larger_images)
{
    return svit_trainer_step(w->has.trainer, OUT(svit_trainer_event, 1), sizeof(svit_trainer_event),
                             err);
}

static void step_once(world *w)
{
    svit_trainer_event event;
    WORKS(svit_trainer_step(w->has.trainer, &event, sizeof event, err));
}

VARIANT(svit_trainer_checkpoint, , NEEDS_TRAINER, GOES_ON, step_once)
{
    return svit_trainer_checkpoint(w->has.trainer, err);
}

static void run_to_end(world *w)
{
    WORKS(svit_trainer_run(w->has.trainer, NULL, NULL, err));
}

VARIANT(svit_trainer_history, , NEEDS_TRAINER, PURE, run_to_end)
{
    return svit_trainer_history(w->has.trainer, 1, OUT(svit_trainer_event, 1),
                                sizeof(svit_trainer_event), err);
}

static svit_status squares(svit_loss_call *call, void *user, svit_error *err)
{
    (void)user;
    (void)err;
    call->loss = 0;
    for (size_t i = 0; i < call->n * call->classes; i++) {
        call->loss += call->logits[i] * call->logits[i];
        call->dlogits[i] = 2 * call->logits[i];
    }
    return SVIT_OK;
}

SCENARIO(svit_trainer_set_loss, NEEDS_TRAINER, PURE)
{
    return svit_trainer_set_loss(w->has.trainer, squares, NULL, err);
}

SCENARIO(svit_evaluate, NEEDS_MODEL | NEEDS_DATASET, HAS_THREADS)
{
    const svit_pipeline_config pipeline = world_pipeline();
    return svit_evaluate(w->has.context, w->has.model, w->has.dataset, &pipeline, BATCH,
                         OUT(double, 1), OUT(double, 1), OUT(double, 1), err);
}

static void forget_names(world *w)
{
    WORKS(svit_model_set_classes(w->has.model, NULL, 0, err));
}

VARIANT(svit_evaluate_with_compute, , NEEDS_MODEL | NEEDS_FILES | NEEDS_DATASET,
        HAS_IMAGES | HAS_THREADS, forget_names)
{
    const svit_pipeline_config pipeline = world_pipeline();
    return svit_evaluate_with_compute(w->has.context, w->has.model, w->has.dataset, &pipeline,
                                      BATCH, SVIT_COMPUTE_F32, OUT(double, 1), OUT(double, 1),
                                      OUT(double, 1), err);
}

VARIANT(svit_evaluate_logits, files, NEEDS_MODEL | NEEDS_FILES | NEEDS_DATASET,
        HAS_IMAGES | FILLS | HAS_THREADS, forget_names)
{
    const svit_pipeline_config pipeline = world_pipeline();
    return svit_evaluate_logits(w->has.context, w->has.model, w->has.dataset, &pipeline, 1,
                                SVIT_COMPUTE_F32, SVIT_TTA_NONE, OUT(float, 2 * CLASSES),
                                OUT(int32_t, 2), err);
}

SCENARIO(svit_evaluate_logits, NEEDS_MODEL | NEEDS_DATASET, HAS_THREADS)
{
    const svit_pipeline_config pipeline = world_pipeline();
    return svit_evaluate_logits(w->has.context, w->has.model, w->has.dataset, &pipeline, BATCH,
                                SVIT_COMPUTE_F32, SVIT_TTA_FLIP_SHIFT, OUT(float, COUNT *CLASSES),
                                OUT(int32_t, COUNT), err);
}

SCENARIO(svit_features_compute, NEEDS_MODEL | NEEDS_DATASET, HAS_THREADS)
{
    const svit_pipeline_config pipeline = world_pipeline();
    return svit_features_compute(&w->made.features, w->has.model, w->has.dataset, &pipeline, NULL,
                                 err);
}

SCENARIO(svit_extractor_create, NEEDS_MODEL, EVERY_MODEL)
{
    const svit_pipeline_config pipeline = world_pipeline();
    return svit_extractor_create(&w->made.extractor, w->has.model, &pipeline, NULL, err);
}

/* An extractor of two images at a time. */
static void make_extractor(world *w)
{
    const svit_pipeline_config pipeline = world_pipeline();
    svit_features_config config;
    svit_features_config_init(&config, sizeof config);
    config.batch = 2;
    WORKS(svit_extractor_create(&w->has.extractor, w->has.model, &pipeline, &config, err));
}

/* Images of another size than the source's go through the source step. */
VARIANT(svit_extract_u8, , NEEDS_MODEL, FILLS, make_extractor)
{
    return svit_extract_u8(w->has.extractor, world_bytes, 3, 4, 16,
                           OUT(float, 3 * svit_extractor_channels(w->has.extractor)), err);
}

VARIANT(svit_extract_f32, , NEEDS_MODEL, FILLS, make_extractor)
{
    return svit_extract_f32(w->has.extractor, world_images, 3, SIDE, SIDE,
                            OUT(float, 3 * svit_extractor_channels(w->has.extractor)), err);
}

VARIANT(svit_extractor_grid, , NEEDS_MODEL, PURE, make_extractor)
{
    return svit_extractor_grid(w->has.extractor, OUT(int32_t, 1), OUT(size_t, 1), OUT(size_t, 1),
                               err);
}

SCENARIO(svit_features_create, NEEDS_CONTEXT, 0)
{
    return svit_features_create(&w->made.features, w->has.context, world_images, world_labels,
                                COUNT, 5, CLASSES, world_names, err);
}

SCENARIO(svit_features_load, NEEDS_CONTEXT, 0)
{
    return svit_features_load(&w->made.features, w->has.context,
                              world_asset("features.safetensors"), err);
}

SCENARIO(svit_features_save, NEEDS_FEATURES | NEEDS_OLD_FILE, WRITES)
{
    return svit_features_save(w->has.features, TARGET, err);
}

static void load_other_features(world *w)
{
    WORKS(svit_features_load(&w->other.features, w->has.context,
                             world_asset("features.safetensors"), err));
}

VARIANT(svit_features_append, , NEEDS_FEATURES, 0, load_other_features)
{
    return svit_features_append(w->has.features, w->other.features, err);
}

SCENARIO(svit_features_knn, NEEDS_FEATURES, 0)
{
    return svit_features_knn(w->has.features, world_images, 4, 3, 0.1, OUT(float, 4 * CLASSES),
                             err);
}

SCENARIO(svit_features_nearest, NEEDS_FEATURES, 0)
{
    return svit_features_nearest(w->has.features, world_images, 4, 3, SVIT_METRIC_COSINE,
                                 OUT(size_t, 12), OUT(float, 12), err);
}

VARIANT(svit_features_nearest, euclidean, NEEDS_FEATURES, 0, NULL)
{
    return svit_features_nearest(w->has.features, world_images, 4, 3, SVIT_METRIC_EUCLIDEAN,
                                 OUT(size_t, 12), OUT(float, 12), err);
}

SCENARIO(svit_features_coreset, NEEDS_FEATURES, 0)
{
    return svit_features_coreset(&w->made.features, w->has.features, 3, err);
}

SCENARIO(svit_features_grid, NEEDS_FEATURES, PURE)
{
    return svit_features_grid(w->has.features, OUT(int32_t, 1), OUT(size_t, 1), OUT(size_t, 1),
                              err);
}

/* Features of the model, which a head can be trained on. */
static void compute_features(world *w)
{
    const svit_pipeline_config pipeline = world_pipeline();
    WORKS(svit_features_compute(&w->has.features, w->has.model, w->has.dataset, &pipeline, NULL,
                                err));
}

VARIANT(svit_model_fit_head, , NEEDS_MODEL | NEEDS_DATASET, EVERY_MODEL, compute_features)
{
    svit_head_config config;
    svit_head_config_init(&config, sizeof config);
    config.epochs = 1;
    config.balanced = 1;
    return svit_model_fit_head(w->has.model, w->has.features, &config, err);
}

VARIANT(svit_model_fit_class, , NEEDS_MODEL | NEEDS_DATASET, 0, compute_features)
{
    return svit_model_fit_class(w->has.model, "d", w->has.features, w->has.features, NULL, err);
}

VARIANT(svit_model_fit_class, alone, NEEDS_MODEL | NEEDS_DATASET, 0, compute_features)
{
    return svit_model_fit_class(w->has.model, "d", w->has.features, NULL, NULL, err);
}

GETTER(svit_extractor_free, NEEDS_NOTHING, (NULL))
GETTER(svit_extractor_channels, NEEDS_NOTHING, (NULL))
GETTER(svit_features_free, NEEDS_NOTHING, (NULL))
GETTER(svit_features_count, NEEDS_FEATURES, (w->has.features))
GETTER(svit_features_channels, NEEDS_FEATURES, (w->has.features))
GETTER(svit_features_classes, NEEDS_FEATURES, (w->has.features))
GETTER(svit_features_values, NEEDS_FEATURES, (w->has.features))
GETTER(svit_features_labels, NEEDS_FEATURES, (w->has.features))
GETTER(svit_features_class_name, NEEDS_FEATURES, (w->has.features, 0))
GETTER(svit_features_layer, NEEDS_FEATURES, (w->has.features))
GETTER(svit_features_model, NEEDS_FEATURES, (w->has.features))
GETTER(svit_trainer_free, NEEDS_NOTHING, (NULL))
GETTER(svit_trainer_optimizer, NEEDS_TRAINER, (w->has.trainer))
GETTER(svit_trainer_stop_value, NEEDS_TRAINER, (w->has.trainer))
GETTER(svit_trainer_history_count, NEEDS_TRAINER, (w->has.trainer))
