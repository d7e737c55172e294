/* The parameters of each architecture, and what they are at first. */
#ifndef SV_MODEL_PARAMETERS_H
#define SV_MODEL_PARAMETERS_H

#include "autograd/parameter.h"

#include <shiftvit/model.h>

/* Adds the parameters of a model in the order of its files; config must be legal. */
svit_status sv_shiftvit_parameters(sv_parameter_table *table, const svit_model_config *config,
                                   svit_error *err);
svit_status sv_vit_parameters(sv_parameter_table *table, const svit_model_config *config,
                              svit_error *err);

/* Fills `weights` by the configuration's rule: the same ones whatever the number of workers. */
void sv_initial_weights(real *weights, const sv_parameter_table *table,
                        const svit_model_config *config, uint64_t seed, sv_pool *pool);

#endif
