/* shiftvit-bench --work gemm: the products of a model's training step, by backend. */
#ifndef EXAMPLE_BENCH_GEMM_H
#define EXAMPLE_BENCH_GEMM_H

#include "common/program.h"

enum { BENCH_REPEAT_MAX = 1000 };

typedef struct bench_gemm_options {
    const char *preset; /* for the output alone */
    size_t batch;
    int32_t compute; /* SVIT_COMPUTE_F32 or SVIT_COMPUTE_BF16 */
    double seconds;  /* of each measurement */
    size_t repeat;   /* 1..BENCH_REPEAT_MAX */
} bench_gemm_options;

/* Prints a JSON object a line, for every product and every backend that runs here, or the one
 * that --gemm names; the FMA peak is taken before and after each product, and its mean printed. */
svit_status bench_gemm(struct program *program, const svit_model_config *config,
                       const bench_gemm_options *options);

#endif
