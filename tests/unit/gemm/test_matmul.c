/* Compares matmuls of every backend, on every instruction set that it runs on, with sums of higher
 * precision: shapes with remainders in rows, columns and depth, row-major and column-major
 * operands, biases, partitions of the columns. Compiled once more in double, for the backends that
 * exist there. */
#include "backends.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* A little more than the relative rounding error of `real`. */
#ifdef SV_DOUBLE
#define ROUNDING 2.3e-16
#else
#define ROUNDING 1.2e-7
#endif

/* m, n and k with full and partial vectors, microtiles and AMX tiles along each side. */
static const size_t SHAPES[][3] = {
    {1, 1, 1},    {7, 10, 3},     {8, 48, 192},   {9, 49, 193},   {33, 17, 50},  {5, 130, 400},
    {16, 96, 96}, {12, 64, 70},   {11, 80, 33},   {13, 112, 40},  {6, 128, 64},  {19, 174, 37},
    {32, 32, 32}, {64, 64, 97},   {31, 31, 31},   {40, 16, 320},  {17, 33, 289}, {100, 9, 16},
    {1, 333, 65}, {13, 40, 2100}, {45, 803, 410}, {131, 50, 900}, {70, 33, 2100}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

/* A bias of n elements that ends at an inaccessible page. */
typedef struct guarded_bias {
    char *memory;
    size_t bytes;
    real *x;
} guarded_bias;

static guarded_bias make_bias(size_t n, uint32_t seed)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (n * sizeof(real) / page + 2) * page;
    guarded_bias made = {.bytes = bytes};
    made.memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(made.memory, MAP_FAILED);
    ck_assert_int_eq(mprotect(made.memory + bytes - page, page, PROT_NONE), 0);
    made.x = (real *)(void *)(made.memory + bytes - page) - n;
    matrix random = make(1, n, false, seed);
    memcpy(made.x, random.x, n * sizeof(real));
    free(random.x);
    return made;
}

/* An element of a matmul: its sum, and the sums of the magnitudes of its terms, of its row of A and
 * of its column of B. */
typedef struct element {
    long double sum;
    double terms, left, right;
} element;

static element *sum_elements(const matrix *a, const matrix *b, const size_t shape[3])
{
    element *all = calloc(shape[0] * shape[1], sizeof *all);
    for (size_t row = 0; row < shape[0]; row++)
        for (size_t column = 0; column < shape[1]; column++) {
            element *here = &all[row * shape[1] + column];
            for (size_t p = 0; p < shape[2]; p++) {
                real left = at(a, row, p), right = at(b, p, column);
                here->sum += (long double)left * right;
                here->terms += fabs((double)left * right);
                here->left += fabs(left);
                here->right += fabs(right);
            }
        }
    return all;
}

/* The error that an element may have, by rounding the operands and the sums. An int8 element is off
 * by a part of the largest one of its row or column, which is below 1 here. */
static double allowed(const subject *of, const element *here, size_t depth, double before)
{
    double sizes = fabs(before) + here->terms;
    double coarse = here->left * of->b_error + here->right * of->a_error +
                    (double)depth * of->a_error * of->b_error;
    double sides = of->b_error == BYTE ? coarse : sizes * (of->a_error + of->b_error);
    return sides * 1.01 + sizes * ROUNDING * (1 + sqrt((double)depth));
}

/* Checks c[m, ldc] = before + the sums, and that nothing is written past the last column. It
 * asserts only on failure, because Check writes a line to a file for each assertion, which is too
 * slow for millions of them. */
static void check(const subject *of, const matrix *c, const matrix *before, const element *elements,
                  const size_t shape[3])
{
    for (size_t row = 0; row < shape[0]; row++)
        for (size_t column = 0; column < c->row; column++) {
            real got = at(c, row, column), was = at(before, row, column);
            if (column >= shape[1]) {
                if (got != was)
                    ck_abort_msg("an element past column %zu was written", shape[1]);
                continue;
            }
            const element *here = &elements[row * shape[1] + column];
            long double wanted = was + here->sum;
            double error = (double)fabsl(got - wanted);
            if (!(error <= allowed(of, here, shape[2], was)))
                ck_abort_msg("%s, %zu x %zu x %zu: [%zu, %zu] is %.17g, wanted %.17g",
                             of->gemm->name, shape[0], shape[1], shape[2], row, column, (double)got,
                             (double)wanted);
        }
}

