/* Counts the arithmetic of a model from its configuration. */
#include "work_count.h"

int work_count_has_projection(const svit_model_config *config)
{
    int one_head_as_wide = config->heads == 1 && config->head_dim == config->dim;
    return config->names != SVIT_NAMES_PAPER || !one_head_as_wide;
}

double work_count_forward(const svit_model_config *config)
{
    uint64_t forward = 0;
    svit_model_multiply_adds(config, &forward, NULL, NULL);
    return 2 * (double)forward;
}

double work_count_training(const svit_model_config *config)
{
    uint64_t training = 0;
    svit_model_multiply_adds(config, NULL, &training, NULL);
    return 2 * (double)training;
}
