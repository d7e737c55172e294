/* Dot products and distances of one vector with several, on every instruction set that this machine
 * has, against sums in double. */
#include "guard.h"
#include "isa.h"
#include "suite.h"

#include "base/numbers/random.h"
#include "gemm/gemm.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 19, MOST_CHANNELS = 131 };

static void fill(float *values, size_t count, uint64_t seed)
{
    sv_random random;
    sv_random_start(&random, seed, 77, 0, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(2 * sv_random_unit(&random) - 1);
}

/* The sum and that of its terms' magnitudes, by which its rounding is bounded. */
static double plain(double *magnitude, const float *a, const float *x, size_t c, bool is_distance)
{
    double sum = 0;
    *magnitude = 0;
    for (size_t i = 0; i < c; i++) {
        const double d = (double)a[i] - x[i], term = is_distance ? d * d : (double)a[i] * x[i];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

/* Rows end where memory ends, so that nothing behind them is read. */
static void check(const sv_kernels *k, size_t rows, size_t c, bool is_distance)
{
    float a[MOST_ROWS * MOST_CHANNELS], x[MOST_CHANNELS], out[MOST_ROWS + 1], alone;
    void (*const of)(float *, const float *, const float *, size_t, size_t) =
        is_distance ? k->square_distances : k->dots;
    fill(a, rows * c, rows);
    fill(x, c, c);
    float *end_a = (float *)(void *)guard_copy(a, rows * c * sizeof *a, false);
    float *end_x = (float *)(void *)guard_copy(x, c * sizeof *x, false);
    out[rows] = 77;
    of(out, end_x, end_a, rows, c);
    ck_assert_float_eq(out[rows], 77);
    for (size_t r = 0; r < rows; r++) {
        double magnitude;
        const double wanted = plain(&magnitude, a + r * c, x, c, is_distance);
        ck_assert_msg(fabs(out[r] - wanted) <= FLT_EPSILON * (4 + (double)c / 16) * magnitude,
                      "row %zu of %zu, %zu channels: %.9g, wanted %.9g", r, rows, c, (double)out[r],
                      wanted);
        of(&alone, end_x, end_a + r * c, 1, c);
        ck_assert_mem_eq(&alone, &out[r], sizeof alone);
    }
}

START_TEST(test_rows_have_their_sums_alone_and_together)
{
    KERNELS(k);
    const size_t channels[] = {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 131};
    for (size_t rows = 1; rows <= MOST_ROWS; rows++)
        for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
            check(k, rows, channels[i], false);
            check(k, rows, channels[i], true);
        }
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("distance");
    TCase *c = tcase_create("distance");
    tcase_add_loop_test(c, test_rows_have_their_sums_alone_and_together, 0, ISA_COUNT);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
