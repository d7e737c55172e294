/* Matrix products by every provider, on every instruction set that it runs on, against sums in
 * double: shapes that leave rest rows, columns and depth; sides that lie either way; parts. */
#include "isa.h"
#include "suite.h"

#include "kernels/gemm.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Errors are measured against the sum of the terms' sizes: `side` is what one rounding of either
 * side's numbers gives, 0 where they are kept as they are. */
typedef struct subject {
    const sv_gemm *gemm;
    sv_isa isa; /* the kernels', or what the provider takes */
    double left, right;
} subject;

#define BYTE (0.5 / 127)

static const subject SUBJECTS[] = {
    {&sv_gemm_cblas, SV_ISA_BASELINE, 0, 0},
#ifdef SV_HAVE_ONEDNN
    {&sv_gemm_onednn, SV_ISA_BASELINE, 0, 0},
#endif
    {&sv_gemm_tile, SV_ISA_BASELINE, 0, 0},
    {&sv_gemm_tile, SV_ISA_AVX2, 0, 0},
    {&sv_gemm_tile, SV_ISA_AVX512, 0, 0},
    {&sv_gemm_tile_bf16, SV_ISA_BASELINE, 0, 0x1p-8},
    {&sv_gemm_tile_bf16, SV_ISA_AVX2, 0, 0x1p-8},
    {&sv_gemm_tile_bf16, SV_ISA_AVX512, 0, 0x1p-8},
    {&sv_gemm_tile_int8, SV_ISA_BASELINE, 0, BYTE},
    {&sv_gemm_tile_int8, SV_ISA_AVX2, 0, BYTE},
    {&sv_gemm_tile_int8, SV_ISA_AVX512, 0, BYTE},
#ifdef SV_HAVE_AMX
    {&sv_gemm_dot_bf16, SV_ISA_AVX512_BF16, 0x1p-8, 0x1p-8},
    {&sv_gemm_amx, SV_ISA_AMX, 0, 0},
    {&sv_gemm_amx_bf16, SV_ISA_AMX, 0x1p-8, 0x1p-8},
    {&sv_gemm_amx_int8, SV_ISA_AMX, BYTE, BYTE},
#endif
#ifdef SV_HAVE_VNNI
    {&sv_gemm_vnni_int8, SV_ISA_AVX512_VNNI, BYTE, BYTE},
#endif
};
enum { SUBJECT_COUNT = sizeof SUBJECTS / sizeof *SUBJECTS };

static bool can_be_loaded(const subject *of)
{
    svit_error err = {.struct_size = sizeof err};
    if (strcmp(of->gemm->name, "onednn") != 0 || sv_onednn_load(&err) == SVIT_OK)
        return true;
    printf("skipped: %s\n", err.message);
    return false;
}

static const sv_kernels *kernels_of(const subject *of)
{
    if (!can_be_loaded(of))
        return NULL;
    if (of->isa <= sv_cpu_isa() && (of->isa < SV_ISA_AMX || sv_cpu_permit_amx()))
        return sv_kernels_for(of->isa);
    printf("skipped: this machine has no %s\n", sv_isa_name(of->isa));
    return NULL;
}

/* The subject of a loop test's round and its kernels, or the end of the test. */
#define SUBJECT(name, k)                                                                           \
    const subject *name = &SUBJECTS[_i];                                                           \
    const sv_kernels *k = kernels_of(name);                                                        \
    if (!k)                                                                                        \
    return

/* m, n, k: every number of vectors and units, full and not, along each side. */
static const size_t SHAPES[][3] = {{1, 1, 1},     {7, 10, 3},    {8, 48, 192}, {9, 49, 193},
                                   {33, 17, 50},  {5, 130, 400}, {16, 96, 96}, {12, 64, 70},
                                   {11, 80, 33},  {13, 112, 40}, {6, 128, 64}, {19, 174, 37},
                                   {32, 32, 32},  {64, 64, 97},  {31, 31, 31}, {40, 16, 320},
                                   {17, 33, 289}, {100, 9, 16},  {1, 333, 65}, {13, 40, 2100}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, MARGIN = 5 };

/* A matrix [rows, columns], along rows of memory or along columns, each line with a margin. */
typedef struct matrix {
    float *x;
    size_t row, column, elements;
} matrix;

