/* The architectures of models and the operations that each of them implements. To add one, create a
 * folder that defines what SV_ARCHITECTURE_DECLARE declares, list its files in meson.build, add a
 * line to SV_ARCHITECTURES, add its public constant, and write its ONNX graph in lib/export. No
 * other code names an architecture. */
#ifndef SV_ARCHITECTURE_H
#define SV_ARCHITECTURE_H

#include "config/fields.h"
#include "models/scope.h"

#include <shiftvit/model.h>

struct sv_builder;

/* The list: the constant SVIT_ARCHITECTURE_*; the name, which is the word in JSON, the folder and
 * part of the names of all operations; the distribution of initial weights with SVIT_INIT_PAPER,
 * which otherwise is Glorot's. */
#define SV_ARCHITECTURES(X)                                                                        \
    X(SHIFTVIT, shiftvit, TRUNCATED_NORMAL)                                                        \
    X(VIT, vit, XAVIER_NORMAL)                                                                     \
    X(MIXER, mixer, GLOROT_UNIFORM)

/* The distribution of initial weights. */
typedef enum sv_weight_rule {
    SV_WEIGHTS_GLOROT_UNIFORM,
    SV_WEIGHTS_XAVIER_NORMAL,
    SV_WEIGHTS_TRUNCATED_NORMAL
} sv_weight_rule;

/* A configuration with a name. */
typedef struct sv_preset {
    const char *name;
    svit_model_config config;
} sv_preset;

/* The operations of one architecture. `config` has passed sv_config_check, except in `check`
 * and `features`, where only the range of each field has been checked. */
typedef struct sv_architecture {
    const char *name;
    const sv_field_table *fields; /* its fields of svit_model_config, in the order of the JSON */

    /* Checks what one field allows another. SVIT_E_ARGUMENT names the field. */
    svit_status (*check)(const svit_model_config *config, svit_error *err);

    /* Elements per image of the input of the classifier. A model without a classifier returns them
     * as its logits. */
    size_t (*features)(const svit_model_config *config);

    /* Adds all parameters to top->table, in the order of a model file. top->depth is 0, and the
     * function sets the depth of the parameters after the patch embedding. */
    svit_status (*parameters)(sv_scope *top, const svit_model_config *config);

    /* Builds both graphs, from the image to the logits. */
    svit_status (*layers)(struct sv_builder *build);

    sv_weight_rule paper_weights; /* the distribution of initial weights with SVIT_INIT_PAPER */
    const sv_preset *presets;     /* the first is the default; one without a name ends them */
} sv_architecture;

/* Declares what the folder of an architecture defines. */
#define SV_ARCHITECTURE_DECLARE(constant, prefix, paper_weights)                                   \
    extern const sv_field_table sv_##prefix##_fields;                                              \
    svit_status sv_##prefix##_check(const svit_model_config *config, svit_error *err);             \
    size_t sv_##prefix##_features(const svit_model_config *config);                                \
    svit_status sv_##prefix##_parameters(sv_scope *top, const svit_model_config *config);          \
    svit_status sv_##prefix##_layers(struct sv_builder *build);                                    \
    extern const sv_preset sv_##prefix##_presets[];
SV_ARCHITECTURES(SV_ARCHITECTURE_DECLARE)

/* The fields of a ViT are at most this many. */
enum { SV_VIT_MAX_FIELDS = 80 };

/* All architectures, indexed by SVIT_ARCHITECTURE_*. */
extern const sv_architecture sv_architectures[];
extern const size_t sv_architecture_count;

/* The architecture of a configuration, whose field `architecture` must be in its range. */
const sv_architecture *sv_architecture_of(const svit_model_config *config);

/* Blocks of the model. Each has at least one parameter. */
size_t sv_model_block_count(const svit_model_config *config);

/* Makes the table of all parameters, in the order of a model file. It is empty if that fails. */
svit_status sv_model_parameters(sv_parameter_table *out, const sv_allocator *allocator,
                                const svit_model_config *config, svit_error *err);

#endif
