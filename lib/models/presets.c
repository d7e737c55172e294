/* The presets of all architectures, by name and by index. */
#include "models/architecture.h"
#include "models/config.h"

#include <string.h>

/* Finds the preset with this index among those of all architectures, one architecture after
 * another. False past the end. */
static bool find_preset(const char **name, svit_model_config *config, size_t index)
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

SVIT_API svit_status svit_model_config_preset(svit_model_config *config, size_t size,
                                              const char *preset, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(preset);
    svit_model_config found;
    const char *name;
    for (size_t i = 0; find_preset(&name, &found, i); i++)
        if (strcmp(name, preset) == 0)
            return sv_config_write(&sv_model_config_type, config, size, &found, err);
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "preset '%.40s' is unknown; svit_model_preset_name lists the known", preset);
}

SVIT_API const char *svit_model_preset_name(size_t index)
{
    svit_model_config config;
    const char *name;
    return find_preset(&name, &config, index) ? name : NULL;
}

SVIT_API const char *svit_model_architecture_name(size_t index)
{
    return index < sv_architecture_count ? sv_architectures[index].name : NULL;
}
