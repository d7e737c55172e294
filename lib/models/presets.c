/* The presets of all architectures by name and number. */
#include "models/presets.h"

#include "base/config.h"
#include "models/architecture.h"

#include <string.h>

bool sv_preset_at(const char **name, svit_model_config *config, size_t index)
{
    for (size_t i = 0; i < sv_architecture_count; i++) {
        size_t count = 0;
        while (count <= index && sv_architectures[i].preset(name, config, count))
            count++;
        if (count > index)
            return true;
        index -= count;
    }
    return false;
}

SVIT_API svit_status svit_model_config_init(svit_model_config *config, size_t size)
{
    if (!config)
        return SVIT_E_ARGUMENT;
    svit_model_config own;
    const char *name;
    sv_preset_at(&name, &own, 0);
    return sv_config_export(config, size, &own, sizeof own, "svit_model_config", NULL);
}

SVIT_API svit_status svit_model_config_preset(svit_model_config *config, size_t size,
                                              const char *preset, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(preset);
    svit_model_config own;
    const char *name;
    for (size_t i = 0; sv_preset_at(&name, &own, i); i++)
        if (strcmp(name, preset) == 0)
            return sv_config_export(config, size, &own, sizeof own, "svit_model_config", err);
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "preset '%.40s' is unknown; svit_model_preset_name lists the known", preset);
}

SVIT_API const char *svit_model_preset_name(size_t index)
{
    svit_model_config own;
    const char *name;
    return sv_preset_at(&name, &own, index) ? name : NULL;
}
