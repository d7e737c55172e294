/* Conversion between stored tensor elements and float32. */
#include "tensor/convert.h"

#include "base/numbers/byte_order.h"

#include <assert.h>
#include <float.h>
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
    return (uint32_t)sv_load_little(b, 2);
}

bool sv_converts_to_f32(sv_dtype dtype)
{
    return dtype == SV_DTYPE_F32 || dtype == SV_DTYPE_F16 || dtype == SV_DTYPE_BF16 ||
           dtype == SV_DTYPE_I8;
}

void sv_convert_to_f32(float *out, const void *stored, sv_dtype dtype, size_t elements)
{
    const uint8_t *in = stored;
    assert(sv_converts_to_f32(dtype));
    if (dtype == SV_DTYPE_F32) {
        memmove(out, in, elements * sizeof *out);
        sv_little_endian(out, sizeof *out, elements);
    } else if (dtype == SV_DTYPE_F16)
        for (size_t i = 0; i < elements; i++)
            out[i] = float_of_half(load_u16(in + 2 * i));
    else if (dtype == SV_DTYPE_BF16)
        for (size_t i = 0; i < elements; i++)
            out[i] = float_of_bits(load_u16(in + 2 * i) << 16);
    else
        for (size_t i = 0; i < elements; i++)
            out[i] = (float)(int8_t)in[i];
}

void sv_convert_f64_to_f32(float *out, const void *stored, size_t elements)
{
    const uint8_t *in = stored;
    for (size_t i = 0; i < elements; i++) {
        const uint64_t bits = sv_load_little(in + 8 * i, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        out[i] = (float)value;
    }
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* value / 2^shift, rounded to nearest, ties to even; shift is 1..31. */
static uint32_t shift_rounded(uint32_t value, unsigned shift)
{
    uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* The binary16 nearest to a value; a carry of the fraction goes on into the exponent. */
static uint32_t half_of_float(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u;
    uint32_t exponent = bits >> 23 & 0xffu, fraction = bits & 0x7fffffu;
    if (exponent == 255)
        return sign | 0x7c00u | (fraction ? 0x200u : 0);
    if (exponent >= 113) {
        uint32_t rounded = ((exponent - 112) << 10) + shift_rounded(fraction, 13);
        return sign | (rounded < 0x7c00u ? rounded : 0x7c00u);
    }
    /* A subnormal is a multiple of 2^-24. */
    unsigned shift = 126 - exponent;
    return sign | (shift > 24 ? 0 : shift_rounded(fraction | 0x800000u, shift));
}

/* NaN keeps its sign and becomes quiet, since rounding could turn it into infinity. */
static uint32_t bfloat_of_float(float value)
{
    uint32_t bits = bits_of(value);
    return value != value ? (bits >> 16 | 0x40u) : shift_rounded(bits, 16);
}

void sv_convert_from_f32(void *stored, const float *values, sv_dtype dtype, size_t elements)
{
    uint8_t *out = stored;
    assert(sv_converts_to_f32(dtype) || dtype == SV_DTYPE_I32);
    if (dtype == SV_DTYPE_F32) {
        memmove(out, values, elements * sizeof *values);
        sv_little_endian(out, sizeof *values, elements);
        return;
    }
    for (size_t i = 0; i < elements; i++) {
        const float value = values[i];
        if (dtype == SV_DTYPE_I32)
            sv_store_little(out + 4 * i, (uint32_t)(int32_t)value, 4);
        else if (dtype == SV_DTYPE_F16)
            sv_store_little(out + 2 * i, half_of_float(value), 2);
        else if (dtype == SV_DTYPE_BF16)
            sv_store_little(out + 2 * i, bfloat_of_float(value), 2);
        else
            out[i] = (uint8_t)(int8_t)value;
    }
}

float sv_convert_limit(sv_dtype dtype)
{
    if (dtype == SV_DTYPE_F16)
        return 65504;
    return dtype == SV_DTYPE_BF16 ? 0x1.fep127f : FLT_MAX;
}
