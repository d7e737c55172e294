/* The architectures that there are, and what each does in its own way: the one place that knows
 * them all. */
#ifndef SV_ARCHITECTURE_H
#define SV_ARCHITECTURE_H

#include "autograd/parameter.h"

#include <shiftvit/model.h>

#include <stdbool.h>

struct sv_builder;

typedef struct sv_architecture {
    /* What one field allows another; the fields themselves are in their ranges already. */
    svit_status (*check)(const svit_model_config *config, svit_error *err);
    /* What a model without classifier puts out. */
    size_t (*features)(const svit_model_config *config);
    /* Adds the parameters in the order of files; the configuration must be legal. */
    svit_status (*parameters)(sv_parameter_table *table, const svit_model_config *config,
                              svit_error *err);
    /* The most layers that it has, and its layers, from image to logits. */
    size_t (*layer_count)(const svit_model_config *config);
    svit_status (*layers)(struct sv_builder *build);
    /* Preset number `index`, from 0, which is the default; false past the end. */
    bool (*preset)(const char **name, svit_model_config *config, size_t index);
} sv_architecture;

extern const sv_architecture sv_architectures[];
extern const size_t sv_architecture_count;

/* That of a configuration whose `architecture` is in its range. */
const sv_architecture *sv_architecture_of(const svit_model_config *config);

#endif
