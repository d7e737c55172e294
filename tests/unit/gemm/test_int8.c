/* int8 matmuls have one definition, plain_matmul, and its bits on every CPU. */
#include "backends.h"

#include <math.h>

#ifndef SV_LOW_PRECISION
START_TEST(test_int8_has_the_bits_of_its_definition)
{
    skip_check("int8 is no part of this build");
}
END_TEST
enum { CASE_COUNT = 1 };
#else

/* m, n, k. A K block has 1,024 steps. */
static const size_t SHAPES[][3] = {{1, 1, 1},      {7, 10, 3},     {8, 48, 192},   {9, 49, 193},
                                   {33, 17, 50},   {5, 130, 400},  {12, 64, 70},   {11, 80, 33},
                                   {13, 112, 40},  {19, 174, 37},  {64, 64, 97},   {31, 31, 31},
                                   {17, 33, 289},  {1, 333, 65},   {2, 40, 1024},  {2, 40, 1025},
                                   {13, 40, 2100}, {45, 203, 410}, {131, 50, 900}, {70, 33, 3075}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, CASE_COUNT = SHAPE_COUNT * SUBJECT_COUNT };
enum { K_BLOCK = 1024 };

/* to = the elements of a K block, which are `stride` apart, in int8. Returns their scale. */
static float quantize(int *to, const float *x, size_t stride, size_t count)
{
    float largest = 0;
    for (size_t p = 0; p < count; p++)
        largest = fmaxf(largest, fabsf(x[p * stride]));
    const float inverse = largest < 0x1p-119f ? 0x1p126f : 127 / largest;
    for (size_t p = 0; p < count; p++)
        to[p] = (int)rintf(x[p * stride] * inverse);
    return 1 / inverse;
}

/* c[m, n] = bias[n] + a[m, k] b[k, n] */
static void plain_matmul(float *c, const float *a, const float *b, const float *bias,
                         const size_t shape[3])
{
    const size_t m = shape[0], n = shape[1], k = shape[2];
    for (size_t i = 0; i < m * n; i++) {
        c[i] = bias[i % n];
        for (size_t p = 0; p < k; p += K_BLOCK) {
            const size_t count = k - p < K_BLOCK ? k - p : K_BLOCK;
            int left[K_BLOCK], right[K_BLOCK], sum = 0;
            const float row = quantize(left, a + i / n * k + p, 1, count);
            const float column = quantize(right, b + p * n + i % n, n, count);
            for (size_t q = 0; q < count; q++)
                sum += left[q] * right[q];
            c[i] = fmaf((float)sum * column, row, c[i]);
        }
    }
}

/* Values of very different magnitudes; the last row is zeros. */
static void fill(float *x, size_t elements, size_t zeros)
{
    for (size_t i = 0; i < elements; i++)
        x[i] = i + zeros < elements ? sinf((float)(i * i % 1009)) * (float)exp2(i % 7) : 0;
}

START_TEST(test_int8_has_the_bits_of_its_definition)
{
    const size_t *shape = SHAPES[_i / SUBJECT_COUNT], m = shape[0], n = shape[1], k = shape[2];
    const subject *of = &SUBJECTS[_i % SUBJECT_COUNT];
    const sv_kernels *kernels = of->b_error == BYTE ? kernels_of(of) : NULL;
    if (!kernels)
        return;
    float *a = malloc((m * k + k * n + n + 2 * m * n) * sizeof *a);
    float *b = a + m * k, *bias = b + k * n, *wanted = bias + n, *c = wanted + m * n;
    fill(a, m * k, m > 1 ? k : 0);
    fill(b, k * n + n, 0);
    plain_matmul(wanted, a, b, bias, shape);
    const sv_gemm_b right = {b, k, n, n, 1, packed_memory(of, kernels, k, n), 0};
    const sv_gemm_a left = {a, k, 1, NULL};
    const sv_gemm_c out = {c, n, 0, bias, NULL};
    of->gemm->pack_b(kernels, &right);
    of->gemm->matmul(kernels, &out, &left, &right, m, 0, n);
    ck_assert_mem_eq(c, wanted, m * n * sizeof *c);
    free(right.packed);
    free(a);
}
END_TEST
#endif

static Suite *int8_suite(void)
{
    Suite *suite = suite_create("int8");
    TCase *all = tcase_create("definition");
    tcase_add_loop_test(all, test_int8_has_the_bits_of_its_definition, 0, CASE_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(int8_suite)
