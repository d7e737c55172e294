/* The element types of stored tensors, with the names that safetensors gives them: all that its
 * reference implementation has. */
#ifndef SV_DTYPE_H
#define SV_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum sv_dtype {
    SV_DTYPE_F32,
    SV_DTYPE_F16,  /* IEEE 754 binary16 */
    SV_DTYPE_BF16, /* the upper half of a float32 */
    SV_DTYPE_F64,
    SV_DTYPE_C64, /* a pair of F32 */
    SV_DTYPE_F4,  /* two elements in a byte */
    SV_DTYPE_F6_E2M3,
    SV_DTYPE_F6_E3M2,
    SV_DTYPE_F8_E4M3,
    SV_DTYPE_F8_E4M3FNUZ,
    SV_DTYPE_F8_E5M2,
    SV_DTYPE_F8_E5M2FNUZ,
    SV_DTYPE_F8_E8M0,
    SV_DTYPE_I8,
    SV_DTYPE_I16,
    SV_DTYPE_I32,
    SV_DTYPE_I64,
    SV_DTYPE_U8,
    SV_DTYPE_U16,
    SV_DTYPE_U32,
    SV_DTYPE_U64,
    SV_DTYPE_BOOL /* one byte */
} sv_dtype;

/* The bits of one element: 4, 6 or whole bytes. */
/*@ requires 0 <= dtype <= SV_DTYPE_BOOL;
    assigns \nothing;
    ensures 4 <= \result <= 64; */
size_t sv_dtype_bits(sv_dtype dtype);

/* The name in safetensors headers: "F32", "BF16", "U8", ... */
const char *sv_dtype_name(sv_dtype dtype);

/* Finds the type of that name. Returns false, with *out unchanged, if `name` is NULL or unknown. */
bool sv_dtype_find(sv_dtype *out, const char *name);

#endif
