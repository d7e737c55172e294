/* The table of element types. */
#include "tensor/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bits;
} DTYPES[] = {
    [SV_DTYPE_F32] = {"F32", 32},        [SV_DTYPE_F16] = {"F16", 16},
    [SV_DTYPE_BF16] = {"BF16", 16},      [SV_DTYPE_F64] = {"F64", 64},
    [SV_DTYPE_C64] = {"C64", 64},        [SV_DTYPE_F4] = {"F4", 4},
    [SV_DTYPE_F6_E2M3] = {"F6_E2M3", 6}, [SV_DTYPE_F6_E3M2] = {"F6_E3M2", 6},
    [SV_DTYPE_F8_E4M3] = {"F8_E4M3", 8}, [SV_DTYPE_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8},
    [SV_DTYPE_F8_E5M2] = {"F8_E5M2", 8}, [SV_DTYPE_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8},
    [SV_DTYPE_F8_E8M0] = {"F8_E8M0", 8}, [SV_DTYPE_I8] = {"I8", 8},
    [SV_DTYPE_I16] = {"I16", 16},        [SV_DTYPE_I32] = {"I32", 32},
    [SV_DTYPE_I64] = {"I64", 64},        [SV_DTYPE_U8] = {"U8", 8},
    [SV_DTYPE_U16] = {"U16", 16},        [SV_DTYPE_U32] = {"U32", 32},
    [SV_DTYPE_U64] = {"U64", 64},        [SV_DTYPE_BOOL] = {"BOOL", 8},
};

size_t sv_dtype_bits(sv_dtype dtype)
{
    return DTYPES[dtype].bits;
}

const char *sv_dtype_name(sv_dtype dtype)
{
    return DTYPES[dtype].name;
}

bool sv_dtype_find(sv_dtype *out, const char *name)
{
    for (size_t i = 0; name && i < sizeof DTYPES / sizeof *DTYPES; i++)
        if (strcmp(DTYPES[i].name, name) == 0) {
            *out = (sv_dtype)i;
            return true;
        }
    return false;
}