static matrix make(size_t rows, size_t columns, bool turned, uint32_t seed)
{
    matrix made = {.row = turned ? 1 : columns + MARGIN, .column = turned ? rows + MARGIN : 1};
    made.elements = turned ? columns * made.column : rows * made.row;
    made.x = malloc(made.elements * sizeof *made.x);
    for (size_t i = 0; i < made.elements; i++) {
        seed = seed * 1664525u + 1013904223u;
        made.x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    return made;
}

static float at(const matrix *of, size_t row, size_t column)
{
    return of->x[row * of->row + column * of->column];
}

static void *packed_memory(const subject *of, const sv_kernels *k, size_t depth, size_t n)
{
    void *memory = NULL;
    size_t bytes = of->gemm->packed_bytes(k, depth, n);
    ck_assert_int_eq(posix_memalign(&memory, 64, bytes ? bytes : 64), 0);
    memset(memory, 0x55, bytes);
    return memory;
}

/* Errors of both sides' numbers, and of float32's sums. In a row or column of bytes a number is
 * wrong by a part of its largest, which is below 1 here. */
static double allowed(const subject *of, const matrix *a, const matrix *b, size_t row,
                      size_t column, size_t depth, double before)
{
    double sizes = fabs(before), coarse = 0;
    for (size_t p = 0; p < depth; p++) {
        sizes += fabs((double)at(a, row, p) * at(b, p, column));
        coarse += fabs(at(a, row, p)) * of->right + fabs(at(b, p, column)) * of->left +
                  of->left * of->right;
    }
    double sides = of->right == BYTE ? coarse : sizes * (of->left + of->right);
    return sides * 1.01 + sizes * 1.2e-7 * (1 + sqrt((double)depth));
}

static void check(const subject *of, const float *c, size_t ldc, const matrix *before,
                  const matrix *a, const matrix *b, const size_t shape[3])
{
    for (size_t row = 0; row < shape[0]; row++)
        for (size_t column = 0; column < ldc; column++) {
            float got = c[row * ldc + column];
            double was = column < shape[1] + MARGIN && before ? at(before, row, column) : 0;
            if (column >= shape[1]) {
                ck_assert_msg(got == (float)was, "a number past column %zu was written", shape[1]);
                continue;
            }
            double wanted = was;
            for (size_t p = 0; p < shape[2]; p++)
                wanted += (double)at(a, row, p) * at(b, p, column);
            double error = fabs(got - wanted);
            ck_assert_msg(error <= allowed(of, a, b, row, column, shape[2], was),
                          "%s, %zu x %zu x %zu: [%zu, %zu] is %.9g, wanted %.9g", of->gemm->name,
                          shape[0], shape[1], shape[2], row, column, (double)got, wanted);
        }
}

static void multiply_both_ways(const subject *of, const sv_kernels *k, const size_t shape[3],
                               bool left_turned, bool right_turned)
{
    size_t m = shape[0], n = shape[1], depth = shape[2];
    matrix a = make(m, depth, left_turned, 1), b = make(depth, n, right_turned, 2);
    matrix before = make(m, n, false, 3), c = make(m, n, false, 3);
    sv_operand right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n)};
    sv_left left = {a.x, a.row, a.column};
    sv_output sum = {c.x, c.row, 1}, product = {c.x, c.row, 0};
    of->gemm->pack(k, &right);
    of->gemm->multiply(k, &sum, &left, &right, m, 0, n);
    check(of, c.x, c.row, &before, &a, &b, shape);
    of->gemm->multiply(k, &product, &left, &right, m, 0, n);
    for (size_t row = 0; row < m; row++)
        memset(before.x + row * before.row, 0, n * sizeof(float));
    check(of, c.x, c.row, &before, &a, &b, shape);
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
            multiply_both_ways(of, k, SHAPES[i], way & 1, way & 2);
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
        sv_gemm_multiply_transposed(of->gemm, k, c.x, c.row, a.x, a.column, b.x, b.row, shape[0],
                                    shape[1], shape[2], scratch);
        check(of, c.x, c.row, &before, &a, &b, shape);
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
    static float whole[PART_ROWS * PART_COLUMNS], parts[PART_ROWS * PART_COLUMNS];
    size_t bytes = PART_ROWS * n * sizeof *whole;
    matrix a = make(PART_ROWS, depth, false, 7), b = make(depth, n, false, 8);
    sv_operand right = {b.x, depth, n, b.row, b.column, packed_memory(of, k, depth, n)};
    sv_left left = {a.x, a.row, 1};
    sv_output all = {whole, n, 0}, some = {parts, n, 0};
    of->gemm->pack(k, &right);
    of->gemm->multiply(k, &all, &left, &right, PART_ROWS, 0, n);
    for (size_t cut = SV_GEMM_COLUMNS; cut + SV_GEMM_REST <= n; cut += SV_GEMM_COLUMNS) {
        memset(parts, 0, sizeof parts);
        of->gemm->multiply(k, &some, &left, &right, PART_ROWS, 0, cut);
        of->gemm->multiply(k, &some, &left, &right, PART_ROWS, cut, n - cut);
        ck_assert_mem_eq(parts, whole, bytes);
    }
    for (size_t row = 0; row < PART_ROWS; row++) {
        sv_left one = {a.x + row * a.row, a.row, 1};
        sv_output alone = {parts + row * n, n, 0};
        of->gemm->multiply(k, &alone, &one, &right, 1, 0, n);
    }
    ck_assert_mem_eq(parts, whole, bytes);
    free(right.packed);
    free(a.x);
    free(b.x);
}

/* A product in parts of its columns, or of its rows, is the whole product to the bit, cut wherever
 * gemm.h lets it be, and however deep it is. The BLAS and oneDNN promise no bits. */
