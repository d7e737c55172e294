/* shiftvit-bench --work gemm: the matmuls of a training step, by GEMM backend. */
#ifndef EXAMPLE_BENCH_GEMM_H
#define EXAMPLE_BENCH_GEMM_H

#include "program/program.h"

enum { BENCH_REPEAT_MAX = 1000 };

typedef struct bench_gemm_options {
    const char *preset; /* printed only */
    size_t batch;
    int32_t compute; /* SVIT_COMPUTE_F32 or SVIT_COMPUTE_BF16 */
    double seconds;  /* of each measurement */
    size_t repeat;   /* 1..BENCH_REPEAT_MAX */
} bench_gemm_options;

/* Prints one JSON object a line for each matmul and each backend that runs here, or for the backend
 * of --gemm alone. Each line has the FMA peak too: the mean of two measurements, before and after
 * the matmul. SVIT_E_UNSUPPORTED: the matmuls of the model's architecture are unknown. */
svit_status bench_gemm(struct program *program, const svit_model_config *config,
                       const bench_gemm_options *options);

#endif
