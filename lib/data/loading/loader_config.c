/* Loader configurations: defaults, ranges of the fields, and JSON. */
#include "data/loading/loader_config.h"

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
static const svit_loader_config DEFAULTS = {.batch = 256, .prefetch = 2};

const sv_config_type sv_loader_config_type = {
    SV_CONFIG(svit_loader_config, FIELDS, "the loader configuration"),
    .table.prefix = "svit_loader_config", .defaults = &DEFAULTS, .null_is_default = true};

SV_CONFIG_FUNCTIONS(svit_loader_config, sv_loader_config_type)