/* Sets all rows of c[m, n] to the bias; NULL: to 0. */
static void set_rows(matrix *c, const real *bias, size_t m, size_t n)
{
    for (size_t row = 0; row < m; row++)
        for (size_t column = 0; column < n; column++)
            c->x[row * c->row + column] = bias ? bias[column] : 0;
}

/* Computes c += a b, c = a b, and c = bias + a b. */
static void check_all_forms(const subject *of, const sv_kernels *k, const size_t shape[3],
                            bool left_turned, bool right_turned)
{
    size_t m = shape[0], n = shape[1], depth = shape[2];
    matrix a = make(m, depth, left_turned && takes_column_major(of->gemm), 1);
    matrix b = make(depth, n, right_turned, 2);
    matrix before = make(m, n, false, 3), c = make(m, n, false, 3);
    guarded_bias bias = make_bias(n, 9);
    sv_gemm_b right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n), 0};
    sv_gemm_a left = {a.x, a.row, a.column, NULL};
    sv_gemm_c sum = {c.x, c.row, 1, NULL, NULL}, product = {c.x, c.row, 0, NULL, NULL};
    sv_gemm_c biased = {c.x, c.row, 0, bias.x, NULL};
    element *elements = sum_elements(&a, &b, shape);
    of->gemm->pack_b(k, &right);
    of->gemm->matmul(k, &sum, &left, &right, m, 0, n);
    check(of, &c, &before, elements, shape);
    of->gemm->matmul(k, &product, &left, &right, m, 0, n);
    set_rows(&before, NULL, m, n);
    check(of, &c, &before, elements, shape);
    of->gemm->matmul(k, &biased, &left, &right, m, 0, n);
    set_rows(&before, bias.x, m, n);
    check(of, &c, &before, elements, shape);
    munmap(bias.memory, bias.bytes);
    free(elements);
    free(right.packed);
    free(a.x);
    free(b.x);
    free(c.x);
    free(before.x);
}

START_TEST(test_matmuls_equal_sums_of_higher_precision)
{
    SUBJECT(of, k);
    for (size_t i = 0; i < SHAPE_COUNT; i++)
        for (int way = 0; way < 4; way++)
            if (takes_case((int)i * 4 + way))
                check_all_forms(of, k, SHAPES[i], way & 1, way & 2);
}
END_TEST

/* Weight gradients, c += a^T b, over more tokens and columns than are packed at once. */
START_TEST(test_weight_gradients_equal_sums_of_higher_precision)
{
    SUBJECT(of, k);
    if (of->b_error == BYTE)
        return; /* int8 is for inference only */
    static const size_t shapes[][3] = {
        {3, 5, 7}, {48, 64, 33}, {20, 400, 200}, {65, 47, 2 * SV_GEMM_KC + 9}};
    void *scratch = NULL;
    ck_assert_int_eq(posix_memalign(&scratch, 64, SV_GEMM_SCRATCH), 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t *shape = shapes[i];
        matrix a = make(shape[0], shape[2], true, 4), b = make(shape[2], shape[1], false, 5);
        matrix before = make(shape[0], shape[1], false, 6), c = make(shape[0], shape[1], false, 6);
        element *elements = sum_elements(&a, &b, shape);
        sv_gemm_weight_gradient(of->gemm, k, c.x, c.row, a.x, a.column, b.x, b.row, shape[0],
                                shape[1], shape[2], scratch);
        check(of, &c, &before, elements, shape);
        free(elements);
        free(a.x);
        free(b.x);
        free(c.x);
        free(before.x);
    }
    free(scratch);
}
END_TEST

enum { PART_ROWS = 41, PART_COLUMNS = 3 * SV_GEMM_SPLIT_COLUMNS + SV_GEMM_SPLIT_TAIL + 47 };

