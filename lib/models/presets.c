/* The presets of all architectures, by name and by index. */
#include "models/architecture.h"
#include "models/config.h"

#include <string.h>

/* The preset with this index among those of all architectures, one architecture after another. NULL
 * past the end. */
static const sv_preset *find_preset(size_t index)
{
    size_t before = 0;
    for (size_t i = 0; i < sv_architecture_count; i++)
        for (const sv_preset *preset = sv_architectures[i].presets; preset->name; preset++)
            if (before++ == index)
                return preset;
    return NULL;
}

SVIT_API svit_status svit_model_config_preset(svit_model_config *config, size_t size,
                                              const char *preset, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(preset);
    const sv_preset *found;
    for (size_t i = 0; (found = find_preset(i)) != NULL; i++)
        if (strcmp(found->name, preset) == 0)
            return sv_config_write(&sv_model_config_type, config, size, &found->config, err);
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "preset '%.40s' is unknown; svit_model_preset_name lists the known", preset);
}

SVIT_API const char *svit_model_preset_name(size_t index)
{
    const sv_preset *preset = find_preset(index);
    return preset ? preset->name : NULL;
}

SVIT_API const char *svit_model_architecture_name(size_t index)
{
    return index < sv_architecture_count ? sv_architectures[index].name : NULL;
}
