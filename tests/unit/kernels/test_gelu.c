/* Compares GELU and its derivative with double precision at closely spaced points, on every
 * instruction set. */
#include "isa.h"
#include "suite.h"

#include <math.h>

/* Points 1 / STEPS apart, from -FAR to FAR. STEPS is odd, so that the points fall on many different
 * places in the intervals of an approximation. */
enum { STEPS = 1501, FAR = 14, COLUMNS = 2 * FAR * STEPS };

static float number(size_t i)
{
    return (float)((double)i / STEPS - FAR);
}

static double phi_above(double x)
{
    return 0.5 * erfc(x / sqrt(2));
}

static double density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1));
}

static const sv_dropout WHOLE = {NULL, 1};
static const sv_rows ROW = {0, 1, COLUMNS, COLUMNS};

/* Near 8, half a unit in the last place is 2.4e-7. Far below 0, where GELU is nearly 0, its
 * relative error stays small, too. */
START_TEST(test_gelu_is_exact_to_its_last_place)
{
    KERNELS(k);
    static float x[COLUMNS], y[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        x[i] = number(i);
    k->gelu(y, NULL, x, WHOLE, ROW);
    for (size_t i = 0; i < COLUMNS; i++) {
        double wanted = x[i] * phi_above(-x[i]), wrong = fabs(y[i] - wanted);
        ck_assert_double_le(wrong, 2.5e-7);
        if (x[i] < 0 && x[i] > -5)
            ck_assert_double_le(wrong, (x[i] > -3.4 ? 1.5e-6 : 2.5e-5) * -wanted);
    }
}
END_TEST

START_TEST(test_derivative_of_gelu_is_exact_to_its_last_place)
{
    KERNELS(k);
    static float x[COLUMNS], y[COLUMNS], again[COLUMNS], du[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        x[i] = number(i);
        du[i] = 1;
    }
    k->gelu(y, NULL, x, WHOLE, ROW);
    k->gelu_backward(again, du, x, WHOLE, ROW);
    for (size_t i = 0; i < COLUMNS; i++) {
        double wanted = phi_above(-x[i]) + x[i] * density(x[i]);
        ck_assert_double_le(fabs(du[i] - wanted), 3e-7);
    }
    ck_assert_mem_eq(again, y, sizeof y);
}
END_TEST

/* The result for a NaN or an infinity is not finite, and that for any finite number is finite. */
START_TEST(test_gelu_is_finite_where_its_input_is)
{
    KERNELS(k);
    const float x[] = {INFINITY, -INFINITY, NAN, 0, -0.0f, 1e30f, -1e30f, 1e-40f, -1e-40f};
    const float wanted[] = {0, 0, 0, 0, 0, 1e30f, 0, 5e-41f, -5e-41f};
    enum { COUNT = sizeof x / sizeof *x };
    float y[COUNT], du[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        du[i] = 1;
    const sv_rows row = {0, 1, COUNT, COUNT};
    k->gelu(y, NULL, x, WHOLE, row);
    k->gelu_backward(NULL, du, x, WHOLE, row);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(isfinite(y[i]) != 0, isfinite(x[i]) != 0);
        ck_assert_int_eq(isfinite(du[i]) != 0, isfinite(x[i]) != 0);
        if (isfinite(x[i]))
            ck_assert_double_le(fabs((double)y[i] - wanted[i]), 1e-43 + 1e-7 * fabs(wanted[i]));
    }
}
END_TEST

static Suite *gelu_suite(void)
{
    Suite *suite = suite_create("gelu");
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, test_gelu_is_exact_to_its_last_place, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_derivative_of_gelu_is_exact_to_its_last_place, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_gelu_is_finite_where_its_input_is, 0, ISA_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(gelu_suite)