static void check_column_parts(const subject *of, const sv_kernels *k, size_t n, size_t depth)
{
    static real whole[PART_ROWS * PART_COLUMNS], parts[PART_ROWS * PART_COLUMNS];
    size_t bytes = PART_ROWS * n * sizeof *whole;
    matrix a = make(PART_ROWS, depth, false, 7), b = make(depth, n, false, 8);
    guarded_bias bias = make_bias(n, 10);
    sv_gemm_b right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n), 0};
    sv_gemm_a left = {a.x, a.row, 1, NULL};
    sv_gemm_c all = {whole, n, 0, bias.x, NULL}, some = {parts, n, 0, bias.x, NULL};
    of->gemm->pack_b(k, &right);
    of->gemm->matmul(k, &all, &left, &right, PART_ROWS, 0, n);
    size_t rest = n % SV_GEMM_SPLIT_COLUMNS ? SV_GEMM_SPLIT_TAIL : SV_GEMM_SPLIT_COLUMNS;
    for (size_t cut = SV_GEMM_SPLIT_COLUMNS; cut + rest <= n; cut += SV_GEMM_SPLIT_COLUMNS) {
        memset(parts, 0, sizeof parts);
        of->gemm->matmul(k, &some, &left, &right, PART_ROWS, 0, cut);
        of->gemm->matmul(k, &some, &left, &right, PART_ROWS, cut, n - cut);
        ck_assert_mem_eq(parts, whole, bytes);
    }
    for (size_t row = 0; row < PART_ROWS; row++) {
        sv_gemm_a one = {a.x + row * a.row, a.row, 1, NULL};
        sv_gemm_c alone = {parts + row * n, n, 0, bias.x, NULL};
        of->gemm->matmul(k, &alone, &one, &right, 1, 0, n);
    }
    ck_assert_mem_eq(parts, whole, bytes);
    munmap(bias.memory, bias.bytes);
    free(right.packed);
    free(a.x);
    free(b.x);
}

/* Returns A packed beforehand; NULL if the backend reads A in place. */
static void *pack_left(const sv_gemm *gemm, const sv_gemm_a *left, size_t m, size_t depth)
{
    if (!gemm->packed_a_bytes)
        return NULL;
    size_t bytes = gemm->packed_a_bytes(m, depth);
    void *made =
        aligned_alloc(SV_ALIGNMENT, (bytes + SV_ALIGNMENT - 1) / SV_ALIGNMENT * SV_ALIGNMENT);
    ck_assert_ptr_nonnull(made);
    gemm->pack_a(left, m, depth, made);
    return made;
}

enum { GROUPED_ROWS = 75, GROUPED_COLUMNS = 192 };

/* Multiplies group by group, from the last one on, with A packed once. */
static void check_column_groups(const subject *of, const sv_kernels *k, size_t group, size_t depth)
{
    static real whole[GROUPED_ROWS * GROUPED_COLUMNS], parts[GROUPED_ROWS * GROUPED_COLUMNS];
    const size_t m = GROUPED_ROWS, n = GROUPED_COLUMNS;
    matrix a = make(m, depth, false, 7), b = make(depth, n, true, 8);
    guarded_bias bias = make_bias(n, 10);
    sv_gemm_b right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n), 0};
    sv_gemm_a left = {a.x, a.row, 1, NULL}, once = left;
    sv_gemm_c all = {whole, n, 0, bias.x, NULL}, some = {parts, n, 0, bias.x, NULL};
    of->gemm->pack_b(k, &right);
    of->gemm->matmul(k, &all, &left, &right, m, 0, n);
    right.split = group;
    of->gemm->pack_b(k, &right);
    once.packed = pack_left(of->gemm, &left, m, depth);
    for (size_t first = n; first > 0; first -= group)
        of->gemm->matmul(k, &some, &once, &right, m, first - group, group);
    ck_assert_mem_eq(parts, whole, sizeof whole);
    memset(parts, 0, sizeof parts);
    of->gemm->matmul(k, &some, &left, &right, m, 0, group);
    of->gemm->matmul(k, &some, &once, &right, m, group, n - group);
    ck_assert_mem_eq(parts, whole, sizeof whole);
    munmap(bias.memory, bias.bytes);
    free(once.packed);
    free(right.packed);
    free(a.x);
    free(b.x);
}

