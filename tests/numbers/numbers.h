/* Errors of float32 arithmetic against plain references in long double, in units in the last place.
 *
 * A row is a kernel, or another function that computes in float32: it fills its inputs from one
 * range of values, calls the function, and compares every result with numbers_see. The rows are
 * listed in rows.h; test_numbers.c runs them and prints their tables. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "kernels/kernels.h"

#include <stddef.h>
#include <stdint.h>

/* Where the inputs of a row come from. NUMBERS_OPPOSITE has pairs of values whose sum is smaller
 * than they are by 2^-20, so that sums cancel; NUMBERS_NEAR has values of one sign that differ by
 * 2^-10 of their size. */
typedef enum numbers_range {
    NUMBERS_ORDINARY,
    NUMBERS_SWEEP,
    NUMBERS_WIDE,
    NUMBERS_LARGE,
    NUMBERS_TINY,
    NUMBERS_SUBNORMAL,
    NUMBERS_OPPOSITE,
    NUMBERS_NEAR,
    NUMBERS_RANGES
} numbers_range;

/* The set of all ranges. */
enum { NUMBERS_ALL = (1 << NUMBERS_RANGES) - 1 };

/* In units in the last place of what an error is given. */
typedef enum numbers_measure {
    NUMBERS_BITS,  /* the bits are the same, or the error is infinite */
    NUMBERS_VALUE, /* of the result */
    NUMBERS_TERMS  /* of the sum of the magnitudes of the result's terms */
} numbers_measure;

/* What the comparisons of one row on one instruction set have found. */
typedef struct numbers_errors {
    numbers_range range; /* of the inputs */
    uint64_t seed;       /* of the next array */
    double floor;        /* errors up to it are none: values below 2^-126 flush to zero */
    size_t count;
    double sum, largest; /* in units in the last place */
    char place[96];      /* of the largest error */
} numbers_errors;

typedef struct numbers_row {
    const char *name;
    unsigned ranges; /* a bit for each numbers_range */
    numbers_measure measure;
    double bound;       /* of the largest error */
    const char *reason; /* of the bound */
    /* Compares the results for inputs of errors->range. NULL: this build lacks the function. */
    void (*run)(numbers_errors *errors, const sv_kernels *k);
    int once;     /* 1: the function is compiled once, not for each instruction set */
    sv_isa needs; /* the instruction set that such a function needs */
} numbers_row;

/* Fills x[count] with values of the range, other ones with each call. */
void numbers_fill(numbers_errors *errors, float *x, size_t count);

/* Fills x[count] with values from `low` to `high`. */
void numbers_fill_between(numbers_errors *errors, float *x, size_t count, double low, double high);

/* Fills words[count] with random bits. */
void numbers_fill_words(numbers_errors *errors, uint32_t *words, size_t count);

/* The value as which arithmetic takes x: values below 2^-126 are 0. */
long double numbers_in(float x);

/* Compares a result with `wanted`. `terms` is the sum of the magnitudes of its terms; its own
 * magnitude gives the error of NUMBERS_VALUE. `name` and `index` say its place. */
void numbers_see(numbers_errors *errors, float got, long double wanted, long double terms,
                 const char *name, size_t index);

/* Compares the bits of results with those of wanted[count]. */
void numbers_see_bits(numbers_errors *errors, const void *got, const void *wanted, size_t count,
                      const char *name);

/* Calls a kernel in the floating-point environment of the library's arithmetic. */
#define NUMBERS_CALL(call)                                                                         \
    do {                                                                                           \
        sv_fp_env program_env = sv_fp_env_begin();                                                 \
        call;                                                                                      \
        sv_fp_env_end(program_env);                                                                \
    } while (0)

#endif
