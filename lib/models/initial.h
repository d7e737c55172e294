/* Initial weights. */
#ifndef SV_MODEL_INITIAL_H
#define SV_MODEL_INITIAL_H

#include "autograd/parameter.h"

#include <shiftvit/model.h>

/* Fills `weights`, the flat array of the table, by the rules of config->init. The values depend on
 * the configuration and the seed alone, not on the number of workers. */
void sv_initial_weights(real *weights, const sv_parameter_table *table,
                        const svit_model_config *config, uint64_t seed, sv_pool *pool);

#endif
