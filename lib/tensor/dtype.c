/* The table of element types. */
#include "tensor/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} DTYPES[] = {
    [SV_DTYPE_F32] = {"F32", 4},         [SV_DTYPE_F16] = {"F16", 2},
    [SV_DTYPE_BF16] = {"BF16", 2},       [SV_DTYPE_F64] = {"F64", 8},
    [SV_DTYPE_F8_E4M3] = {"F8_E4M3", 1}, [SV_DTYPE_F8_E5M2] = {"F8_E5M2", 1},
    [SV_DTYPE_I8] = {"I8", 1},           [SV_DTYPE_I16] = {"I16", 2},
    [SV_DTYPE_I32] = {"I32", 4},         [SV_DTYPE_I64] = {"I64", 8},
    [SV_DTYPE_U8] = {"U8", 1},           [SV_DTYPE_U16] = {"U16", 2},
    [SV_DTYPE_U32] = {"U32", 4},         [SV_DTYPE_U64] = {"U64", 8},
    [SV_DTYPE_BOOL] = {"BOOL", 1},
};

size_t sv_dtype_bytes(sv_dtype dtype)
{
    return DTYPES[dtype].bytes;
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
