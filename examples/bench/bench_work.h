/* The works that shiftvit-bench measures call by call. */
#ifndef EXAMPLE_BENCH_WORK_H
#define EXAMPLE_BENCH_WORK_H

#include "program/program.h"

enum { WORK_TRAIN, WORK_INFER, WORK_LATENCY, WORK_DATA, WORK_GEMM, WORK_LIMITS };

/* A work that is ready to run. Start from zero; free with bench_work_free, also after a failure. */
typedef struct bench_work {
    int32_t kind; /* WORK_TRAIN to WORK_DATA */
    size_t batch, classes;
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
    svit_dataset *data;
    svit_loader *loader;
    float *images, *logits, *dlogits; /* with mixed images logits hold their targets */
    int32_t *labels;
    uint8_t *pixels;       /* the images of `data` */
    int32_t *image_labels; /* the labels of `data` */
} bench_work;

/* Prepares a work of `kind`. `pipeline` is what loading measures, `compute` is one of
 * SVIT_COMPUTE_* and `memory` one of SVIT_MEMORY_*. */
svit_status bench_work_create(bench_work *self, struct program *program, int32_t kind,
                              const svit_model_config *config, const svit_pipeline_config *pipeline,
                              size_t batch, int32_t compute, int32_t memory);

/* Runs one training step, one forward pass, or the loading of one batch. */
svit_status bench_work_run(bench_work *self, struct program *program);

/* Frees what the work owns. */
void bench_work_free(bench_work *self);

#endif
