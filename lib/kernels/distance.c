/* Dot products and distances of one vector with several. */
#include "kernels/local.h"
#include "kernels/sums.h"

/* Rows that are compared together, so that a vector of x is loaded once for all of them: as many as
 * have eight vectors of sums, which hide the latency of a multiply-add. */
enum { ROWS = 8 / SUM_PARTS };

/* The part of a sum that elements have: a x, or (a - x)^2. */
SV_INLINE vreal add_part(vreal sum, vreal a, vreal x, const bool is_distance)
{
    const vreal d = a - x;
    return is_distance ? v_multiply_add(d, d, sum) : v_multiply_add(a, x, sum);
}

SV_INLINE void compare(real *out, const real *x, const real *a, const size_t rows, size_t c,
                       const bool is_distance)
{
    const size_t whole = c - c % SUM_LANES;
    vsum sum[ROWS];
    SV_UNROLLED(ROWS)
    for (size_t r = 0; r < rows; r++)
        sum[r] = (vsum){0};
    for (size_t i = 0; i < whole; i += SUM_LANES) {
        SV_REGISTERS
        for (size_t p = 0; p < SUM_PARTS; p++) {
            const vreal here = v_load(x + i + p * LANES);
            SV_UNROLLED(ROWS)
            for (size_t r = 0; r < rows; r++)
                sum[r].part[p] =
                    add_part(sum[r].part[p], v_load(a + r * c + i + p * LANES), here, is_distance);
        }
    }
    SV_UNROLLED(ROWS)
    for (size_t r = 0; r < rows; r++)
        out[r] = v_total(sum[r]);
    SV_NOT_UNROLLED
    for (size_t r = 0; r < rows; r++) {
        real rest = 0;
        SV_NOT_UNROLLED
        for (size_t i = whole; i < c; i++) {
            const real d = a[r * c + i] - x[i];
            rest =
                is_distance ? r_multiply_add(d, d, rest) : r_multiply_add(a[r * c + i], x[i], rest);
        }
        out[r] += rest;
    }
}

SV_INLINE void compare_all(real *out, const real *x, const real *a, size_t rows, size_t c,
                           const bool is_distance)
{
    size_t r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        compare(out + r, x, a + r * c, ROWS, c, is_distance);
    for (; r < rows; r++)
        compare(out + r, x, a + r * c, 1, c, is_distance);
}

/* out[r] = sum over i of a[r,i] x[i] */
void SV_ISA(sv_dots)(real *out, const real *x, const real *a, size_t rows, size_t c)
{
    compare_all(out, x, a, rows, c, false);
}

/* out[r] = sum over i of (a[r,i] - x[i])^2 */
void SV_ISA(sv_square_distances)(real *out, const real *x, const real *a, size_t rows, size_t c)
{
    compare_all(out, x, a, rows, c, true);
}
