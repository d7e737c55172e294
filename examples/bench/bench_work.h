/* The works that shiftvit-bench measures. */
#ifndef EXAMPLE_BENCH_WORK_H
#define EXAMPLE_BENCH_WORK_H

#include "common/program.h"

enum { WORK_TRAIN, WORK_INFER, WORK_LATENCY, WORK_DATA, WORK_GEMM, WORK_LIMITS };

/* One work made ready. Zero-initialised; free with bench_work_free, also after a failure. */
typedef struct bench_work {
    int32_t kind;
    size_t batch, classes;
    svit_model *model;
    svit_session *session;
    svit_optimizer *optimizer;
    svit_dataset *data;
    svit_loader *loader;
    float *images, *logits, *dlogits;
    int32_t *labels;
    uint8_t *pixels; /* what `data` borrows, and its labels */
    int32_t *picture_labels;
} bench_work;

svit_status bench_work_create(bench_work *self, struct program *program, int32_t kind,
                              const svit_model_config *config, const char *preset, size_t batch,
                              int32_t compute, int32_t memory);

/* One call of it: a step, a forward, or a batch of data. */
svit_status bench_work_run(bench_work *self, struct program *program);

void bench_work_free(bench_work *self);

#endif
