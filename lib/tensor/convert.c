/* Conversion of stored tensor elements to float32. */
#include "tensor/convert.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16. A subnormal is its fraction times 2^-24, exact in float32. */
static float float_of_half(uint32_t half)
{
    uint32_t sign = (half & 0x8000u) << 16;
    uint32_t exponent = half >> 10 & 0x1fu;
    uint32_t fraction = half & 0x3ffu;
    if (exponent == 0) {
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    if (exponent == 31)
        return float_of_bits(sign | 0x7f800000u | fraction << 13);
    return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

static uint32_t load_u16(const uint8_t *b)
{
    return (uint32_t)b[0] | (uint32_t)b[1] << 8;
}

static uint32_t load_u32(const uint8_t *b)
{
    return load_u16(b) | load_u16(b + 2) << 16;
}

bool sv_converts_to_f32(sv_dtype dtype)
{
    return dtype == SV_DTYPE_F32 || dtype == SV_DTYPE_F16 || dtype == SV_DTYPE_BF16;
}

void sv_convert_to_f32(float *out, const void *stored, sv_dtype dtype, size_t elements)
{
    const uint8_t *in = stored;
    assert(sv_converts_to_f32(dtype));
    if (dtype == SV_DTYPE_F32)
        for (size_t i = 0; i < elements; i++)
            out[i] = float_of_bits(load_u32(in + 4 * i));
    else if (dtype == SV_DTYPE_F16)
        for (size_t i = 0; i < elements; i++)
            out[i] = float_of_half(load_u16(in + 2 * i));
    else
        for (size_t i = 0; i < elements; i++)
            out[i] = float_of_bits(load_u16(in + 2 * i) << 16);
}
