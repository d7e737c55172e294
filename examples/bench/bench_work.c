/* The works that shiftvit-bench measures call by call. */
#include "bench_work.h"

#include "settings/config_option.h"
#include "settings/pipeline_fit.h"

#include <stdlib.h>

enum { SIDE = 32, IMAGE = SIDE * SIDE * 3, BATCHES = 16, DATA_CLASSES = 10 };

static svit_status create_arrays(bench_work *self, struct program *program, size_t image)
{
    uint32_t random = 1;
    self->images = calloc(self->batch * image, sizeof *self->images);
    size_t row = self->classes > DATA_CLASSES ? self->classes : DATA_CLASSES;
    self->logits = calloc(self->batch * row, sizeof *self->logits);
    self->dlogits = calloc(self->batch * self->classes, sizeof *self->dlogits);
    self->labels = calloc(self->batch, sizeof *self->labels);
    if (!self->images || !self->logits || !self->dlogits || !self->labels)
        return program_fail(program, SVIT_E_MEMORY, "no memory for a batch of %zu", self->batch);
    for (size_t i = 0; i < self->batch * image; i++) {
        random = random * 1664525u + 1013904223u;
        self->images[i] = (float)(random >> 8) / (float)(1 << 24);
    }
    for (size_t i = 0; i < self->batch; i++)
        self->labels[i] = (int32_t)(i % self->classes);
    return SVIT_OK;
}

static svit_status create_session(bench_work *self, struct program *program,
                                  const svit_model_config *config, int32_t compute, int32_t memory)
{
    svit_session_config session;
    TRY(svit_model_create(&self->model, program->context, config, program->seed, &program->err));
    TRY(svit_session_config_init(&session, sizeof session));
    session.max_batch = (uint32_t)self->batch;
    session.mode = self->kind == WORK_TRAIN ? SVIT_MODE_TRAIN : SVIT_MODE_INFER;
    session.compute = compute;
    session.memory = memory;
    session.seed = program->seed;
    TRY(svit_session_create(&self->session, self->model, &session, &program->err));
    if (self->kind == WORK_TRAIN)
        TRY(svit_optimizer_create(&self->optimizer, self->model, NULL, &program->err));
    return SVIT_OK;
}

/* Creates random images in memory, so that the pipeline alone is measured. */
static svit_status create_data(bench_work *self, struct program *program)
{
    size_t count = BATCHES * self->batch;
    uint32_t random = 1;
    self->pixels = malloc(count * IMAGE);
    self->image_labels = calloc(count, sizeof *self->image_labels);
    if (!self->pixels || !self->image_labels)
        return program_fail(program, SVIT_E_MEMORY, "no memory for %zu images", count);
    for (size_t i = 0; i < count * IMAGE; i++) {
        random = random * 1664525u + 1013904223u;
        self->pixels[i] = (uint8_t)(random >> 24);
    }
    return svit_dataset_memory(&self->data, program->context, self->pixels, self->image_labels,
                               count, SIDE, SIDE, 3, DATA_CLASSES, &program->err);
}

static svit_status create_loader(bench_work *self, struct program *program,
                                 const svit_model_config *config, const svit_pipeline_config *given)
{
    svit_pipeline_config pipeline = *given;
    svit_loader_config loader;
    TRY(create_data(self, program));
    pipeline_fit(&pipeline, config, self->data);
    TRY(svit_loader_config_init(&loader, sizeof loader));
    loader.batch = (uint32_t)self->batch;
    loader.shuffle = 1;
    loader.augment = 1;
    return svit_loader_create(&self->loader, self->data, &pipeline, &loader, &program->err);
}

svit_status bench_work_create(bench_work *self, struct program *program, int32_t kind,
                              const svit_model_config *config, const svit_pipeline_config *pipeline,
                              size_t batch, int32_t compute, int32_t memory)
{
    self->kind = kind;
    self->batch = batch;
    self->classes = config->num_classes;
    TRY(create_arrays(self, program,
                      (size_t)config->input_height * config->input_width * config->in_channels));
    return kind == WORK_DATA ? create_loader(self, program, config, pipeline)
                             : create_session(self, program, config, compute, memory);
}

static svit_status train_step(bench_work *self, struct program *program)
{
    svit_error *err = &program->err;
    float loss = 0;
    TRY(svit_forward(self->session, self->images, self->batch, self->logits, err));
    TRY(svit_cross_entropy(self->logits, self->labels, self->batch, self->classes, 0, &loss,
                           self->dlogits, err));
    TRY(svit_backward(self->session, self->dlogits, self->batch, err));
    return svit_step(self->optimizer, self->session, err);
}

/* Loads a full batch. The call at the end of an epoch, which returns n = 0, is repeated. */
static svit_status load_batch(bench_work *self, struct program *program)
{
    size_t n = 0;
    while (n == 0)
        if (svit_loader_has_targets(self->loader))
            TRY(svit_loader_next_targets(self->loader, self->images, self->logits, &n,
                                         &program->err));
        else
            TRY(svit_loader_next(self->loader, self->images, self->labels, &n, &program->err));
    return SVIT_OK;
}

svit_status bench_work_run(bench_work *self, struct program *program)
{
    if (self->kind == WORK_TRAIN)
        return train_step(self, program);
    if (self->kind == WORK_DATA)
        return load_batch(self, program);
    return svit_forward(self->session, self->images, self->batch, self->logits, &program->err);
}

void bench_work_free(bench_work *self)
{
    svit_loader_free(self->loader);
    svit_dataset_free(self->data);
    svit_optimizer_free(self->optimizer);
    svit_session_free(self->session);
    svit_model_free(self->model);
    free(self->images);
    free(self->logits);
    free(self->dlogits);
    free(self->labels);
    free(self->pixels);
    free(self->image_labels);
}
