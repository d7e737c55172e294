/* Initial weights: functions of (seed, number of the parameter) alone. */
#include "base/random.h"
#include "models/parameters.h"

#include <math.h>

/* Uniform in +-sqrt(6 / (fan_in + fan_out)). Glorot, Bengio 2010. */
static void fill_glorot(real *w, const sv_parameter *parameter, sv_random *random)
{
    double limit = sqrt(6.0 / (parameter->fan_in + parameter->fan_out));
    for (size_t i = 0; i < parameter->elements; i++)
        w[i] = (real)(limit * (2.0 * sv_random_unit(random) - 1.0));
}

/* Normal, deviation 0.02; what falls outside of +-2 is drawn again. */
static void fill_truncated_normal(real *w, const sv_parameter *parameter, sv_random *random)
{
    for (size_t i = 0; i < parameter->elements; i++) {
        double value;
        do
            value = 0.02 * sv_random_normal(random);
        while (fabs(value) > 2.0);
        w[i] = (real)value;
    }
}

static void fill_constant(real *w, size_t elements, real value)
{
    for (size_t i = 0; i < elements; i++)
        w[i] = value;
}

static void fill_one(real *w, const sv_parameter *parameter, int32_t init, sv_random *random)
{
    if (parameter->role == SV_ROLE_NORM_WEIGHT)
        fill_constant(w, parameter->elements, 1);
    else if (parameter->role != SV_ROLE_WEIGHT)
        fill_constant(w, parameter->elements, 0);
    else if (init == SVIT_INIT_PAPER)
        fill_truncated_normal(w, parameter, random);
    else
        fill_glorot(w, parameter, random);
}

void sv_initial_weights(real *weights, const sv_parameter_table *table, int32_t init, uint64_t seed)
{
    for (size_t i = 0; i < table->count; i++) {
        sv_random random;
        sv_random_start(&random, seed, SV_STREAM_INIT, i, 0);
        fill_one(weights + table->list[i].offset, &table->list[i], init, &random);
    }
}
