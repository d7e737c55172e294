/* The options of svit_model_open, which every build has. */
#include "models/load/load_internal.h"

const sv_config_type sv_open_options_type = {SV_CONFIG_STRUCT(svit_open_options),
                                             .reserved = offsetof(svit_open_options, reserved),
                                             .null_is_default = true};

SV_CONFIG_INIT(svit_open_options, sv_open_options_type)
