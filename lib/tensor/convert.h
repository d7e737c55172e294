/* Conversion of stored tensor elements to float32. */
#ifndef SV_CONVERT_H
#define SV_CONVERT_H

#include "tensor/dtype.h"

/* Whether sv_convert_to_f32 reads the type: F32, F16 and BF16. */
bool sv_converts_to_f32(sv_dtype dtype);

/* Converts stored[elements], little-endian as files have it, to out[elements]. Every conversion is
 * exact. The stored elements may occupy the last bytes of `out`: each is read before it is
 * overwritten. */
void sv_convert_to_f32(float *out, const void *stored, sv_dtype dtype, size_t elements);

#endif
