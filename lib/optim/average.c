/* The exponential moving average of the weights (Polyak, Juditsky 1992). */
#include "optim/update.h"

void sv_average_update(real *restrict average, const real *restrict weights, size_t elements,
                       real keep, real take)
{
    for (size_t i = 0; i < elements; i++)
        average[i] = keep * average[i] + take * weights[i];
}
