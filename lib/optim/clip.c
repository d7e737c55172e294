/* The global norm of the gradients, which clipping compares with its limit. Frozen
 * parameters, and those without a gradient in the session, have no part in it. */
#include "optim/update.h"

#include <math.h>

enum { LANES = 16 };

/* Keeps 16 running sums, so that the compiler vectorises the loop without reordering a sum. */
static double sum_of_squares(const real *g, size_t elements)
{
    double lanes[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= elements; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)g[i + lane] * (double)g[i + lane];
    double sum = 0;
    for (; i < elements; i++)
        sum += (double)g[i] * (double)g[i];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

typedef struct norm_job {
    sv_chunk *chunks;
    const sv_gradients *gradients;
} norm_job;

static void sum_chunk(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const norm_job *job = argument;
    sv_chunk *chunk = &job->chunks[task];
    const sv_parameter_subset *subset = &job->gradients->subset;
    const size_t end = chunk->begin + chunk->elements;
    chunk->squares = 0;
    if (!chunk->settings->trainable)
        return;
    for (sv_range range = sv_subset_first(subset, chunk->begin, end); range.elements > 0;
         range = sv_subset_first(subset, range.begin + range.elements, end))
        chunk->squares +=
            sum_of_squares(sv_gradients_at(job->gradients, range.begin), range.elements);
}

double sv_gradient_norm(sv_optim *optim, const sv_gradients *gradients)
{
    norm_job job = {optim->chunks, gradients};
    sv_pool_run(optim->context->pool, sum_chunk, &job, optim->chunk_count);
    double sum = 0;
    for (size_t i = 0; i < optim->chunk_count; i++)
        sum += optim->chunks[i].squares;
    return sqrt(sum);
}