START_TEST(test_parts_of_a_product)
{
    SUBJECT(of, k);
    if (strcmp(of->gemm->name, "cblas") == 0 || strcmp(of->gemm->name, "onednn") == 0)
        return;
    for (size_t n = SV_GEMM_COLUMNS + SV_GEMM_REST; n <= PART_COLUMNS; n++)
        multiply_in_parts(of, k, n, 20);
    multiply_in_parts(of, k, PART_COLUMNS, 2100);
}
END_TEST

/* Numbers of very different sizes, the smallest normal ones among them, keep float32's precision
 * where a number is a sum of several, but for terms below the smallest normal number. */
START_TEST(test_float32_of_parts)
{
    SUBJECT(of, k);
    if (of->left > 0 || of->right > 0)
        return;
    static const float LEFT[] = {1.0f, 16777215.0f, 1e-30f, 3.4e37f, 0.333333343f};
    static const float RIGHT[] = {0x1.fffffep-1f, 3.1415927f, 1e-7f, 0.0f, -1.0f};
    enum { COUNT = 5 };
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < COUNT; j++) {
            float c = 0;
            sv_operand right = {&RIGHT[j], 1, 1, 1, 1, packed_memory(of, k, 1, 1)};
            sv_left left = {&LEFT[i], 1, 1};
            sv_output out = {&c, 1, 0};
            of->gemm->pack(k, &right);
            of->gemm->multiply(k, &out, &left, &right, 1, 0, 1);
            double wanted = (double)LEFT[i] * RIGHT[j];
            ck_assert_msg(fabs(c - wanted) <= 1.5e-7 * fabs(wanted) + 6 * FLT_MIN,
                          "%g x %g is %.9g", (double)LEFT[i], (double)RIGHT[j], (double)c);
            free(right.packed);
        }
}
END_TEST

static float one_product(const subject *of, const sv_kernels *k, float a, float b)
{
    float c = 5;
    sv_operand right = {&b, 1, 1, 1, 1, packed_memory(of, k, 1, 1)};
    sv_left left = {&a, 1, 1};
    sv_output out = {&c, 1, 0};
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
        if (of->left > 0 || of->right != BYTE)
            ck_assert_msg(!isfinite(one_product(of, k, 1, BAD[i])), "1 x %g", (double)BAD[i]);
    }
    static const float SMALL[] = {0, -0.0f, 1e-45f, -1e-40f, 3e-38f, -1e-36f};
    for (size_t i = 0; i < sizeof SMALL / sizeof *SMALL; i++) {
        ck_assert_float_le(fabsf(one_product(of, k, SMALL[i], 1)), fabsf(SMALL[i]) + FLT_MIN);
        ck_assert_float_le(fabsf(one_product(of, k, 1, SMALL[i])), fabsf(SMALL[i]) + FLT_MIN);
    }
    ck_assert_float_eq_tol(one_product(of, k, 1e30f, 1e-36f), 1e-6f, 1e-8f);
    ck_assert_float_eq_tol(one_product(of, k, 1e-36f, -1e30f), -1e-6f, 1e-8f);
}
END_TEST

/* Sums of bytes are exact, so it does not matter who makes them. */
#if defined(SV_HAVE_AMX) && defined(SV_HAVE_VNNI)
START_TEST(test_bytes_have_the_same_bits_on_both_units)
{
    static const subject units[] = {{&sv_gemm_vnni_int8, SV_ISA_AVX512_VNNI, 0, 0},
                                    {&sv_gemm_amx_int8, SV_ISA_AMX, 0, 0}};
    const size_t *shape = SHAPES[_i];
    size_t m = shape[0], n = shape[1], depth = shape[2];
    matrix a = make(m, depth, _i & 1, 1), b = make(depth, n, _i & 2, 2);
    matrix c[] = {make(m, n, false, 3), make(m, n, false, 3)};
    for (int i = 0; i < 2 && kernels_of(&units[1]); i++) {
        const sv_kernels *k = kernels_of(&units[i]);
        sv_operand right = {b.x, depth, n, b.row, b.column, packed_memory(&units[i], k, depth, n)};
        sv_left left = {a.x, a.row, a.column};
        sv_output sum = {c[i].x, c[i].row, 1};
        units[i].gemm->pack(k, &right);
        units[i].gemm->multiply(k, &sum, &left, &right, m, 0, n);
        free(right.packed);
    }
    ck_assert_mem_eq(c[0].x, c[1].x, c[0].elements * sizeof(float));
    free(a.x);
    free(b.x);
    free(c[0].x);
    free(c[1].x);
}
END_TEST
#endif

static Suite *products_suite(void)
{
    Suite *suite = suite_create("products");
    TCase *all = tcase_create("providers");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, test_products, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_weight_gradients, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_parts_of_a_product, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_float32_of_parts, 0, SUBJECT_COUNT);
    tcase_add_loop_test(all, test_not_finite_and_zeros, 0, SUBJECT_COUNT);
#if defined(SV_HAVE_AMX) && defined(SV_HAVE_VNNI)
    tcase_add_loop_test(all, test_bytes_have_the_same_bits_on_both_units, 0, SHAPE_COUNT);
#endif
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(products_suite)