/* Two parts of the columns by a BLAS, which does not promise the same bits. */
static void check_column_parts_of_blas(const subject *of, const sv_kernels *k)
{
    enum { DEPTH = 70, CUT = 2 * SV_GEMM_SPLIT_COLUMNS };
    const size_t shape[] = {PART_ROWS, PART_COLUMNS, DEPTH};
    matrix a = make(PART_ROWS, DEPTH, false, 7), b = make(DEPTH, PART_COLUMNS, true, 8);
    matrix c = make(PART_ROWS, PART_COLUMNS, false, 3);
    matrix before = make(PART_ROWS, PART_COLUMNS, false, 3);
    guarded_bias bias = make_bias(PART_COLUMNS, 10);
    sv_gemm_b right = {
        .b = b.x, .k = DEPTH, .n = PART_COLUMNS, .row_stride = b.row, .column_stride = b.column};
    sv_gemm_a left = {a.x, a.row, 1, NULL};
    sv_gemm_c out = {c.x, c.row, 0, bias.x, NULL};
    element *elements = sum_elements(&a, &b, shape);
    of->gemm->matmul(k, &out, &left, &right, PART_ROWS, 0, CUT);
    of->gemm->matmul(k, &out, &left, &right, PART_ROWS, CUT, PART_COLUMNS - CUT);
    set_rows(&before, bias.x, PART_ROWS, PART_COLUMNS);
    check(of, &c, &before, elements, shape);
    munmap(bias.memory, bias.bytes);
    free(elements);
    free(a.x);
    free(b.x);
    free(c.x);
    free(before.x);
}

/* A matmul by parts of its columns, or of its rows, has the same bits as the whole, bias included,
 * for every cut that gemm.h allows and for any depth. */
START_TEST(test_partitions_have_the_bits_of_the_whole)
{
    SUBJECT(of, k);
    if (strcmp(of->gemm->name, "cblas") == 0) {
        check_column_parts_of_blas(of, k);
        return;
    }
    const size_t least = SV_GEMM_SPLIT_COLUMNS + SV_GEMM_SPLIT_TAIL;
    for (size_t n = least; n <= PART_COLUMNS; n++)
        if (takes_case((int)(n - least)))
            check_column_parts(of, k, n, 20);
    check_column_parts(of, k, PART_COLUMNS, 2100);
    for (size_t group = SV_GEMM_SPLIT_MULTIPLE; group <= GROUPED_COLUMNS / 2; group *= 2) {
        check_column_groups(of, k, group, 20);
        check_column_groups(of, k, group, 2100);
    }
}
END_TEST

/* A backend that represents a float32 as a sum of several bfloat16 keeps the precision of float32
 * for magnitudes of all sizes. Terms below the smallest normal number may be lost. */
START_TEST(test_values_of_any_magnitude_keep_their_precision)
{
    SUBJECT(of, k);
    if (of->a_error > 0 || of->b_error > 0)
        return;
    static const real LEFT[] = {1.0f, 16777215.0f, 1e-30f, 3.4e37f, 0.333333343f};
    static const real RIGHT[] = {0x1.fffffep-1f, 3.1415927f, 1e-7f, 0.0f, -1.0f};
    enum { COUNT = 5 };
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            real c = 0;
            sv_gemm_b right = {&RIGHT[j], 1, 1, 1, 1, packed_memory(of, k, 1, 1), 0};
            sv_gemm_a left = {&LEFT[i], 1, 1, NULL};
            sv_gemm_c out = {&c, 1, 0, NULL, NULL};
            of->gemm->pack_b(k, &right);
            of->gemm->matmul(k, &out, &left, &right, 1, 0, 1);
            double wanted = (double)LEFT[i] * RIGHT[j];
            ck_assert_msg(fabs(c - wanted) <= 1.25 * ROUNDING * fabs(wanted) + 6 * FLT_MIN,
                          "%g x %g is %.9g", (double)LEFT[i], (double)RIGHT[j], (double)c);
            free(right.packed);
        }
}
END_TEST

static real multiply_one(const subject *of, const sv_kernels *k, real a, real b)
{
    real c = 5;
    sv_gemm_b right = {&b, 1, 1, 1, 1, packed_memory(of, k, 1, 1), 0};
    sv_gemm_a left = {&a, 1, 1, NULL};
    sv_gemm_c out = {&c, 1, 0, NULL, NULL};
    of->gemm->pack_b(k, &right);
    of->gemm->matmul(k, &out, &left, &right, 1, 0, 1);
    free(right.packed);
    return c;
}

