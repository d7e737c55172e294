/* Checks the conversions of stored types: all 65536 values of the 16-bit ones there and back,
 * rounding to the nearest, and integers. */
#include "suite.h"

#include "tensor/convert.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { ALL = 1 << 16 };

static uint16_t stored(float value, sv_dtype dtype)
{
    uint8_t bytes[2];
    sv_convert_from_f32(bytes, &value, dtype, 1);
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static float loaded(uint16_t value, sv_dtype dtype)
{
    const uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
    float out;
    sv_convert_to_f32(&out, bytes, dtype, 1);
    return out;
}

/* The value by the definition of the type, of which NaN is the rest. */
static double defined(unsigned value, sv_dtype dtype)
{
    const int bits = dtype == SV_DTYPE_F16 ? 10 : 7, bias = dtype == SV_DTYPE_F16 ? 15 : 127;
    const int exponent = (int)(value >> bits) & (2 * bias + 1);
    const double fraction = (double)(value & ((1u << bits) - 1)), sign = value >> 15 ? -1 : 1;
    if (exponent == 2 * bias + 1)
        return fraction == 0 ? sign * INFINITY : NAN;
    return sign * (exponent ? ldexp(ldexp(1, bits) + fraction, exponent - bias - bits)
                            : ldexp(fraction, 1 - bias - bits));
}

static const sv_dtype TYPES[] = {SV_DTYPE_F16, SV_DTYPE_BF16};

START_TEST(test_all_values_are_those_of_the_definition_and_go_back)
{
    for (unsigned value = 0; value < ALL; value++) {
        const double wanted = defined(value, TYPES[_i]);
        const float found = loaded((uint16_t)value, TYPES[_i]);
        const uint16_t back = stored(found, TYPES[_i]);
        if (isnan(wanted))
            ck_assert_msg(isnan(found) && isnan(loaded(back, TYPES[_i])) &&
                              (back & 0x8000u) == (value & 0x8000u),
                          "%04x", value);
        else
            ck_assert_msg(found == wanted && !signbit(found) == !signbit(wanted) && back == value,
                          "%04x is %g, not %g, and goes back as %04x", value, found, wanted, back);
    }
}
END_TEST

/* Between two neighbours the middle goes to the even one, and what is beside it to the nearer one.
 * Above the largest, what rounds up is infinite. */
START_TEST(test_values_between_are_rounded_to_the_nearest)
{
    for (unsigned value = 0; value < ALL; value++) {
        const float low = loaded((uint16_t)value, TYPES[_i]);
        const double next = defined(value + 1, TYPES[_i]);
        if ((value & 0x7fff) == 0x7fff || !isfinite(low))
            continue;
        const double step =
            isfinite(next) ? next - low : low - loaded((uint16_t)(value - 1), TYPES[_i]);
        const float middle = (float)(low + step / 2);
        if (middle == low || (double)middle != low + step / 2)
            continue; /* it is no float */
        const float under = nextafterf(middle, low), over = nextafterf(middle, low + (float)step);
        ck_assert_msg(stored(middle, TYPES[_i]) == (value & 1 ? value + 1 : value), "%04x", value);
        ck_assert_msg(stored(under, TYPES[_i]) == value, "below the middle of %04x", value);
        ck_assert_msg(!isfinite(over) || stored(over, TYPES[_i]) == value + 1,
                      "above the middle of %04x", value);
    }
    ck_assert_uint_eq(stored(-0x1p-149f, TYPES[_i]), 0x8000);
    ck_assert_uint_eq(stored(sv_convert_limit(TYPES[_i]), TYPES[_i]),
                      TYPES[_i] == SV_DTYPE_F16 ? 0x7bff : 0x7f7f);
}
END_TEST

START_TEST(test_integers_and_floats_are_stored_in_little_endian)
{
    static const float values[] = {-128, -1, 0, 127};
    static const uint8_t i8[] = {0x80, 0xff, 0, 0x7f},
                         i32[] = {0x80, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0,    0,    0,    0,    0x7f, 0,    0,    0};
    static const uint8_t f32[] = {0, 0, 0, 0xc3, 0, 0, 0x80, 0xbf, 0, 0, 0, 0, 0, 0, 0xfe, 0x42};
    uint8_t bytes[16];
    float back[4];
    sv_convert_from_f32(bytes, values, SV_DTYPE_I8, 4);
    ck_assert_mem_eq(bytes, i8, 4);
    sv_convert_to_f32(back, bytes, SV_DTYPE_I8, 4);
    ck_assert_mem_eq(back, values, sizeof back);
    sv_convert_from_f32(bytes, values, SV_DTYPE_I32, 4);
    ck_assert_mem_eq(bytes, i32, 16);
    sv_convert_from_f32(bytes, values, SV_DTYPE_F32, 4);
    ck_assert_mem_eq(bytes, f32, 16);
    ck_assert_float_eq(sv_convert_limit(SV_DTYPE_F32), FLT_MAX);
    ck_assert_float_eq(sv_convert_limit(SV_DTYPE_BF16), 0x1.fep127f);
    ck_assert_float_eq(sv_convert_limit(SV_DTYPE_F16), 65504);
    static const sv_dtype converted[] = {SV_DTYPE_F32, SV_DTYPE_F16, SV_DTYPE_BF16, SV_DTYPE_I8};
    for (size_t i = 0; i < 4; i++)
        ck_assert(sv_converts_to_f32(converted[i]));
    ck_assert(!sv_converts_to_f32(SV_DTYPE_I32) && !sv_converts_to_f32(SV_DTYPE_U8));
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("convert");
    TCase *c = tcase_create("convert");
    tcase_add_loop_test(c, test_all_values_are_those_of_the_definition_and_go_back, 0, 2);
    tcase_add_loop_test(c, test_values_between_are_rounded_to_the_nearest, 0, 2);
    tcase_add_test(c, test_integers_and_floats_are_stored_in_little_endian);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
