/* Checks each step of L-BFGS against one with the dense inverse Hessian of the same history. */
#include "suite.h"

#include "features/lbfgs.h"

#include <math.h>
#include <string.h>

enum { D = 24, MOST = 2000 };

/* Every evaluation of f, in order. */
static struct {
    double w[MOST][D], g[MOST][D], value[MOST];
    size_t count;
} seen;

/* A convex function whose curvatures differ by a factor of 1000, with terms of the fourth power. */
static double convex(void *argument, const double *w, double *g)
{
    double value = 0;
    (void)argument;
    memset(g, 0, D * sizeof *g);
    for (size_t i = 0; i < D; i++) {
        const double a = pow(10, 3.0 * (double)i / (D - 1)), r = w[i] - sin((double)i);
        value += a * r * r / 2;
        g[i] += a * r;
    }
    for (size_t i = 0; i + 1 < D; i++) {
        const double r = w[i] - w[i + 1];
        value += r * r * r * r / 4;
        g[i] += r * r * r;
        g[i + 1] -= r * r * r;
    }
    ck_assert_uint_lt(seen.count, MOST);
    memcpy(seen.w[seen.count], w, sizeof *seen.w);
    memcpy(seen.g[seen.count], g, sizeof *seen.g);
    seen.value[seen.count++] = value;
    return value;
}

static double product(const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < D; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The accepted points, as indices of evaluations. */
typedef struct path {
    size_t at[MOST], length;
} path;

/* step and change of the gradient of the `pair`-th step. */
static void pair_of(const path *taken, size_t pair, double step[D], double change[D])
{
    const size_t from = taken->at[pair], to = taken->at[pair + 1];
    for (size_t i = 0; i < D; i++) {
        step[i] = seen.w[to][i] - seen.w[from][i];
        change[i] = seen.g[to][i] - seen.g[from][i];
    }
}

/* H = (1 - rho s y^T) H (1 - rho y s^T) + rho s s^T, with rho = 1 / (y . s) */
static void update(double h[D][D], const double *s, const double *y)
{
    double left[D], right[D]; /* H y, and y^T H */
    const double rho = 1 / product(s, y);
    for (size_t i = 0; i < D; i++) {
        left[i] = product(h[i], y);
        right[i] = 0;
        for (size_t j = 0; j < D; j++)
            right[i] += y[j] * h[j][i];
    }
    const double curvature = product(y, left);
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j < D; j++)
            h[i][j] +=
                rho * ((1 + rho * curvature) * s[i] * s[j] - s[i] * right[j] - left[i] * s[j]);
}

/* -H g at the end of the path, with the H of its last SV_LBFGS_PAIRS steps. */
static void direction_of(const path *taken, double direction[D])
{
    static double h[D][D];
    double step[D], change[D];
    const size_t pairs = taken->length - 1;
    const double *g = seen.g[taken->at[pairs]];
    double scale = 1 / fmax(1, sqrt(product(g, g)));
    if (pairs > 0) {
        pair_of(taken, pairs - 1, step, change);
        scale = product(step, change) / product(change, change);
    }
    memset(h, 0, sizeof h);
    for (size_t i = 0; i < D; i++)
        h[i][i] = scale;
    for (size_t pair = pairs > SV_LBFGS_PAIRS ? pairs - SV_LBFGS_PAIRS : 0; pair < pairs; pair++) {
        pair_of(taken, pair, step, change);
        update(h, step, change);
    }
    for (size_t i = 0; i < D; i++)
        direction[i] = -product(h[i], g);
}

/* Whether evaluation `next` is `length` times the direction away from the end of the path. */
static void check_point(const path *taken, size_t next, const double *direction, double length)
{
    const double *from = seen.w[taken->at[taken->length - 1]];
    double error = 0;
    for (size_t i = 0; i < D; i++)
        error += pow(seen.w[next][i] - from[i] - length * direction[i], 2);
    ck_assert_msg(sqrt(error) <= 1e-6 * length * sqrt(product(direction, direction)),
                  "step %zu, length %g: %g away of %g", taken->length, length, sqrt(error),
                  length * sqrt(product(direction, direction)));
}

START_TEST(test_each_step_is_that_of_the_dense_inverse_hessian)
{
    static double memory[SV_LBFGS_VECTORS * D];
    static path taken;
    double w[D] = {0}, direction[D];
    sv_lbfgs_minimise(w, D, convex, NULL, 1e-6, memory);
    taken.at[taken.length++] = 0;
    for (size_t next = 1; next < seen.count;) {
        const size_t from = taken.at[taken.length - 1];
        direction_of(&taken, direction);
        const double slope = product(direction, seen.g[from]);
        double length = 1;
        for (;; length /= 2, next++) {
            ck_assert_uint_lt(next, seen.count);
            check_point(&taken, next, direction, length);
            if (seen.value[next] < seen.value[from] + 1e-4 * length * slope)
                break;
        }
        taken.at[taken.length++] = next++;
    }
    ck_assert_uint_gt(taken.length, 2 * SV_LBFGS_PAIRS);
    ck_assert_mem_eq(w, seen.w[taken.at[taken.length - 1]], sizeof w);
    for (size_t i = 0; i < D; i++)
        ck_assert_double_le(fabs(seen.g[taken.at[taken.length - 1]][i]), 1e-6);
}
END_TEST

static Suite *lbfgs_suite(void)
{
    Suite *suite = suite_create("lbfgs");
    TCase *all = tcase_create("steps");
    tcase_add_test(all, test_each_step_is_that_of_the_dense_inverse_hessian);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(lbfgs_suite)
