/* Configuration structs that grow at their end: how the library reads and writes those of callers
 * that were compiled against an older or a newer header. */
#ifndef SV_CONFIG_H
#define SV_CONFIG_H

#include "base/status.h"

/* Writes a struct of the library (`own_size` bytes at `own`, whose first field is the uint32_t
 * struct_size) to the caller's `size` bytes: the common part, the caller's tail cleared,
 * struct_size = size. `what` is the type's name. SVIT_E_ARGUMENT where size < 4 or above 64 KiB. */
svit_status sv_config_export(void *out, size_t size, const void *own, size_t own_size,
                             const char *what, svit_error *err);

/* Reads a caller's struct into the library's `own`, which holds the defaults already. Fields that
 * the caller does not have keep them; a tail that the library does not know must be zero, else
 * SVIT_E_VERSION. SVIT_E_ARGUMENT where struct_size is below `least` (the size of version 1.0, or
 * of the part that must be there). */
svit_status sv_config_import(void *own, size_t own_size, const void *in, size_t least,
                             const char *what, svit_error *err);

/* SVIT_E_VERSION where the field `reserved` of the struct `what` is not 0: a later version of the
 * library gives it a meaning. */
svit_status sv_config_check_reserved(uint32_t reserved, const char *what, svit_error *err);

#endif
