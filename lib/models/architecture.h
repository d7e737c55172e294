/* The architectures of models and the operations that each of them implements. To add one, create a
 * folder that defines what SV_ARCHITECTURE_DECLARE declares, list its files in meson.build, add a
 * line to SV_ARCHITECTURES, add its public constant, and write its ONNX graph in lib/export. No
 * other code names an architecture. */
#ifndef SV_ARCHITECTURE_H
#define SV_ARCHITECTURE_H

#include "autograd/parameter.h"
#include "config/fields.h"

#include <shiftvit/model.h>

/* The list: the constant SVIT_ARCHITECTURE_*, and the name, which is the word in JSON, the folder
 * and part of the names of all operations. */
#define SV_ARCHITECTURES(X)                                                                        \
    X(SHIFTVIT, shiftvit)                                                                          \
    X(VIT, vit)                                                                                    \
    X(MIXER, mixer)

struct sv_builder;

/* The distribution of initial weights. */
typedef enum sv_weight_rule {
    SV_WEIGHTS_GLOROT_UNIFORM,
    SV_WEIGHTS_XAVIER_NORMAL,
    SV_WEIGHTS_TRUNCATED_NORMAL
} sv_weight_rule;

/* Multiply-adds of all matmuls and convolutions, attention included, for one image. Norms, softmax
 * and other element-wise work do not count. */
typedef struct sv_multiply_adds {
    uint64_t forward;
    uint64_t image_layer; /* of the layer whose input is the image, which needs no gradient */
} sv_multiply_adds;

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

    /* Blocks of the model. Each has at least one parameter. */
    size_t (*block_count)(const svit_model_config *config);

    /* The distribution of initial weights for config->init. */
    sv_weight_rule (*weight_rule)(const svit_model_config *config);

    /* Adds all parameters to the table, in the order of a model file. */
    svit_status (*parameters)(sv_parameter_table *table, const svit_model_config *config,
                              svit_error *err);

    /* An upper bound of the number of layers in the training graph. */
    size_t (*layer_count)(const svit_model_config *config);

    /* Builds both graphs, from the image to the logits. */
    svit_status (*layers)(struct sv_builder *build);

    /* The arithmetic of one image of the configuration's input size. */
    sv_multiply_adds (*multiply_adds)(const svit_model_config *config);

    /* Returns the name (static storage) and the configuration of the preset with this index, of
     * which 0 is the architecture's default; false past the end. */
    bool (*preset)(const char **name, svit_model_config *config, size_t index);
} sv_architecture;

/* Declares what the folder of an architecture defines. */
#define SV_ARCHITECTURE_DECLARE(constant, prefix)                                                  \
    extern const sv_field_table sv_##prefix##_fields;                                              \
    svit_status sv_##prefix##_check(const svit_model_config *config, svit_error *err);             \
    size_t sv_##prefix##_features(const svit_model_config *config);                                \
    size_t sv_##prefix##_block_count(const svit_model_config *config);                             \
    sv_weight_rule sv_##prefix##_weight_rule(const svit_model_config *config);                     \
    svit_status sv_##prefix##_parameters(sv_parameter_table *table,                                \
                                         const svit_model_config *config, svit_error *err);        \
    size_t sv_##prefix##_layer_count(const svit_model_config *config);                             \
    svit_status sv_##prefix##_layers(struct sv_builder *build);                                    \
    sv_multiply_adds sv_##prefix##_multiply_adds(const svit_model_config *config);                 \
    bool sv_##prefix##_preset(const char **name, svit_model_config *config, size_t index);
SV_ARCHITECTURES(SV_ARCHITECTURE_DECLARE)

/* All architectures, indexed by SVIT_ARCHITECTURE_*. */
extern const sv_architecture sv_architectures[];
extern const size_t sv_architecture_count;

/* The architecture of a configuration, whose field `architecture` must be in its range. */
const sv_architecture *sv_architecture_of(const svit_model_config *config);

#endif
