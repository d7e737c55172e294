/* Overflow-checked arithmetic on sizes. Every size that depends on a file or a caller goes through
 * it. */
#ifndef SV_SIZE_H
#define SV_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b. Returns false, with *out unchanged, on overflow. */
/*@ requires \valid(out);
    assigns *out;
    ensures \result ==> *out == a * b;
    ensures !\result ==> *out == \old(*out); */
bool sv_size_multiply(size_t *out, size_t a, size_t b);

/* *out = a + b. Returns false, with *out unchanged, on overflow. */
/*@ requires \valid(out);
    assigns *out;
    ensures \result ==> *out == a + b;
    ensures !\result ==> *out == \old(*out); */
bool sv_size_add(size_t *out, size_t a, size_t b);

/* *out = the product of factors[count]. Returns false, with *out unchanged, on overflow. */
/*@ requires \valid(out) && \valid_read(factors + (0 .. count - 1));
    requires \separated(out, factors + (0 .. count - 1));
    assigns *out; */
bool sv_size_product(size_t *out, const size_t *factors, size_t count);

/* a * b and a + b; SIZE_MAX, which no memory has, if that is larger. */
/*@ assigns \nothing; */
static inline size_t sv_size_times(size_t a, size_t b)
{
    return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

/*@ assigns \nothing; */
static inline size_t sv_size_plus(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

/* The same of numbers of operations; UINT64_MAX if there are more. */
/*@ assigns \nothing; */
static inline uint64_t sv_count_times(uint64_t a, uint64_t b)
{
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/*@ assigns \nothing; */
static inline uint64_t sv_count_plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*@ assigns \nothing;
    ensures \result == (a < b ? a : b); */
static inline size_t sv_size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*@ assigns \nothing;
    ensures \result == (a > b ? a : b); */
static inline size_t sv_size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The smaller of a number that may be above SIZE_MAX and a size. */
/*@ assigns \nothing;
    ensures \result == (value < most ? value : most); */
static inline size_t sv_size_at_most(uint64_t value, size_t most)
{
    return value < most ? (size_t)value : most;
}

/* The first of the items that belong to part `part` if they are divided into `parts` parts, at
 * least 1: items * part / parts, rounded down. */
/*@ requires parts > 0;
    assigns \nothing; */
static inline uint64_t sv_partition_begin(uint64_t items, uint64_t parts, uint64_t part)
{
    return items / parts * part + items % parts * part / parts;
}

/* The same of sizes, for a part up to `parts`. */
/*@ requires parts > 0;
    assigns \nothing; */
static inline size_t sv_size_partition(size_t items, uint64_t parts, uint64_t part)
{
    return (size_t)sv_partition_begin(items, parts, part);
}

#endif
