/* Reading of the caller's loader configuration. */
#ifndef SV_LOADER_CONFIG_H
#define SV_LOADER_CONFIG_H

#include "base/status.h"

#include <shiftvit/loader.h>

/* Copies a caller's configuration, or the defaults if `in` is NULL, to *out and checks it.
 * SVIT_E_ARGUMENT, SVIT_E_VERSION. */
svit_status sv_loader_config_read(svit_loader_config *out, const svit_loader_config *in,
                                  svit_error *err);

#endif
