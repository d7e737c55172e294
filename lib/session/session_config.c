/* Session configurations: defaults, the ranges of their fields, and JSON. */
#include "session/session.h"

enum { SIDE_MAX = 8192 };

#define FIELD(field, kind) SV_FIELD(svit_session_config, field, kind)

static const sv_field FIELDS[] = {
    {FIELD(max_batch, U32), .min = 1, .max = 65536},
    {FIELD(mode, WORD),
     .words = (sv_words){[SVIT_MODE_INFER] = "infer", [SVIT_MODE_TRAIN] = "train"}},
    {FIELD(compute, WORD), .words = (sv_words){SV_COMPUTE_WORDS, [SVIT_COMPUTE_INT8] = "int8"}},
    {FIELD(seed, U64)},
    {FIELD(input_height, U32), .max = SIDE_MAX},
    {FIELD(input_width, U32), .max = SIDE_MAX},
    {FIELD(memory, WORD), .words = (sv_words){SV_MEMORY_WORDS}},
    {FIELD(features, FLAG)},
    {FIELD(input_layer, CHARS), .max_count = sizeof((svit_session_config *)0)->input_layer},
    {FIELD(input_gradient, FLAG)},
    {FIELD(check_finite, FLAG)},
};
static const svit_session_config DEFAULTS = {.max_batch = 256};

static svit_status check(const void *checked, svit_error *err)
{
    const svit_session_config *config = checked;
    if (config->compute == SVIT_COMPUTE_INT8 && config->mode == SVIT_MODE_TRAIN)
        return sv_fail(
            err, SVIT_E_ARGUMENT,
            "compute is 'int8', which only infers; 'f32' and 'bf16' are accepted in mode "
            "'train'");
    if (config->input_gradient && config->mode != SVIT_MODE_TRAIN)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "input_gradient is 1 in mode 'infer', which has no backward; it needs mode "
                       "'train'");
    return SVIT_OK;
}

const sv_config_type sv_session_config_type = {
    SV_CONFIG(svit_session_config, FIELDS, "the session configuration"), .defaults = &DEFAULTS,
    .null_is_default = true, .check = check};

SV_CONFIG_FUNCTIONS(svit_session_config, sv_session_config_type)
