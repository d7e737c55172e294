/* Checks the backends that skip zero channel groups: the correction term of the skipped zeros is
 * right, and a row has the same bits alone as among many. Compiled once more in double. */
#include "backends.h"

#include "layers/create.h"

#include <float.h>
#include <math.h>

enum { IMAGES_FEW = 3, IMAGES_MANY = 17, FIRST_TOKEN = 5 };

/* Zero groups that extend past a K block (192 or 768), groups that end within a vector, positions
 * with all groups and with none, and positions without any terms in a whole K block (384 or 1024
 * for dot products). */
typedef struct shape {
    sv_zero_groups zero_groups;
    size_t depth, columns;
} shape;

static const shape SHAPES[] = {
    {{9, 32, {10, 8, 9, 2, 0, 1, 6, 4, 5}}, 384, 400},
    {{4, 64, {10, 9, 6, 5}}, 290, 290},
    {{4, 5, {15, 1, 14, 0}}, 37, 53},
    {{1, 3, {15}}, 12, 17},
    {{4, 400, {12, 8, 4, 10}}, 1600, 50},
    {{16, 230, {15, 10, 8, 9, 2, 0, 1, 6, 4, 5, 3, 12, 7, 11, 13, 14}}, 940, 250},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

typedef struct fixture {
    const subject *of;
    const sv_kernels *k;
    const shape *shape;
    size_t rows;
    matrix a, b, bias, moments, correction;
    sv_gemm_b right;
    real *c, *other;
} fixture;

static unsigned groups_of(const shape *of, size_t row)
{
    return of->zero_groups.groups[(FIRST_TOKEN + row) % of->zero_groups.period];
}

static bool is_gap(const shape *of, size_t row, size_t column)
{
    size_t g = column / of->zero_groups.width;
    return g < SV_ZERO_GROUPS_COUNT && groups_of(of, row) >> g & 1;
}

static fixture open_fixture(const subject *of, const sv_kernels *k, const shape *form)
{
    fixture b = {.of = of, .k = k, .shape = form, .rows = IMAGES_MANY * form->zero_groups.period};
    size_t n = form->columns;
    b.a = make(b.rows, form->depth, false, 1);
    b.b = make(form->depth, n, true, 2);
    b.bias = make(1, n, false, 3);
    b.moments = make(2, b.rows, false, 4);
    b.correction = make(1, 2 * SV_ZERO_GROUPS_COUNT * n, false, 5);
    b.right = (sv_gemm_b){
        b.b.x, form->depth, n, b.b.row, b.b.column, packed_memory(of, k, form->depth, n), 0};
    of->gemm->pack_b(k, &b.right);
    b.c = malloc(b.rows * n * sizeof(real));
    b.other = malloc(b.rows * n * sizeof(real));
    return b;
}

static void close_fixture(fixture *b)
{
    free(b->a.x);
    free(b->b.x);
    free(b->bias.x);
    free(b->moments.x);
    free(b->correction.x);
    free(b->right.packed);
    free(b->c);
    free(b->other);
}

static void clear_zero_groups(const fixture *b)
{
    for (size_t i = 0; i < b->rows; i++)
        for (size_t p = 0; p < b->shape->depth; p++)
            if (is_gap(b->shape, i, p))
                b->a.x[i * b->a.row + p] = 0;
}

/* Multiplies the rows from `first` on, with zero groups and, if the backend adds it, their
 * correction term. */
static void multiply_filled(const fixture *b, real *c, size_t first, size_t rows)
{
    const real *mean = b->moments.x + first, *rstd = b->moments.x + b->moments.row + first;
    const real *correction = b->of->gemm->adds_correction ? b->correction.x : NULL;
    const sv_zero_skipping zeros = {b->shape->zero_groups, mean, rstd, correction,
                                    b->shape->columns};
    const sv_epilogue epilogue = {
        .first_token = FIRST_TOKEN + first, .gelu = true, .zeros = &zeros};
    const sv_gemm_a left = {b->a.x + first * b->a.row, b->a.row, 1, NULL};
    const size_t n = b->shape->columns;
    const sv_gemm_c out = {c + first * n, n, 0, b->bias.x, &epilogue};
    b->of->gemm->matmul(b->k, &out, &left, &b->right, rows, 0, n);
}

/* Whether a backend skips zero groups. */
static bool skips(const sv_gemm *gemm)
{
#ifndef SV_DOUBLE
    if (gemm == &sv_gemm_tile_bf16_as_f32)
        return true;
#endif
    return gemm == &sv_gemm_tile;
}

#define SKIPPING(of, k)                                                                            \
    SUBJECT(of, k);                                                                                \
    if (!skips(of->gemm))                                                                          \
    return

START_TEST(test_a_row_has_the_same_bits_whatever_is_skipped)
{
    SKIPPING(of, k);
    for (size_t s = 0; s < SHAPE_COUNT; s++) {
        fixture b = open_fixture(of, k, &SHAPES[s]);
        const size_t n = SHAPES[s].columns, few = IMAGES_FEW * SHAPES[s].zero_groups.period;
        clear_zero_groups(&b);
        multiply_filled(&b, b.c, 0, b.rows);
        for (size_t i = 0; i < b.rows; i++)
            multiply_filled(&b, b.other, i, 1);
        ck_assert_msg(memcmp(b.c, b.other, b.rows * n * sizeof(real)) == 0, "shape %zu: alone", s);
        memset(b.c, 0, b.rows * n * sizeof(real));
        multiply_filled(&b, b.c, 0, few);
        multiply_filled(&b, b.c, few, b.rows - few);
        ck_assert_msg(memcmp(b.c, b.other, b.rows * n * sizeof(real)) == 0, "shape %zu: cut", s);
        memset(b.c + n, 0, (b.rows - 1) * n * sizeof(real));
        multiply_filled(&b, b.c, 1, b.rows - 1); /* not whole images */
        ck_assert_msg(memcmp(b.c, b.other, b.rows * n * sizeof(real)) == 0,
                      "shape %zu: from the second on", s);
        close_fixture(&b);
    }
}
END_TEST

/* Returns element (i, j) before GELU, and the sum of the magnitudes of its terms in *sizes. */
static double expected(const fixture *b, size_t i, size_t j, double *sizes)
{
    double sum = (double)b->bias.x[j];
    *sizes = fabs(sum);
    for (size_t p = 0; p < b->shape->depth; p++) {
        double term = (double)at(&b->a, i, p) * (double)at(&b->b, p, j);
        sum += term;
        *sizes += fabs(term);
    }
    double factor = -(double)b->moments.x[i] * (double)b->moments.x[b->moments.row + i];
    for (size_t g = 0; g < SV_ZERO_GROUPS_COUNT; g++)
        if (groups_of(b->shape, i) >> g & 1) {
            const real *correction = b->correction.x + 2 * g * b->shape->columns + j;
            double slope = factor * (double)correction[0],
                   rest = (double)correction[b->shape->columns];
            sum += slope + rest;
            *sizes += fabs(slope) + fabs(rest);
        }
    return sum;
}

/* With an epilogue that does nothing else, a row is the sum of its terms, the bias and the
 * correction term, up to rounding. */
START_TEST(test_skipped_zeros_are_corrected)
{
    SUBJECT(of, k);
    if (!of->gemm->adds_correction)
        return;
    const double each = sizeof(real) == sizeof(double) ? DBL_EPSILON : (double)FLT_EPSILON;
    for (size_t s = 0; s < SHAPE_COUNT; s++) {
        fixture b = open_fixture(of, k, &SHAPES[s]);
        const size_t n = SHAPES[s].columns;
        clear_zero_groups(&b);
        const sv_zero_skipping zeros = {SHAPES[s].zero_groups, b.moments.x,
                                        b.moments.x + b.moments.row, b.correction.x, n};
        const sv_epilogue epilogue = {.first_token = FIRST_TOKEN, .zeros = &zeros};
        const sv_gemm_a left = {b.a.x, b.a.row, 1, NULL};
        const sv_gemm_c out = {b.c, n, 0, b.bias.x, &epilogue};
        of->gemm->matmul(k, &out, &left, &b.right, b.rows, 0, n);
        for (size_t i = 0; i < b.rows; i++)
            for (size_t j = 0; j < n; j++) {
                double sizes, want = expected(&b, i, j, &sizes);
                double bound = sizes * (double)SHAPES[s].depth * each / 4;
                if (!(fabs((double)b.c[i * n + j] - want) <= bound))
                    ck_abort_msg("shape %zu, row %zu, column %zu: %.9g for %.9g", s, i, j,
                                 (double)b.c[i * n + j], want);
            }
        close_fixture(&b);
    }
}
END_TEST

/* A group is zero where the shift of ones leaves zeros. */
START_TEST(test_zero_groups_are_those_that_the_shift_leaves)
{
    static const sv_shift_geometry MAPS[] = {{3, 3, 12, 1, 1, 0}, {4, 2, 24, 2, 1, 0},
                                             {1, 1, 12, 3, 1, 0}, {2, 5, 8, 2, 2, 0},
                                             {4, 4, 8, 1, 3, 0},  {3, 5, 12, 3, 1, 1}};
    const sv_kernels *k = sv_kernels_for(SV_ISA_BASELINE);
    for (size_t i = 0; i < sizeof MAPS / sizeof *MAPS; i++) {
        const sv_shift_geometry *map = &MAPS[i];
        const size_t tokens = map->height * map->width;
        const sv_zero_groups zeros = sv_shift_zero_groups(map);
        real ones[16 * 24], moved[16 * 24];
        ck_assert_uint_eq(zeros.period, tokens);
        ck_assert_uint_eq(zeros.width, map->group);
        for (size_t at = 0; at < tokens * map->channels; at++)
            ones[at] = 1;
        k->shift(moved, ones, map, 0, tokens);
        for (size_t t = 0; t < tokens; t++)
            for (size_t g = 0; g < SV_ZERO_GROUPS_COUNT; g++)
                ck_assert_msg((moved[t * map->channels + g * map->group] == 0) ==
                                  (zeros.groups[t] >> g & 1),
                              "map %zu, token %zu, group %zu", i, t, g);
    }
    static const sv_shift_geometry NONE[] = {
        {3, 3, 12, 0, 1, 0}, {3, 3, 12, 1, 0, 0}, {40, 40, 12, 1, 1, 0}};
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(sv_shift_zero_groups(&NONE[i]).period, 0);
}
END_TEST

static Suite *zero_skipping_suite(void)
{
    Suite *suite = suite_create("zero skipping");
    TCase *all = tcase_create("backends");
    tcase_add_test(all, test_zero_groups_are_those_that_the_shift_leaves);
    tcase_add_loop_test(all, test_a_row_has_the_same_bits_whatever_is_skipped, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_skipped_zeros_are_corrected, 0, SUBJECT_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(zero_skipping_suite)
