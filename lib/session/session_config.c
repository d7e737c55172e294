/* Session configurations: defaults, the ranges of their fields, and JSON. */
#include "config/config.h"
#include "config/fields.h"
#include "session/session.h"

enum { CONFIG_MIN_SIZE = sizeof(svit_session_config), SIDE_MAX = 8192 };

#define FIELD(field, kind) SV_FIELD(svit_session_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(max_batch, U32), .min = 1, .max = 65536},
    {FIELD(mode, WORD), .words = {[SVIT_MODE_INFER] = "infer", [SVIT_MODE_TRAIN] = "train"}},
    {FIELD(compute, WORD), .words = {SV_COMPUTE_WORDS, [SVIT_COMPUTE_INT8] = "int8"}},
    {FIELD(seed, U64)},
    {FIELD(input_height, U32), .max = SIDE_MAX},
    {FIELD(input_width, U32), .max = SIDE_MAX},
    {FIELD(memory, WORD), .words = {SV_MEMORY_WORDS}},
    {FIELD(features, FLAG)},
    {FIELD(input_layer, CHARS), .max_count = sizeof((svit_session_config *)0)->input_layer},
    {FIELD(input_gradient, FLAG)},
};
static const sv_field_table TABLE = {.type = "svit_session_config",
                                     .noun = "the session configuration",
                                     .fields = FIELDS,
                                     .count = sizeof FIELDS / sizeof *FIELDS};

static svit_session_config defaults(void)
{
    return (svit_session_config){.struct_size = sizeof(svit_session_config), .max_batch = 256};
}

SVIT_API svit_status svit_session_config_init(svit_session_config *config, size_t size)
{
    svit_session_config local = defaults();
    return sv_config_export(config, size, &local, sizeof local, TABLE.type, NULL);
}

static svit_status check(const svit_session_config *config, svit_error *err)
{
    SVIT_TRY(sv_fields_check(&TABLE, config, err));
    if (config->compute == SVIT_COMPUTE_INT8 && config->mode == SVIT_MODE_TRAIN)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "compute is SVIT_COMPUTE_INT8, which only infers; SVIT_COMPUTE_F32 and "
                       "SVIT_COMPUTE_BF16 are accepted in SVIT_MODE_TRAIN");
    if (config->input_gradient && config->mode != SVIT_MODE_TRAIN)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "input_gradient is 1 in SVIT_MODE_INFER, which has no backward; it needs "
                       "SVIT_MODE_TRAIN");
    return SVIT_OK;
}

svit_status sv_session_config_read(svit_session_config *out, const svit_session_config *in,
                                   svit_error *err)
{
    *out = defaults();
    if (in)
        SVIT_TRY(sv_config_import(out, sizeof *out, in, CONFIG_MIN_SIZE, TABLE.type, err));
    return check(out, err);
}

SVIT_API svit_status svit_session_config_from_json(svit_session_config *config, size_t size,
                                                   const char *json, svit_error *err)
{
    SV_REQUIRE(config);
    SV_REQUIRE(json);
    svit_session_config local = defaults();
    SVIT_TRY(sv_fields_from_text(&TABLE, &local, json, err));
    SVIT_TRY(check(&local, err));
    return sv_config_export(config, size, &local, sizeof local, TABLE.type, err);
}

SVIT_API svit_status svit_session_config_to_json(const svit_session_config *config, char *buffer,
                                                 size_t capacity, size_t *needed, svit_error *err)
{
    SV_REQUIRE(config);
    svit_session_config local;
    SVIT_TRY(sv_session_config_read(&local, config, err));
    return sv_fields_to_buffer(&TABLE, &local, buffer, capacity, needed, err);
}
