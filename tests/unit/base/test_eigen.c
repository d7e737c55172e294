/* Checks the eigenvalues of symmetric matrices, and that the search ends for any matrix. */
#include "suite.h"

#include "base/numbers/eigen.h"

#include <math.h>

enum { MOST = 7 };

/* Counts the rows of rotations, until there are `most`. */
typedef struct rows {
    size_t count, most;
} rows;

static bool count_row(void *user)
{
    rows *self = user;
    return self->count++ < self->most;
}

/* a v = value v, the rows of `vectors` are orthonormal, the values descend, and the largest element
 * of each vector is positive. */
START_TEST(test_eigenvectors_are_those_of_the_matrix)
{
    uint32_t random = 1;
    for (size_t n = 1; n <= MOST; n++) {
        double a[MOST * MOST], copy[MOST * MOST], values[MOST], vectors[MOST * MOST];
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++) {
                random = random * 1664525u + 1013904223u;
                a[i * n + j] = a[j * n + i] = (double)(random >> 8) / (1 << 23) - 1;
            }
        for (size_t i = 0; i < n * n; i++)
            copy[i] = a[i];
        ck_assert(sv_eigen_symmetric(a, n, values, vectors, count_row, &(rows){0, 1000}));
        for (size_t i = 0; i < n; i++) {
            const double *v = vectors + i * n;
            size_t largest = 0;
            for (size_t k = 0; k < n; k++) {
                double product = 0, dot = 0;
                for (size_t j = 0; j < n; j++) {
                    product += copy[k * n + j] * v[j];
                    dot += vectors[k * n + j] * v[j];
                }
                ck_assert_double_eq_tol(product, values[i] * v[k], 1e-12);
                ck_assert_double_eq_tol(dot, k == i, 1e-12);
                largest = fabs(v[k]) > fabs(v[largest]) ? k : largest;
            }
            ck_assert_double_gt(v[largest], 0);
            ck_assert(i == 0 || values[i] <= values[i - 1]);
        }
    }
}
END_TEST

/* These have no real eigenvalues to find, or are not finite; Check ends the test if the search does
 * not end. */
START_TEST(test_the_search_ends_for_any_matrix)
{
    static const double matrices[][4] = {{0, 1, -1, 0},        {1, 2, -3, 1},
                                         {INFINITY, 1, 1, 2},  {NAN, 1, 1, 2},
                                         {1, INFINITY, 1, -1}, {1e308, 1e308, -1e308, 1e308}};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        double a[4], values[2], vectors[4];
        for (size_t k = 0; k < 4; k++)
            a[k] = matrices[i][k];
        ck_assert(sv_eigen_symmetric(a, 2, values, vectors, count_row, &(rows){0, 1000}));
    }
}
END_TEST

/* The moments of five vectors of 40 values: 35 eigenvalues are rounding errors, about which the
 * search does not go on. It ends at once if it may not go on. */
START_TEST(test_directions_without_variance_do_not_keep_it)
{
    enum { N = 40, VECTORS = 5 };
    static double a[N * N], copy[N * N], values[N], vectors[N * N];
    double given[VECTORS][N];
    uint32_t random = 3;
    for (size_t v = 0; v < VECTORS; v++)
        for (size_t i = 0; i < N; i++) {
            random = random * 1664525u + 1013904223u;
            given[v][i] = (double)(random >> 8) / (1 << 23) - 1;
        }
    for (size_t i = 0; i < N * N; i++) {
        a[i] = 0;
        for (size_t v = 0; v < VECTORS; v++)
            a[i] += given[v][i / N] * given[v][i % N];
        copy[i] = a[i];
    }
    rows counted = {0, 1000};
    ck_assert(sv_eigen_symmetric(a, N, values, vectors, count_row, &counted));
    ck_assert_uint_le(counted.count, 12 * N);
    for (size_t i = 0; i < N; i++) {
        ck_assert(i < VECTORS ? values[i] > 1 : fabs(values[i]) < 1e-13);
        for (size_t k = 0; k < N; k++) {
            double product = 0;
            for (size_t j = 0; j < N; j++)
                product += copy[k * N + j] * vectors[i * N + j];
            ck_assert_double_eq_tol(product, values[i] * vectors[i * N + k], 1e-12);
        }
    }
    ck_assert(!sv_eigen_symmetric(copy, N, values, vectors, count_row, &(rows){0, 3}));
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("eigen");
    TCase *c = tcase_create("eigen");
    tcase_add_test(c, test_eigenvectors_are_those_of_the_matrix);
    tcase_add_test(c, test_the_search_ends_for_any_matrix);
    tcase_add_test(c, test_directions_without_variance_do_not_keep_it);
    suite_add_tcase(all, c);
    return all;
}

TEST_MAIN(suite)
