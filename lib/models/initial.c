/* Initial weights: functions of (seed, number of the parameter, place in it) alone. */
#include "base/pool.h"
#include "base/random.h"
#include "models/parameters.h"

#include <math.h>

/* Numbers that are drawn from one stream, by one worker. */
enum { CHUNK = 65536 };

/* Uniform in +-sqrt(6 / (fan_in + fan_out)). Glorot, Bengio 2010. */
static void fill_glorot(real *w, size_t elements, const sv_parameter *parameter, sv_random *random)
{
    double limit = sqrt(6.0 / (parameter->fan_in + parameter->fan_out));
    for (size_t i = 0; i < elements; i++)
        w[i] = (real)(limit * (2.0 * sv_random_unit(random) - 1.0));
}

/* Normal, deviation 0.02; what falls outside of +-2 is drawn again. */
static void fill_truncated_normal(real *w, size_t elements, sv_random *random)
{
    for (size_t i = 0; i < elements; i++) {
        double value;
        do
            value = 0.02 * sv_random_normal(random);
        while (fabs(value) > 2.0);
        w[i] = (real)value;
    }
}

/* The weights of one parameter, as the workers see them. */
typedef struct fill_job {
    real *weights;
    const sv_parameter *parameter;
    size_t index;
    int32_t init;
    uint64_t seed;
} fill_job;

static void fill_chunk(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const fill_job *job = argument;
    size_t begin = task * CHUNK, left = job->parameter->elements - begin;
    size_t elements = left < CHUNK ? left : CHUNK;
    sv_random random;
    sv_random_start(&random, job->seed, SV_STREAM_INIT, job->index, (uint32_t)task);
    if (job->init == SVIT_INIT_PAPER)
        fill_truncated_normal(job->weights + begin, elements, &random);
    else
        fill_glorot(job->weights + begin, elements, job->parameter, &random);
}

static void fill_constant(real *w, size_t elements, real value)
{
    for (size_t i = 0; i < elements; i++)
        w[i] = value;
}

void sv_initial_weights(real *weights, const sv_parameter_table *table, int32_t init, uint64_t seed,
                        sv_pool *pool)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        real *w = weights + parameter->offset;
        fill_job job = {w, parameter, i, init, seed};
        if (parameter->role == SV_ROLE_WEIGHT)
            sv_pool_run(pool, fill_chunk, &job, (parameter->elements + CHUNK - 1) / CHUNK);
        else
            fill_constant(w, parameter->elements, parameter->role == SV_ROLE_NORM_WEIGHT);
    }
}
