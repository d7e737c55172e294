/* Checks model configurations as wholes, and compares them. */
#include "models/config.h"

#include "base/config.h"
#include "models/architecture.h"
#include "models/config_fields.h"

/* The first field is the architecture, which says to which of the others to look. */
svit_status sv_model_config_check(const svit_model_config *config, svit_error *err)
{
    SVIT_TRY(sv_fields_check(&sv_model_fields, config, err));
    const sv_architecture *architecture = sv_architecture_of(config);
    SVIT_TRY(architecture->check(config, err));
    size_t features = architecture->features(config);
    if (!config->classifier && config->num_classes != features)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "num_classes is %u; without a classifier the %zu pooled features are the "
                       "logits, so it is %zu",
                       config->num_classes, features, features);
    return SVIT_OK;
}

svit_status sv_model_config_import(svit_model_config *own, const svit_model_config *config,
                                   svit_error *err)
{
    SVIT_TRY(svit_model_config_init(own, sizeof *own));
    SVIT_TRY(sv_config_import(own, sizeof *own, config, SV_MODEL_CONFIG_LEAST, "svit_model_config",
                              err));
    SVIT_TRY(sv_config_check_reserved(own->reserved | own->reserved_too, "svit_model_config", err));
    return sv_model_config_check(own, err);
}

const char *sv_model_config_difference(const svit_model_config *a, const svit_model_config *b)
{
    return sv_fields_difference(&sv_model_fields, a, b);
}