/* If an operand is not finite, the result is not. The product of 0 is 0; int8 may flush the
 * smallest numbers to 0, but none above FLT_MIN. */
START_TEST(test_not_finite_stays_not_finite_and_zero_stays_zero)
{
    SUBJECT(of, k);
    static const float BAD[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        ck_assert_msg(!isfinite(multiply_one(of, k, BAD[i], 1)), "%g x 1", (double)BAD[i]);
        ck_assert_msg(!isfinite(multiply_one(of, k, 1, BAD[i])), "1 x %g", (double)BAD[i]);
    }
    static const float SMALL[] = {0, -0.0f, 1e-45f, -1e-40f, 3e-38f, -1e-36f};
    for (size_t i = 0; i < sizeof SMALL / sizeof *SMALL; i++) {
        ck_assert_double_le(fabs(multiply_one(of, k, SMALL[i], 1)), fabsf(SMALL[i]) + FLT_MIN);
        ck_assert_double_le(fabs(multiply_one(of, k, 1, SMALL[i])), fabsf(SMALL[i]) + FLT_MIN);
    }
    ck_assert_double_eq_tol(multiply_one(of, k, 1e30f, 1e-36f), 1e-6, 1e-8);
    ck_assert_double_eq_tol(multiply_one(of, k, 1e-36f, -1e30f), -1e-6, 1e-8);
}
END_TEST

#ifndef SV_DOUBLE
/* Checks that two backends give the same bits for a shape; skips if the second one does not run
 * here. */
static void check_same_bits(const subject pair[2], const size_t shape[3], int turned)
{
    size_t m = shape[0], n = shape[1], depth = shape[2];
    matrix a = make(m, depth, (turned & 1) && takes_column_major(pair[0].gemm), 1);
    matrix b = make(depth, n, turned & 2, 2);
    matrix c[] = {make(m, n, false, 3), make(m, n, false, 3)};
    for (int i = 0; i < 2 && kernels_of(&pair[1]); i++) {
        const sv_kernels *k = kernels_of(&pair[i]);
        sv_gemm_b right = {b.x, depth, n, b.row, b.column, packed_memory(&pair[i], k, depth, n), 0};
        sv_gemm_a left = {a.x, a.row, a.column, NULL};
        sv_gemm_c biased = {c[i].x, c[i].row, 0, b.x, NULL},
                  sum = {c[i].x, c[i].row, 1, NULL, NULL};
        pair[i].gemm->pack_b(k, &right);
        pair[i].gemm->matmul(k, &biased, &left, &right, m, 0, n);
        pair[i].gemm->matmul(k, &sum, &left, &right, m, 0, n);
        free(right.packed);
    }
    ck_assert_mem_eq(c[0].x, c[1].x, c[0].elements * sizeof(float));
    free(a.x);
    free(b.x);
    free(c[0].x);
    free(c[1].x);
}

/* Weights stored in bfloat16 and weights rounded to bfloat16 but stored in float32 give the same
 * bits. */
START_TEST(test_bfloat16_weights_have_the_same_bits_stored_in_either_width)
{
    const sv_isa isa = ISAS[_i % ISA_COUNT];
    const subject widths[] = {{&sv_gemm_tile_bf16, isa, 0, 0},
                              {&sv_gemm_tile_bf16_as_f32, isa, 0, 0}};
    check_same_bits(widths, SHAPES[_i / ISA_COUNT], _i);
}
END_TEST

#endif

static Suite *matmul_suite(void)
{
    Suite *suite = suite_create("matmul");
    TCase *all = tcase_create("backends");
    tcase_add_loop_test(all, test_matmuls_equal_sums_of_higher_precision, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_weight_gradients_equal_sums_of_higher_precision, 0,
                        SUBJECT_COUNT);
    tcase_add_loop_test(all, test_partitions_have_the_bits_of_the_whole, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_values_of_any_magnitude_keep_their_precision, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_not_finite_stays_not_finite_and_zero_stays_zero, 0,
                        SUBJECT_COUNT);
#ifndef SV_DOUBLE
    add_cases(all, test_bfloat16_weights_have_the_same_bits_stored_in_either_width,
              ISA_COUNT * SHAPE_COUNT);
#endif
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(matmul_suite)
