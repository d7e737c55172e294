/* Loader configurations: how they are read from callers. */
#ifndef SV_LOADER_CONFIG_H
#define SV_LOADER_CONFIG_H

#include "base/status.h"

#include <shiftvit/loader.h>

/* Reads a caller's configuration, NULL for the defaults, into *out and checks it. */
svit_status sv_loader_config_read(svit_loader_config *out, const svit_loader_config *in,
                                  svit_error *err);

#endif
