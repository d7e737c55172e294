/* Checks that no backend of ours reads beside A, B or C: each begins and ends at a page that must
 * not be touched. A CBLAS reads as it likes: BLIS does so behind its operands. */
#include "backends.h"
#include "guard.h"

/* m, n and k: whole vectors and microtiles, one element more and less; and k of several K
 * blocks. */
static const size_t SHAPES[][3] = {{1, 1, 1},    {7, 16, 32},  {16, 48, 64},   {17, 49, 65},
                                   {15, 47, 63}, {64, 96, 33}, {65, 130, 192}, {33, 31, 1030}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

/* Random elements [rows, columns] without any between them. */
static real *dense(size_t rows, size_t columns, uint32_t seed)
{
    real *x = malloc(rows * columns * sizeof *x);
    for (size_t i = 0; i < rows * columns; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (real)(seed >> 8) / (1 << 23) - 1;
    }
    return x;
}

/* c = a b, with the operands as they are. */
static void multiply(const subject *of, const sv_kernels *k, real *c, const real *a, const real *b,
                     const size_t shape[3], int turned)
{
    const size_t m = shape[0], n = shape[1], depth = shape[2];
    const int left_turned = (turned & 1) && takes_column_major(of->gemm), right_turned = turned & 2;
    sv_gemm_b right = {
        b, depth, n, right_turned ? 1 : n, right_turned ? depth : 1, packed_memory(of, k, depth, n),
        0};
    const sv_gemm_a left = {a, left_turned ? 1 : depth, left_turned ? m : 1, NULL};
    const sv_gemm_c out = {c, n, 0, NULL, NULL};
    of->gemm->pack_b(k, &right);
    of->gemm->matmul(k, &out, &left, &right, m, 0, n);
    free(right.packed);
}

START_TEST(test_nothing_beside_the_operands_is_read_or_written)
{
    SUBJECT(of, k);
    if (strcmp(of->gemm->name, "cblas") == 0)
        return;
    for (size_t i = 0; i < SHAPE_COUNT; i++)
        for (int way = 0; way < 8; way++) {
            const size_t *shape = SHAPES[i], m = shape[0], n = shape[1], depth = shape[2];
            real *a = dense(m, depth, 1), *b = dense(depth, n, 2), *c = dense(m, n, 3);
            real *guarded_c = guard_copy(c, m * n * sizeof *c, way & 4);
            multiply(of, k, c, a, b, shape, way);
            multiply(of, k, guarded_c, guard_copy(a, m * depth * sizeof *a, way & 4),
                     guard_copy(b, depth * n * sizeof *b, way & 4), shape, way);
            if (memcmp(c, guarded_c, m * n * sizeof *c) != 0)
                ck_abort_msg("%s, %zu x %zu x %zu: other bits beside a page", of->gemm->name, m, n,
                             depth);
            free(a);
            free(b);
            free(c);
        }
}
END_TEST

static Suite *operand_edges_suite(void)
{
    Suite *suite = suite_create("operand_edges");
    TCase *all = tcase_create("backends");
    tcase_add_loop_test(all, test_nothing_beside_the_operands_is_read_or_written, 0, SUBJECT_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(operand_edges_suite)
