/* Weight gradients of linear layers, split into tasks by elements of the output: no sum over tokens
 * is split, so nothing is reduced afterwards. */
#ifndef SV_WEIGHT_GRADIENT_H
#define SV_WEIGHT_GRADIENT_H

#include "autograd/layer.h"

/* dweight[out, in] += dy[tokens, out]^T x[tokens, in] */
typedef struct sv_weight_gradient_job {
    real *dweight; /* NULL: nothing is computed */
    const real *dy, *x;
    size_t out, in, tokens;
} sv_weight_gradient_job;

/* The number of tasks that a job is split into: 0 if nothing is computed. */
size_t sv_weight_gradient_tasks(const sv_weight_gradient_job *job);

/* Computes task `task` of a job on this thread, with SV_GEMM_SCRATCH bytes of scratch. */
void sv_weight_gradient_task(const sv_run *run, const sv_weight_gradient_job *job, size_t task,
                             void *scratch);

/* Computes a whole job on this thread, with SV_GEMM_SCRATCH bytes of scratch. */
void sv_weight_gradient_whole(const sv_run *run, const sv_weight_gradient_job *job, void *scratch);

/* Computes `count` jobs on all workers, with SV_GEMM_SCRATCH bytes of scratch for each worker. */
void sv_weight_gradients(const sv_run *run, const sv_weight_gradient_job *jobs, size_t count);

#endif
