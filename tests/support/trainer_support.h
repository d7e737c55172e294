/* Helpers for tests of the trainer: a small dataset, and a plan to train on it. */
#ifndef TEST_TRAINER_SUPPORT_H
#define TEST_TRAINER_SUPPORT_H

#include "fit.h"

enum { SAMPLES = 22, VALIDATION = 10, SIDE = 8, CLASSES = 3, BATCH = 8, STEPS = 3 };

static svit_context *context;
static fit_folder folder;
static uint8_t images[SAMPLES * SIDE * SIDE * 3];
static int32_t labels[SAMPLES];
static svit_dataset *training, *validation;

/* Images of noise, in which class c is brighter in channel c. */
static inline void setup(void)
{
    context = fit_context(2);
    folder = fit_folder_make();
    uint32_t state = 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        labels[i] = (int32_t)(i % CLASSES);
        for (size_t k = 0; k < SIDE * SIDE * 3; k++) {
            state = state * 1664525u + 1013904223u;
            uint32_t bright = k % 3 == i % CLASSES ? 90 : 0;
            images[i * SIDE * SIDE * 3 + k] = (uint8_t)((state >> 24) % 120 + bright);
        }
    }
    WORKS(svit_dataset_memory(&training, context, images, labels, SAMPLES, SIDE, SIDE, 3, CLASSES,
                              err));
    WORKS(svit_dataset_slice(&validation, training, 0, VALIDATION, err));
}

static inline void teardown(void)
{
    svit_dataset_free(validation);
    svit_dataset_free(training);
    svit_context_free(context);
    fit_folder_remove(&folder);
}

typedef struct plan {
    svit_trainer_config trainer;
    svit_optimizer_config optimizer;
    svit_pipeline_config pipeline;
} plan;

static inline plan plan_make(uint32_t epochs)
{
    plan p;
    WORKS(svit_training_preset("shiftvit-cifar10", &p.trainer, sizeof p.trainer, &p.optimizer,
                               sizeof p.optimizer, &p.pipeline, sizeof p.pipeline, err));
    p.trainer.epochs = epochs;
    p.trainer.batch = BATCH;
    p.trainer.patience = 0;
    p.trainer.seed = 3;
    p.trainer.folder = folder.path;
    p.optimizer.learning_rate = 0.01;
    p.pipeline.source_height = p.pipeline.source_width = SIDE;
    p.pipeline.resize_height = p.pipeline.resize_width = SIDE + 2;
    p.pipeline.output_height = p.pipeline.output_width = SIDE;
    return p;
}

static inline svit_trainer *open_trainer(svit_model *model, const plan *p, svit_dataset *with)
{
    svit_trainer *trainer = NULL;
    WORKS(svit_trainer_create(&trainer, context, model, training, with, &p->trainer, &p->optimizer,
                              &p->pipeline, err));
    return trainer;
}

/* The weights of a run without a folder that is not interrupted. */
static inline svit_model *train_whole(plan p, svit_dataset *with)
{
    svit_model *model = fit_model(context, CLASSES, 1);
    p.trainer.folder = NULL;
    svit_trainer *trainer = open_trainer(model, &p, with);
    WORKS(svit_trainer_run(trainer, NULL, NULL, err));
    svit_trainer_free(trainer);
    return model;
}

/* Trains anew until `events` events and leaves a checkpoint. */
static inline void leave_checkpoint(plan p, svit_dataset *with, int events)
{
    p.trainer.existing = SVIT_EXISTING_OVERWRITE;
    svit_model *model = fit_model(context, CLASSES, 1);
    svit_trainer *trainer = open_trainer(model, &p, with);
    svit_trainer_event event;
    for (int i = 0; i < events; i++)
        WORKS(svit_trainer_step(trainer, &event, sizeof event, err));
    WORKS(svit_trainer_checkpoint(trainer, err));
    svit_trainer_free(trainer);
    svit_model_free(model);
}

#endif
