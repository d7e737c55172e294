/* Configuration structs that may grow at their end in later versions: how the library exchanges
 * them with callers that were compiled against an older or a newer header. */
#ifndef SV_CONFIG_H
#define SV_CONFIG_H

#include "base/status.h"

/* Copies the library's struct `local` to the caller's `out` of `size` bytes. The first field of
 * both is the uint32_t struct_size. Bytes of `out` beyond `local_size` are cleared, and its
 * struct_size becomes `size`. `type` names the struct in messages. SVIT_E_ARGUMENT if `out` is NULL
 * or `size` is below 4 bytes or above 64 KiB. */
svit_status sv_config_export(void *out, size_t size, const void *local, size_t local_size,
                             const char *type, svit_error *err);

/* Copies the caller's struct `in` over the library's `local`, which holds the defaults. Fields that
 * the caller's version lacks keep their defaults. SVIT_E_ARGUMENT if struct_size is below
 * `min_size`, the size of the first released version. SVIT_E_VERSION if the caller sets a byte
 * beyond `local_size`, which belongs to a field that this version does not know. */
svit_status sv_config_import(void *local, size_t local_size, const void *in, size_t min_size,
                             const char *type, svit_error *err);

/* SVIT_E_VERSION unless the field `reserved` of the struct `type` is 0. A later version may give
 * the field a meaning. */
svit_status sv_config_check_reserved(uint32_t reserved, const char *type, svit_error *err);

#endif
