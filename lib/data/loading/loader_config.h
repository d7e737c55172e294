/* The type of the caller's loader configuration. */
#ifndef SV_LOADER_CONFIG_H
#define SV_LOADER_CONFIG_H

#include "config/config.h"

#include <shiftvit/loader.h>

extern const sv_config_type sv_loader_config_type;

#endif
