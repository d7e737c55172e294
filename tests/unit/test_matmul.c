/* Matrix products by every backend, on every instruction set that it runs on, against sums of more
 * digits: shapes that leave rest rows, columns and depth; sides that lie either way; biases; parts.
 * Compiled once more in double, for the backends that there are. */
#include "backends.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* A little more than what `real` rounds by. */
#ifdef SV_DOUBLE
#define ROUNDING 2.3e-16
#else
#define ROUNDING 1.2e-7
#endif

/* m, n, k: every number of vectors and units, full and not, along each side. */
static const size_t SHAPES[][3] = {
    {1, 1, 1},    {7, 10, 3},     {8, 48, 192},   {9, 49, 193},   {33, 17, 50},  {5, 130, 400},
    {16, 96, 96}, {12, 64, 70},   {11, 80, 33},   {13, 112, 40},  {6, 128, 64},  {19, 174, 37},
    {32, 32, 32}, {64, 64, 97},   {31, 31, 31},   {40, 16, 320},  {17, 33, 289}, {100, 9, 16},
    {1, 333, 65}, {13, 40, 2100}, {45, 803, 410}, {131, 50, 900}, {70, 33, 2100}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

/* A bias of n numbers, and no memory behind them. */
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

/* An element of a product: its sum, and the sizes of its terms and of each side's numbers. */
typedef struct element {
    long double sum;
    double terms, left, right;
} element;

static element *find_elements(const matrix *a, const matrix *b, const size_t shape[3])
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

/* Errors of both sides' numbers, and of the sums. In a row or column of bytes a number is
 * wrong by a part of its largest, which is below 1 here. */
static double allowed(const subject *of, const element *here, size_t depth, double before)
{
    double sizes = fabs(before) + here->terms;
    double coarse =
        here->left * of->right + here->right * of->left + (double)depth * of->left * of->right;
    double sides = of->right == BYTE ? coarse : sizes * (of->left + of->right);
    return sides * 1.01 + sizes * ROUNDING * (1 + sqrt((double)depth));
}

/* c[m, ldc] = before + the elements, and nothing past the last column. Check writes a line to a
 * file for each of its assertions, good or not: too long for each of millions of numbers. */
static void check(const subject *of, const matrix *c, const matrix *before, const element *elements,
                  const size_t shape[3])
{
    for (size_t row = 0; row < shape[0]; row++)
        for (size_t column = 0; column < c->row; column++) {
            real got = at(c, row, column), was = at(before, row, column);
            if (column >= shape[1]) {
                if (got != was)
                    ck_abort_msg("a number past column %zu was written", shape[1]);
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

/* All rows of c[m, n] become the bias; NULL: 0. */
static void set_rows(matrix *c, const real *bias, size_t m, size_t n)
{
    for (size_t row = 0; row < m; row++)
        for (size_t column = 0; column < n; column++)
            c->x[row * c->row + column] = bias ? bias[column] : 0;
}

/* c += the product, c = it, and c = bias + it. */
static void multiply_all_ways(const subject *of, const sv_kernels *k, const size_t shape[3],
                              bool left_turned, bool right_turned)
{
    size_t m = shape[0], n = shape[1], depth = shape[2];
    matrix a = make(m, depth, left_turned, 1), b = make(depth, n, right_turned, 2);
    matrix before = make(m, n, false, 3), c = make(m, n, false, 3);
    guarded_bias bias = make_bias(n, 9);
    sv_operand right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n), 0};
    sv_left left = {a.x, a.row, a.column, NULL};
    sv_output sum = {c.x, c.row, 1, NULL, NULL}, product = {c.x, c.row, 0, NULL, NULL};
    sv_output biased = {c.x, c.row, 0, bias.x, NULL};
    element *elements = find_elements(&a, &b, shape);
    of->gemm->pack(k, &right);
    of->gemm->multiply(k, &sum, &left, &right, m, 0, n);
    check(of, &c, &before, elements, shape);
    of->gemm->multiply(k, &product, &left, &right, m, 0, n);
    set_rows(&before, NULL, m, n);
    check(of, &c, &before, elements, shape);
    of->gemm->multiply(k, &biased, &left, &right, m, 0, n);
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

START_TEST(test_products)
{
    SUBJECT(of, k);
    for (size_t i = 0; i < SHAPE_COUNT; i++)
        for (int way = 0; way < 4; way++)
            multiply_all_ways(of, k, SHAPES[i], way & 1, way & 2);
}
END_TEST

/* c += a^T b over more tokens and columns than are packed at once. */
START_TEST(test_weight_gradients)
{
    SUBJECT(of, k);
    if (of->right == BYTE)
        return; /* bytes are for inference */
    static const size_t shapes[][3] = {
        {3, 5, 7}, {48, 64, 33}, {20, 400, 200}, {65, 47, 2 * SV_GEMM_TOKENS + 9}};
    void *scratch = NULL;
    ck_assert_int_eq(posix_memalign(&scratch, 64, SV_GEMM_SCRATCH), 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const size_t *shape = shapes[i];
        matrix a = make(shape[0], shape[2], true, 4), b = make(shape[2], shape[1], false, 5);
        matrix before = make(shape[0], shape[1], false, 6), c = make(shape[0], shape[1], false, 6);
        element *elements = find_elements(&a, &b, shape);
        sv_gemm_multiply_transposed(of->gemm, k, c.x, c.row, a.x, a.column, b.x, b.row, shape[0],
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

enum { PART_ROWS = 41, PART_COLUMNS = 3 * SV_GEMM_COLUMNS + SV_GEMM_REST + 47 };

static void multiply_in_parts(const subject *of, const sv_kernels *k, size_t n, size_t depth)
{
    static real whole[PART_ROWS * PART_COLUMNS], parts[PART_ROWS * PART_COLUMNS];
    size_t bytes = PART_ROWS * n * sizeof *whole;
    matrix a = make(PART_ROWS, depth, false, 7), b = make(depth, n, false, 8);
    guarded_bias bias = make_bias(n, 10);
    sv_operand right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n), 0};
    sv_left left = {a.x, a.row, 1, NULL};
    sv_output all = {whole, n, 0, bias.x, NULL}, some = {parts, n, 0, bias.x, NULL};
    of->gemm->pack(k, &right);
    of->gemm->multiply(k, &all, &left, &right, PART_ROWS, 0, n);
    size_t rest = n % SV_GEMM_COLUMNS ? SV_GEMM_REST : SV_GEMM_COLUMNS;
    for (size_t cut = SV_GEMM_COLUMNS; cut + rest <= n; cut += SV_GEMM_COLUMNS) {
        memset(parts, 0, sizeof parts);
        of->gemm->multiply(k, &some, &left, &right, PART_ROWS, 0, cut);
        of->gemm->multiply(k, &some, &left, &right, PART_ROWS, cut, n - cut);
        ck_assert_mem_eq(parts, whole, bytes);
    }
    for (size_t row = 0; row < PART_ROWS; row++) {
        sv_left one = {a.x + row * a.row, a.row, 1, NULL};
        sv_output alone = {parts + row * n, n, 0, bias.x, NULL};
        of->gemm->multiply(k, &alone, &one, &right, 1, 0, n);
    }
    ck_assert_mem_eq(parts, whole, bytes);
    munmap(bias.memory, bias.bytes);
    free(right.packed);
    free(a.x);
    free(b.x);
}

/* What a backend makes of a left-hand side beforehand; NULL where it takes it as it is. */
static void *make_left(const sv_gemm *gemm, const sv_left *left, size_t m, size_t depth)
{
    if (!gemm->left_bytes)
        return NULL;
    size_t bytes = gemm->left_bytes(m, depth);
    void *made =
        aligned_alloc(SV_ALIGNMENT, (bytes + SV_ALIGNMENT - 1) / SV_ALIGNMENT * SV_ALIGNMENT);
    ck_assert_ptr_nonnull(made);
    gemm->make_left(left, m, depth, made);
    return made;
}

enum { GROUPED_ROWS = 75, GROUPED_COLUMNS = 192 };

/* Group by group, from the last one on, from a left-hand side that was made once. */
static void multiply_in_groups(const subject *of, const sv_kernels *k, size_t group, size_t depth)
{
    static real whole[GROUPED_ROWS * GROUPED_COLUMNS], parts[GROUPED_ROWS * GROUPED_COLUMNS];
    const size_t m = GROUPED_ROWS, n = GROUPED_COLUMNS;
    matrix a = make(m, depth, false, 7), b = make(depth, n, true, 8);
    guarded_bias bias = make_bias(n, 10);
    sv_operand right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n), 0};
    sv_left left = {a.x, a.row, 1, NULL}, once = left;
    sv_output all = {whole, n, 0, bias.x, NULL}, some = {parts, n, 0, bias.x, NULL};
    of->gemm->pack(k, &right);
    of->gemm->multiply(k, &all, &left, &right, m, 0, n);
    right.group = group;
    of->gemm->pack(k, &right);
    once.made = make_left(of->gemm, &left, m, depth);
    for (size_t first = n; first > 0; first -= group)
        of->gemm->multiply(k, &some, &once, &right, m, first - group, group);
    ck_assert_mem_eq(parts, whole, sizeof whole);
    memset(parts, 0, sizeof parts);
    of->gemm->multiply(k, &some, &left, &right, m, 0, group);
    of->gemm->multiply(k, &some, &once, &right, m, group, n - group);
    ck_assert_mem_eq(parts, whole, sizeof whole);
    munmap(bias.memory, bias.bytes);
    free(once.made);
    free(right.packed);
    free(a.x);
    free(b.x);
}

/* Of the BLAS, which promises no bits. */
static void multiply_nearly_in_parts(const subject *of, const sv_kernels *k)
{
    enum { DEPTH = 70, CUT = 2 * SV_GEMM_COLUMNS };
    const size_t shape[] = {PART_ROWS, PART_COLUMNS, DEPTH};
    matrix a = make(PART_ROWS, DEPTH, false, 7), b = make(DEPTH, PART_COLUMNS, true, 8);
    matrix c = make(PART_ROWS, PART_COLUMNS, false, 3);
    matrix before = make(PART_ROWS, PART_COLUMNS, false, 3);
    guarded_bias bias = make_bias(PART_COLUMNS, 10);
    sv_operand right = {.b = b.x, .k = DEPTH, .n = PART_COLUMNS, .row = b.row, .column = b.column};
    sv_left left = {a.x, a.row, 1, NULL};
    sv_output out = {c.x, c.row, 0, bias.x, NULL};
    element *elements = find_elements(&a, &b, shape);
    of->gemm->multiply(k, &out, &left, &right, PART_ROWS, 0, CUT);
    of->gemm->multiply(k, &out, &left, &right, PART_ROWS, CUT, PART_COLUMNS - CUT);
    set_rows(&before, bias.x, PART_ROWS, PART_COLUMNS);
    check(of, &c, &before, elements, shape);
    munmap(bias.memory, bias.bytes);
    free(elements);
    free(a.x);
    free(b.x);
    free(c.x);
    free(before.x);
}

/* A product in parts of its columns, or of its rows, is the whole product to the bit, its bias
 * included, cut wherever gemm.h lets it be, and however deep it is. */
START_TEST(test_parts_of_a_product)
{
    SUBJECT(of, k);
    if (strcmp(of->gemm->name, "cblas") == 0) {
        multiply_nearly_in_parts(of, k);
        return;
    }
    for (size_t n = SV_GEMM_COLUMNS + SV_GEMM_REST; n <= PART_COLUMNS; n++)
        multiply_in_parts(of, k, n, 20);
    multiply_in_parts(of, k, PART_COLUMNS, 2100);
    for (size_t group = SV_GEMM_GROUP; group <= GROUPED_COLUMNS / 2; group *= 2) {
        multiply_in_groups(of, k, group, 20);
        multiply_in_groups(of, k, group, 2100);
    }
}
END_TEST

/* Numbers of very different sizes, the smallest normal ones among them, keep `real`'s precision
 * where a number is a sum of several, but for terms below the smallest normal number. */
START_TEST(test_numbers_of_parts)
{
    SUBJECT(of, k);
    if (of->left > 0 || of->right > 0)
        return;
    static const real LEFT[] = {1.0f, 16777215.0f, 1e-30f, 3.4e37f, 0.333333343f};
    static const real RIGHT[] = {0x1.fffffep-1f, 3.1415927f, 1e-7f, 0.0f, -1.0f};
    enum { COUNT = 5 };
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            real c = 0;
            sv_operand right = {&RIGHT[j], 1, 1, 1, 1, packed_memory(of, k, 1, 1), 0};
            sv_left left = {&LEFT[i], 1, 1, NULL};
            sv_output out = {&c, 1, 0, NULL, NULL};
            of->gemm->pack(k, &right);
            of->gemm->multiply(k, &out, &left, &right, 1, 0, 1);
            double wanted = (double)LEFT[i] * RIGHT[j];
            ck_assert_msg(fabs(c - wanted) <= 1.25 * ROUNDING * fabs(wanted) + 6 * FLT_MIN,
                          "%g x %g is %.9g", (double)LEFT[i], (double)RIGHT[j], (double)c);
            free(right.packed);
        }
}
END_TEST

static real one_product(const subject *of, const sv_kernels *k, real a, real b)
{
    real c = 5;
    sv_operand right = {&b, 1, 1, 1, 1, packed_memory(of, k, 1, 1), 0};
    sv_left left = {&a, 1, 1, NULL};
    sv_output out = {&c, 1, 0, NULL, NULL};
    of->gemm->pack(k, &right);
    of->gemm->multiply(k, &out, &left, &right, 1, 0, 1);
    free(right.packed);
    return c;
}

/* What is not finite does not come out finite; zeros come out zero, and so, in bytes, may the
 * smallest numbers, but nothing larger. */
START_TEST(test_not_finite_and_zeros)
{
    SUBJECT(of, k);
    static const float BAD[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        ck_assert_msg(!isfinite(one_product(of, k, BAD[i], 1)), "%g x 1", (double)BAD[i]);
        ck_assert_msg(!isfinite(one_product(of, k, 1, BAD[i])), "1 x %g", (double)BAD[i]);
    }
    static const float SMALL[] = {0, -0.0f, 1e-45f, -1e-40f, 3e-38f, -1e-36f};
    for (size_t i = 0; i < sizeof SMALL / sizeof *SMALL; i++) {
        ck_assert_double_le(fabs(one_product(of, k, SMALL[i], 1)), fabsf(SMALL[i]) + FLT_MIN);
        ck_assert_double_le(fabs(one_product(of, k, 1, SMALL[i])), fabsf(SMALL[i]) + FLT_MIN);
    }
    ck_assert_double_eq_tol(one_product(of, k, 1e30f, 1e-36f), 1e-6, 1e-8);
    ck_assert_double_eq_tol(one_product(of, k, 1e-36f, -1e30f), -1e-6, 1e-8);
}
END_TEST

#ifndef SV_DOUBLE
/* Two backends' products of a shape, the second of which must run here. */
static void check_same_bits(const subject pair[2], const size_t shape[3], int turned)
{
    size_t m = shape[0], n = shape[1], depth = shape[2];
    matrix a = make(m, depth, turned & 1, 1), b = make(depth, n, turned & 2, 2);
    matrix c[] = {make(m, n, false, 3), make(m, n, false, 3)};
    for (int i = 0; i < 2 && kernels_of(&pair[1]); i++) {
        const sv_kernels *k = kernels_of(&pair[i]);
        sv_operand right = {b.x, depth, n, b.row, b.column, packed_memory(&pair[i], k, depth, n),
                            0};
        sv_left left = {a.x, a.row, a.column, NULL};
        sv_output biased = {c[i].x, c[i].row, 0, b.x, NULL},
                  sum = {c[i].x, c[i].row, 1, NULL, NULL};
        pair[i].gemm->pack(k, &right);
        pair[i].gemm->multiply(k, &biased, &left, &right, m, 0, n);
        pair[i].gemm->multiply(k, &sum, &left, &right, m, 0, n);
        free(right.packed);
    }
    ck_assert_mem_eq(c[0].x, c[1].x, c[0].elements * sizeof(float));
    free(a.x);
    free(b.x);
    free(c[0].x);
    free(c[1].x);
}

/* Numbers of two bytes are the same numbers at their full width. */
START_TEST(test_rounded_numbers_have_the_same_bits_in_both_widths)
{
    static const sv_isa ISAS[] = {SV_ISA_BASELINE, SV_ISA_AVX2, SV_ISA_AVX512};
    const subject widths[] = {{&sv_gemm_tile_bf16, ISAS[_i % 3], 0, 0},
                              {&sv_gemm_tile_rounded, ISAS[_i % 3], 0, 0}};
    check_same_bits(widths, SHAPES[_i / 3], _i);
}
END_TEST

#if defined(SV_HAVE_AMX) && defined(SV_HAVE_VNNI)
/* Sums of bytes are exact, so it does not matter who makes them. */
START_TEST(test_bytes_have_the_same_bits_on_both_units)
{
    static const subject units[] = {{&sv_gemm_vnni_int8, SV_ISA_AVX512_VNNI, 0, 0},
                                    {&sv_gemm_amx_int8, SV_ISA_AMX, 0, 0}};
    check_same_bits(units, SHAPES[_i], _i);
}
END_TEST
#endif
#endif

static Suite *products_suite(void)
{
    Suite *suite = suite_create("products");
    TCase *all = tcase_create("backends");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, test_products, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_weight_gradients, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_parts_of_a_product, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_numbers_of_parts, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_not_finite_and_zeros, 0, SUBJECT_COUNT);
#ifndef SV_DOUBLE
    tcase_add_loop_test(all, test_rounded_numbers_have_the_same_bits_in_both_widths, 0,
                        3 * SHAPE_COUNT);
#if defined(SV_HAVE_AMX) && defined(SV_HAVE_VNNI)
    tcase_add_loop_test(all, test_bytes_have_the_same_bits_on_both_units, 0, SHAPE_COUNT);
#endif
#endif
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(products_suite)
