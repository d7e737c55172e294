/* Initial weights: functions of (seed, number of the parameter, place in it) alone. */
#include "base/pool.h"
#include "base/random.h"
#include "models/parameters.h"

#include <math.h>

/* Numbers that are drawn from one stream, by one worker. */
enum { CHUNK = 65536 };

/* Draws numbers for weights of a parameter. */
typedef void (*fill_rule)(real *w, size_t elements, const sv_parameter *parameter,
                          sv_random *random);

static void fill_uniform(real *w, size_t elements, double limit, sv_random *random)
{
    for (size_t i = 0; i < elements; i++)
        w[i] = (real)(limit * (2.0 * sv_random_unit(random) - 1.0));
}

static void fill_normal(real *w, size_t elements, double deviation, sv_random *random)
{
    for (size_t i = 0; i < elements; i++)
        w[i] = (real)(deviation * sv_random_normal(random));
}

/* Uniform in +-sqrt(6 / (fan_in + fan_out)). Glorot, Bengio 2010. */
static void fill_glorot(real *w, size_t elements, const sv_parameter *parameter, sv_random *random)
{
    fill_uniform(w, elements, sqrt(6.0 / (parameter->fan_in + parameter->fan_out)), random);
}

/* Normal, deviation sqrt(2 / (fan_in + fan_out)): Glorot's, as torch has it too. */
static void fill_xavier(real *w, size_t elements, const sv_parameter *parameter, sv_random *random)
{
    fill_normal(w, elements, sqrt(2.0 / (parameter->fan_in + parameter->fan_out)), random);
}

/* Normal, deviation 0.02; what falls outside of +-2 is drawn again. */
static void fill_truncated_normal(real *w, size_t elements, const sv_parameter *parameter,
                                  sv_random *random)
{
    (void)parameter;
    for (size_t i = 0; i < elements; i++) {
        double value;
        do
            value = 0.02 * sv_random_normal(random);
        while (fabs(value) > 2.0);
        w[i] = (real)value;
    }
}

/* Uniform in +-0.05: Keras' embeddings. */
static void fill_embedding(real *w, size_t elements, const sv_parameter *parameter,
                           sv_random *random)
{
    (void)parameter;
    fill_uniform(w, elements, 0.05, random);
}

static void fill_standard_normal(real *w, size_t elements, const sv_parameter *parameter,
                                 sv_random *random)
{
    (void)parameter;
    fill_normal(w, elements, 1, random);
}

/* NULL for a parameter that begins with one number everywhere. */
static fill_rule rule_of(const sv_parameter *parameter, const svit_model_config *config)
{
    int seed = config->init != SVIT_INIT_PAPER;
    if (parameter->role == SV_ROLE_POSITION)
        return seed ? fill_embedding : fill_standard_normal;
    if (parameter->role != SV_ROLE_WEIGHT)
        return NULL;
    if (seed)
        return fill_glorot;
    return config->architecture == SVIT_ARCHITECTURE_VIT ? fill_xavier : fill_truncated_normal;
}

/* Attention begins with scores over sqrt(head_dim), whichever way the temperature works. */
static real constant_of(const sv_parameter *parameter, const svit_model_config *config)
{
    double root = sqrt((double)config->head_dim);
    if (parameter->role == SV_ROLE_TEMPERATURE)
        return (real)(config->temperature == SVIT_TEMPERATURE_MULTIPLY ? 1 / root : root);
    return parameter->role == SV_ROLE_NORM_WEIGHT;
}

/* The weights of one parameter, as the workers see them. */
typedef struct fill_job {
    real *weights;
    const sv_parameter *parameter;
    size_t index;
    fill_rule rule;
    uint64_t seed;
} fill_job;

static void fill_chunk(void *argument, size_t task, uint32_t worker)
{
    (void)worker;
    const fill_job *job = argument;
    size_t begin = task * CHUNK, left = job->parameter->desc.elements - begin;
    size_t elements = left < CHUNK ? left : CHUNK;
    sv_random random;
    sv_random_start(&random, job->seed, SV_STREAM_INIT, job->index, (uint32_t)task);
    job->rule(job->weights + begin, elements, job->parameter, &random);
}

static void fill_constant(real *w, size_t elements, real value)
{
    for (size_t i = 0; i < elements; i++)
        w[i] = value;
}

void sv_initial_weights(real *weights, const sv_parameter_table *table,
                        const svit_model_config *config, uint64_t seed, sv_pool *pool)
{
    for (size_t i = 0; i < table->count; i++) {
        const sv_parameter *parameter = &table->list[i];
        real *w = weights + parameter->offset;
        fill_job job = {w, parameter, i, rule_of(parameter, config), seed};
        if (job.rule)
            sv_pool_run(pool, fill_chunk, &job, (parameter->desc.elements + CHUNK - 1) / CHUNK);
        else
            fill_constant(w, parameter->desc.elements, constant_of(parameter, config));
    }
}
