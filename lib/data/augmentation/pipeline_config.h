/* The type of pipeline configurations. */
#ifndef SV_PIPELINE_CONFIG_H
#define SV_PIPELINE_CONFIG_H

#include "config/config.h"

#include <shiftvit/pipeline.h>

extern const sv_config_type sv_pipeline_config_type;

#endif
