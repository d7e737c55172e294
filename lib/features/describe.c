/* The description of a model that its feature sets carry. */
#include "features/features.h"

#include "base/numbers/hash.h"
#include "models/architecture.h"
#include "models/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Goes on with a hash (base/numbers/hash.h) over the 32-bit patterns of the weights. */
static uint64_t hash_weights(uint64_t hash, const float *weights, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        uint32_t bits;
        memcpy(&bits, weights + i, sizeof bits);
        hash = (hash ^ bits) * SV_FNV_PRIME;
    }
    return hash;
}

/* Whether a parameter belongs to the classifier, hidden layers included. mlp_head.0 is the norm of
 * the pooled features. */
static bool is_head(const char *name)
{
    static const char *const heads[] = {"head", "head_dist", "mlp_head.1"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const size_t length = strlen(heads[i]);
        if (strncmp(name, heads[i], length) == 0 && name[length] == '.')
            return true;
    }
    return false;
}

void sv_model_describe(char text[SV_MODEL_DESCRIPTION], const svit_model *model)
{
    uint64_t hash = SV_FNV_BASIS;
    for (size_t i = 0; i < model->parameters.count; i++) {
        const sv_parameter *parameter = &model->parameters.list[i];
        if (!is_head(parameter->name))
            hash = hash_weights(hash, model->weights + parameter->offset, parameter->desc.elements);
    }
    snprintf(text, SV_MODEL_DESCRIPTION, "%s %ux%u, weights %016" PRIx64,
             sv_architecture_of(&model->config)->name, model->config.input_height,
             model->config.input_width, hash);
}
