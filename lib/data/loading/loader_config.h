/* Reading of the caller's loader configuration. */
#ifndef SV_LOADER_CONFIG_H
#define SV_LOADER_CONFIG_H

#include "base/status.h"

#include <shiftvit/loader.h>

/* Copies a caller's configuration, or the defaults if `in` is NULL, to *out and checks it.
 * Returns SVIT_E_ARGUMENT for a value that is not accepted, SVIT_E_VERSION for an unknown struct.
 */
svit_status sv_loader_config_read(svit_loader_config *out, const svit_loader_config *in,
                                  svit_error *err);

#endif
