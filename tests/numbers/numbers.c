/* Inputs of rows, and their errors. */
#include "numbers.h"

#include "base/numbers/random.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static sv_random random_of(numbers_errors *errors)
{
    sv_random random;
    sv_random_start(&random, errors->seed++, 91, 0, 0);
    return random;
}

/* A value of either sign whose magnitude is 2^low to 2^high. */
static float power_between(sv_random *random, double low, double high)
{
    double magnitude = exp2(low + (high - low) * sv_random_unit(random));
    return (float)(sv_random_unit(random) < 0.5 ? -magnitude : magnitude);
}

static float value_of(sv_random *random, numbers_range range, size_t index, float before)
{
    double unit = sv_random_unit(random);
    switch (range) {
    case NUMBERS_SWEEP:
        return (float)(40 * unit - 20);
    case NUMBERS_WIDE:
        return power_between(random, -30, 12);
    case NUMBERS_LARGE:
        return power_between(random, 30, 50);
    case NUMBERS_TINY:
        return power_between(random, -126, -100);
    case NUMBERS_SUBNORMAL:
        return power_between(random, -149, -126.1);
    case NUMBERS_OPPOSITE:
        return index % 2 ? -before * (float)(1 + 0x1p-20 * unit) : (float)(1 + unit);
    case NUMBERS_NEAR:
        return (float)(1 + 0x1p-10 * unit);
    default:
        return (float)(2 * unit - 1);
    }
}

void numbers_fill(numbers_errors *errors, float *x, size_t count)
{
    sv_random random = random_of(errors);
    for (size_t i = 0; i < count; i++)
        x[i] = value_of(&random, errors->range, i, i ? x[i - 1] : 0);
}

void numbers_fill_between(numbers_errors *errors, float *x, size_t count, double low, double high)
{
    sv_random random = random_of(errors);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(low + (high - low) * sv_random_unit(&random));
}

void numbers_fill_words(numbers_errors *errors, uint32_t *words, size_t count)
{
    sv_random random = random_of(errors);
    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)(sv_random_unit(&random) * 4294967296.0);
}

long double numbers_in(float x)
{
    return fabsl((long double)x) < (long double)FLT_MIN ? 0 : (long double)x;
}

static void add_error(numbers_errors *errors, double error, const char *name, size_t index,
                      double got, double wanted)
{
    errors->count++;
    errors->sum += error;
    if (!(error > errors->largest || isnan(error)) || isinf(errors->largest))
        return;
    errors->largest = isnan(error) ? INFINITY : error;
    snprintf(errors->place, sizeof errors->place, "%s %zu: %.9g for %.9g", name, index, got,
             wanted);
}

/* The unit in the last place of float32 for values of this magnitude. */
static long double unit_of(long double magnitude)
{
    int exponent;
    frexpl(magnitude, &exponent);
    exponent = exponent < FLT_MIN_EXP ? FLT_MIN_EXP : exponent;
    return ldexpl(1, exponent - FLT_MANT_DIG);
}

void numbers_see(numbers_errors *errors, float got, long double wanted, long double terms,
                 const char *name, size_t index)
{
    long double error = fabsl((long double)got - wanted);
    if (fabsl(wanted) > (long double)FLT_MAX && isinf(got) && (got > 0) == (wanted > 0))
        error = 0;
    double units = error <= (long double)errors->floor ? 0 : (double)(error / unit_of(terms));
    add_error(errors, units, name, index, (double)got, (double)wanted);
}

void numbers_see_bits(numbers_errors *errors, const void *got, const void *wanted, size_t count,
                      const char *name)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits, wanted_bits;
        memcpy(&bits, (const char *)got + i * sizeof bits, sizeof bits);
        memcpy(&wanted_bits, (const char *)wanted + i * sizeof bits, sizeof bits);
        add_error(errors, bits == wanted_bits ? 0 : INFINITY, name, i, bits, wanted_bits);
    }
}
