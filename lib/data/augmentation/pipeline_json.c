/* Pipeline configurations as JSON: the object `preprocessing` of model files. */
#include "config/config.h"
#include "data/augmentation/pipeline_config.h"

SVIT_API svit_status svit_pipeline_config_from_json(svit_pipeline_config *config, size_t size,
                                                    const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    svit_pipeline_config local = sv_pipeline_config_default();
    SVIT_TRY(sv_fields_from_text(&sv_pipeline_fields, &local, json, err));
    SVIT_TRY(sv_pipeline_config_check(&local, err));
    return sv_config_export(config, size, &local, sizeof local, sv_pipeline_fields.type, err);
}

SVIT_API svit_status svit_pipeline_config_to_json(const svit_pipeline_config *config, char *buffer,
                                                  size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_pipeline_config local;
    SVIT_TRY(sv_pipeline_config_read(&local, config, err));
    return sv_fields_to_buffer(&sv_pipeline_fields, &local, buffer, capacity, needed, err);
}
