/* Initial weights. Each value is a function of the seed, the index of its parameter and its index
 * within the parameter, so it does not depend on the number of workers. */
#include "models/initial.h"
#include "base/numbers/random.h"
#include "base/threads/pool.h"
#include "models/architecture.h"

#include <math.h>

/* Elements that one task fills from a random stream of its own. Another value changes the weights
 * that a seed gives. */
enum { CHUNK = 65536 };

/* Fills w[elements], a part of the parameter. */
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

/* Normal with deviation sqrt(2 / (fan_in + fan_out)), PyTorch's xavier_normal_. */
static void fill_xavier(real *w, size_t elements, const sv_parameter *parameter, sv_random *random)
{
    fill_normal(w, elements, sqrt(2.0 / (parameter->fan_in + parameter->fan_out)), random);
}

/* Normal with deviation 0.02; values outside of +-2 are drawn again. */
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

/* Uniform in +-0.05, the default of embeddings in Keras. */
static void fill_embedding(real *w, size_t elements, const sv_parameter *parameter,
                           sv_random *random)
{
    (void)parameter;
    fill_uniform(w, elements, 0.05, random);
}

/* Uniform in +-1 / sqrt(in): PyTorch's kaiming_uniform_ with a = sqrt(5), as PEFT fills lora_A. */
static void fill_lora(real *w, size_t elements, const sv_parameter *parameter, sv_random *random)
{
    fill_uniform(w, elements, 1 / sqrt((double)parameter->desc.shape[1]), random);
}

static void fill_standard_normal(real *w, size_t elements, const sv_parameter *parameter,
                                 sv_random *random)
{
    (void)parameter;
    fill_normal(w, elements, 1, random);
}

/* Normal with deviation 0.1 (Ye et al. 2024). */
static void fill_lambda(real *w, size_t elements, const sv_parameter *parameter, sv_random *random)
{
    (void)parameter;
    fill_normal(w, elements, 0.1, random);
}

static const fill_rule WEIGHT_RULES[] = {[SV_WEIGHTS_GLOROT_UNIFORM] = fill_glorot,
                                         [SV_WEIGHTS_XAVIER_NORMAL] = fill_xavier,
                                         [SV_WEIGHTS_TRUNCATED_NORMAL] = fill_truncated_normal};

/* The rule of a parameter; NULL if all its elements are equal. */
static fill_rule rule_of(const sv_parameter *parameter, const svit_model_config *config)
{
    const bool paper = config->init == SVIT_INIT_PAPER;
    if (parameter->role == SV_ROLE_POSITION)
        return paper ? fill_standard_normal : fill_embedding;
    if (parameter->role == SV_ROLE_LORA_A)
        return fill_lora;
    if (parameter->role == SV_ROLE_LAMBDA)
        return fill_lambda;
    if (parameter->role != SV_ROLE_WEIGHT)
        return NULL;
    return paper ? WEIGHT_RULES[sv_architecture_of(config)->paper_weights] : fill_glorot;
}

/* The initial factors of LayerScale: those of DINOv2 (Oquab et al. 2023). */
#define LAYER_SCALE 1e-5

/* The value of a parameter whose elements are equal: 1 for the weight of a norm, 0 for a bias. A
 * temperature, be it a factor or a divisor, scales the attention scores by 1 / sqrt(head_dim). */
static real constant_of(const sv_parameter *parameter, const svit_model_config *config)
{
    double root = sqrt((double)config->head_dim);
    if (parameter->role == SV_ROLE_TEMPERATURE)
        return (real)(config->temperature == SVIT_TEMPERATURE_MULTIPLY ? 1 / root : root);
    if (parameter->role == SV_ROLE_LAYER_SCALE)
        return (real)LAYER_SCALE;
    return parameter->role == SV_ROLE_NORM_WEIGHT ? 1 : 0;
}

/* One parameter to fill. */
typedef struct fill_job {
    real *weights;
    const sv_parameter *parameter;
    size_t index; /* of the parameter */
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

/* The frequencies [2, heads, head_dim / 2] of rotary position embeddings (Heo et al. 2024): those
 * of pair j and of pair j + d / 4 have the magnitude theta^(-4 j / d) and directions at a right
 * angle in the plane of the two axes, and each head turns both by an angle of its own. */
static void fill_frequencies(const fill_job *job, const svit_model_config *config)
{
    const size_t heads = config->heads, pairs = config->head_dim / 2, half = pairs / 2;
    const double right = acos(-1) / 2;
    sv_random random;
    sv_random_start(&random, job->seed, SV_STREAM_INIT, job->index, 0);
    for (size_t head = 0; head < heads; head++) {
        const double angle = 4 * right * sv_random_unit(&random);
        real *first = job->weights + head * pairs, *second = first + heads * pairs;
        for (size_t pair = 0; pair < pairs; pair++) {
            const double exponent = (double)(pair % half) / (double)half;
            const double magnitude = pow(config->rope_theta, -exponent);
            const double direction = pair < half ? angle : angle + right;
            first[pair] = (real)(magnitude * cos(direction));
            second[pair] = (real)(magnitude * sin(direction));
        }
    }
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
        if (parameter->role == SV_ROLE_FREQUENCIES)
            fill_frequencies(&job, config);
        else if (job.rule)
            sv_pool_run(pool, fill_chunk, &job, (parameter->desc.elements + CHUNK - 1) / CHUNK);
        else
            fill_constant(w, parameter->desc.elements, constant_of(parameter, config));
    }
}
