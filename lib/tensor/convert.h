/* Conversion between stored tensor elements and float32. */
#ifndef SV_CONVERT_H
#define SV_CONVERT_H

#include "tensor/dtype.h"

/* Whether the functions below convert the type: F32, F16, BF16 and I8. */
bool sv_converts_to_f32(sv_dtype dtype);

/* Converts stored[elements], little-endian as files have it, to out[elements]. Every conversion is
 * exact. The stored elements may occupy the last bytes of `out`: each is read before it is
 * overwritten. */
void sv_convert_to_f32(float *out, const void *stored, sv_dtype dtype, size_t elements);

/* Converts stored[elements], F64 and little-endian, to out[elements], rounded to nearest. */
void sv_convert_f64_to_f32(float *out, const void *stored, size_t elements);

/* Converts values[elements] to stored[elements], little-endian, rounded to nearest, ties to even.
 * Values for I8 are whole numbers in -128..127, and those for I32, which this function alone
 * converts, in -2^24..2^24. `stored` may be the memory of `values`: each is read before it is
 * overwritten. */
void sv_convert_from_f32(void *stored, const float *values, sv_dtype dtype, size_t elements);

/* The largest finite number of F32, F16 or BF16. */
float sv_convert_limit(sv_dtype dtype);

#endif
