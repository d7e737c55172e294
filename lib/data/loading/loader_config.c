/* Loader configurations: defaults, ranges of the fields, and JSON. */
#include "data/loading/loader_config.h"

#include "config/config.h"
#include "config/fields.h"

enum { CONFIG_MIN_SIZE = sizeof(svit_loader_config) };

#define FIELD(field, kind) SV_FIELD(svit_loader_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(batch, U32), .min = 1, .max = 65536},
    {FIELD(seed, U64)},
    {FIELD(shuffle, FLAG)},
    {FIELD(augment, FLAG)},
    {FIELD(prefetch, U32), .max = 16},
    {FIELD(sampling, WORD),
     .words = {[SVIT_SAMPLING_SHUFFLE] = "shuffle", [SVIT_SAMPLING_BALANCED] = "balanced"}},
};
static const sv_field_table TABLE = {.type = "svit_loader_config",
                                     .noun = "the loader configuration",
                                     .prefix = "svit_loader_config",
                                     .fields = FIELDS,
                                     .count = sizeof FIELDS / sizeof *FIELDS};

static svit_loader_config defaults(void)
{
    return (svit_loader_config){
        .struct_size = sizeof(svit_loader_config), .batch = 256, .prefetch = 2};
}

svit_status sv_loader_config_read(svit_loader_config *out, const svit_loader_config *in,
                                  svit_error *err)
{
    svit_loader_config config = defaults();
    if (in)
        SVIT_TRY(sv_config_import(&config, sizeof config, in, CONFIG_MIN_SIZE, TABLE.type, err));
    SVIT_TRY(sv_fields_check(&TABLE, &config, err));
    *out = config;
    return SVIT_OK;
}

SVIT_API svit_status svit_loader_config_init(svit_loader_config *config, size_t size)
{
    svit_loader_config local = defaults();
    return sv_config_export(config, size, &local, sizeof local, TABLE.type, NULL);
}

SVIT_API svit_status svit_loader_config_from_json(svit_loader_config *config, size_t size,
                                                  const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    svit_loader_config local = defaults();
    SVIT_TRY(sv_fields_from_text(&TABLE, &local, json, err));
    return sv_config_export(config, size, &local, sizeof local, TABLE.type, err);
}

SVIT_API svit_status svit_loader_config_to_json(const svit_loader_config *config, char *buffer,
                                                size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_loader_config local;
    SVIT_TRY(sv_loader_config_read(&local, config, err));
    return sv_fields_to_buffer(&TABLE, &local, buffer, capacity, needed, err);
}
