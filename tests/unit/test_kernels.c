/* Kernels by their properties, on every instruction set that this machine has. */
#include "isa.h"
#include "suite.h"

#include "base/random.h"
#include "kernels/gemm.h"

#include <math.h>
#include <string.h>

static void fill(float *values, size_t count, uint64_t seed)
{
    sv_random random;
    sv_random_start(&random, seed, 77, 0, 0);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(2 * sv_random_unit(&random) - 1);
}

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

static const sv_shift_map SHIFTS[] = {{5, 7, 24, 4, 1, 0}, {5, 7, 24, 4, 2, 0},
                                      {4, 3, 19, 4, 5, 0}, {1, 1, 16, 4, 1, 0},
                                      {6, 5, 20, 5, 1, 1}, {3, 4, 13, 1, 3, 1}};

/* A batch of images, taken in parts that do not end with an image. */
static void shift_all(const sv_kernels *k, float *y, const float *x, const sv_shift_map *map,
                      size_t tokens, int back)
{
    for (size_t first = 0; first < tokens; first += 8) {
        size_t here = tokens - first < 8 ? tokens - first : 8;
        (back ? k->shift_backward : k->shift)(y + first * map->channels, x, map, first, here);
    }
}

START_TEST(test_shift_and_its_backward_are_adjoint)
{
    KERNELS(k);
    for (size_t i = 0; i < sizeof SHIFTS / sizeof *SHIFTS; i++) {
        const sv_shift_map *map = &SHIFTS[i];
        size_t tokens = 3 * map->height * map->width, count = tokens * map->channels;
        float *x = malloc(count * 4), *y = malloc(count * 4), *sx = malloc(count * 4),
              *sy = malloc(count * 4);
        fill(x, count, 1);
        fill(y, count, 2);
        shift_all(k, sx, x, map, tokens, 0);
        shift_all(k, sy, y, map, tokens, 1);
        ck_assert_double_le(fabs(dot(sx, y, count) - dot(x, sy, count)), 1e-12 * (double)count);
        free(x);
        free(y);
        free(sx);
        free(sy);
    }
}
END_TEST

/* What MODELS says of each group, one pixel at a time. */
static float shifted(const float *x, const sv_shift_map *m, size_t h, size_t w, size_t c)
{
    long p = (long)m->pixels, row = (long)h, column = (long)w;
    size_t group = c / m->group;
    long down = group == 2 ? p : group == 3 ? -p : 0;
    long across = group == 0 ? p : group == 1 ? -p : 0;
    long from_row = row + down, from_column = column + across;
    if (from_row < 0 || from_row >= (long)m->height || from_column < 0 ||
        from_column >= (long)m->width)
        return 0;
    if (m->crop)
        from_row = row, from_column = column;
    return x[((size_t)from_row * m->width + (size_t)from_column) * m->channels + c];
}

START_TEST(test_shift_moves_each_group_its_way)
{
    KERNELS(k);
    for (size_t i = 0; i < sizeof SHIFTS / sizeof *SHIFTS; i++) {
        const sv_shift_map *map = &SHIFTS[i];
        size_t tokens = map->height * map->width, count = tokens * map->channels;
        float *x = malloc(count * 4), *y = malloc(count * 4);
        fill(x, count, 3);
        shift_all(k, y, x, map, tokens, 0);
        for (size_t at = 0; at < count; at++) {
            size_t token = at / map->channels;
            float wanted =
                shifted(x, map, token / map->width, token % map->width, at % map->channels);
            ck_assert_float_eq(y[at], wanted);
        }
        free(x);
        free(y);
    }
}
END_TEST

/* SAME with an odd rest, SAME with a rest on both sides, VALID with a rest. */
static const sv_patch_map PATCHES[] = {{5, 7, 6, 3, 4, 2, 0, 0},
                                       {33, 10, 3, 9, 3, 4, 1, 1},
                                       {9, 11, 5, 2, 2, 4, 0, 0},
                                       {2, 2, 3, 1, 1, 5, 1, 1}};

START_TEST(test_patch_gather_and_scatter_are_adjoint)
{
    KERNELS(k);
    for (size_t i = 0; i < sizeof PATCHES / sizeof *PATCHES; i++) {
        const sv_patch_map *map = &PATCHES[i];
        size_t n = 2, pixels = n * map->height * map->width * map->channels;
        size_t tokens = n * map->rows * map->columns;
        size_t rows = tokens * map->size * map->size * map->channels;
        float *x = malloc(pixels * 4), *ax = malloc(rows * 4), *y = malloc(rows * 4),
              *ay = calloc(pixels, 4);
        fill(x, pixels, 4);
        fill(y, rows, 5);
        k->patch_gather(ax, x, map, 0, tokens);
        k->patch_scatter(ay, y, map, 0, tokens);
        ck_assert_double_le(fabs(dot(ax, y, rows) - dot(x, ay, pixels)), 1e-12 * (double)rows);
        free(x);
        free(ax);
        free(y);
        free(ay);
    }
}
END_TEST

START_TEST(test_mean_and_its_backward_are_adjoint)
{
    KERNELS(k);
    enum { N = 3, T = 7, C = 37 };
    float x[N * T * C], y[N * C], mean[N * C], back[N * T * C];
    fill(x, N * T * C, 6);
    fill(y, N * C, 7);
    k->mean_tokens(mean, x, N, T, C);
    k->mean_tokens_backward(back, y, N, T, C);
    ck_assert_double_le(fabs(dot(mean, y, N * C) - dot(x, back, N * T * C)), 2e-6);
}
END_TEST

/* Bit b of word (k, c) is bit b % 8 of Philox block (k C + c, b / 8): by the scalar generator. */
START_TEST(test_dropout_bits_are_philox_by_place)
{
    KERNELS(k);
    enum { C = 37, BLOCKS = 5 };
    const sv_mask_source source = {{12, 34}, {8, 5, 6}, 13107};
    uint32_t words[BLOCKS * C], part[2 * C];
    k->dropout_mask(words, &source, 0, BLOCKS, C);
    k->dropout_mask(part, &source, 2, 2, C);
    ck_assert_mem_eq(part, words + 2 * C, sizeof part);
    size_t kept = 0;
    for (uint32_t word = 0; word < BLOCKS * C; word++)
        for (uint32_t bit = 0; bit < 32; bit++) {
            uint32_t out[4], counter[4] = {word, 8 + bit / 8, 5, 6};
            sv_philox(out, counter, source.key);
            uint32_t half = out[bit % 8 / 2] >> (bit % 2 ? 16 : 0) & 0xFFFF;
            uint32_t wanted = half >= source.threshold;
            ck_assert_uint_eq(words[word] >> bit & 1, wanted);
            kept += wanted;
        }
    ck_assert_double_lt(fabs((double)kept / (BLOCKS * C * 32) - 0.8), 0.0156); /* 3 deviations */
}
END_TEST

static Suite *kernels_suite(void)
{
    Suite *suite = suite_create("kernels");
    TCase *all = tcase_create("properties");
    tcase_add_loop_test(all, test_shift_and_its_backward_are_adjoint, 0, 3);
    tcase_add_loop_test(all, test_shift_moves_each_group_its_way, 0, 3);
    tcase_add_loop_test(all, test_patch_gather_and_scatter_are_adjoint, 0, 3);
    tcase_add_loop_test(all, test_mean_and_its_backward_are_adjoint, 0, 3);
    tcase_add_loop_test(all, test_dropout_bits_are_philox_by_place, 0, 3);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(kernels_suite)
