/* Checks properties of kernels on every instruction set that this machine has. */
#include "isa.h"
#include "plain_shiftvit.h"
#include "suite.h"

#include "base/numbers/random.h"
#include "gemm/gemm.h"

#include <shiftvit/image.h>
#include <shiftvit/model.h>

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

static const sv_shift_geometry SHIFTS[] = {{5, 7, 24, 4, 1, 0}, {5, 7, 24, 4, 2, 0},
                                           {4, 3, 19, 4, 5, 0}, {1, 1, 16, 4, 1, 0},
                                           {6, 5, 20, 5, 1, 1}, {3, 4, 13, 1, 3, 1}};

/* Shifts a batch in blocks of 8 tokens, which do not end with an image. */
static void shift_all(const sv_kernels *k, float *y, const float *x, const sv_shift_geometry *map,
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
        const sv_shift_geometry *map = &SHIFTS[i];
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

START_TEST(test_shift_equals_the_reference)
{
    KERNELS(k);
    enum { IMAGES = 3 };
    for (size_t i = 0; i < sizeof SHIFTS / sizeof *SHIFTS; i++) {
        const sv_shift_geometry *map = &SHIFTS[i];
        const plain_shift shape = {IMAGES,     map->height, map->width, map->channels,
                                   map->group, map->pixels, map->crop};
        const size_t tokens = IMAGES * map->height * map->width, count = tokens * map->channels;
        float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
        double *in = malloc(count * sizeof *in), *wanted = malloc(count * sizeof *wanted);
        fill(x, count, 3);
        for (size_t at = 0; at < count; at++)
            in[at] = x[at];
        shift_all(k, y, x, map, tokens, 0);
        plain_shift_forward(wanted, in, &shape);
        for (size_t at = 0; at < count; at++)
            ck_assert_double_eq(y[at], wanted[at]);
        free(x);
        free(y);
        free(in);
        free(wanted);
    }
}
END_TEST

/* SAME padding after the map, SAME padding on both sides, and VALID padding that drops pixels; then
 * overlapping patches of stride 1 and 2. */
static const sv_patch_geometry PATCHES[] = {
    {5, 7, 6, 3, 4, 2, 0, 0, 2}, {33, 10, 3, 9, 3, 4, 1, 1, 4}, {9, 11, 5, 2, 2, 4, 0, 0, 4},
    {2, 2, 3, 1, 1, 5, 1, 1, 5}, {5, 6, 19, 5, 6, 3, 1, 1, 1},  {5, 6, 3, 3, 3, 3, 1, 1, 2},
    {1, 2, 5, 1, 1, 3, 1, 1, 2}};

START_TEST(test_patch_gather_and_scatter_are_adjoint)
{
    KERNELS(k);
    for (size_t i = 0; i < sizeof PATCHES / sizeof *PATCHES; i++) {
        const sv_patch_geometry *map = &PATCHES[i];
        size_t n = 2, pixels = n * map->height * map->width * map->channels;
        size_t tokens = n * map->rows * map->columns;
        size_t rows = tokens * map->size * map->size * map->channels;
        float *x = malloc(pixels * 4), *ax = malloc(rows * 4), *y = malloc(rows * 4),
              *ay = calloc(pixels, 4);
        fill(x, pixels, 4);
        fill(y, rows, 5);
        k->patch_gather(ax, x, map, 0, tokens);
        if (map->stride == map->size)
            k->patch_scatter(ay, y, map, 0, tokens);
        else
            k->patch_scatter_add(ay, y, map, 0, tokens);
        /* Overlapping patches add up to nine values in float32. */
        double rounding = map->stride == map->size ? 1e-12 : 1e-9;
        ck_assert_double_le(fabs(dot(ax, y, rows) - dot(x, ay, pixels)), rounding * (double)rows);
        free(x);
        free(ax);
        free(y);
        free(ay);
    }
}
END_TEST

/* Both orders of copies, 1 to 17 channels, images one to four patches wide. The arrays have exactly
 * the size of a few tokens. */
static const sv_patch_geometry SHIFTED[] = {
    {8, 2, 1, 4, 1, 2, 0, 0, 2},   {8, 4, 2, 4, 2, 2, 0, 0, 2},    {8, 6, 3, 4, 3, 2, 0, 0, 2},
    {16, 12, 3, 4, 3, 4, 0, 0, 4}, {24, 24, 3, 4, 4, 6, 0, 0, 6},  {16, 16, 4, 4, 4, 4, 0, 0, 4},
    {4, 16, 3, 1, 4, 4, 0, 0, 4},  {24, 18, 17, 4, 3, 6, 0, 0, 6}, {12, 12, 3, 4, 4, 3, 0, 0, 3},
    {15, 20, 3, 3, 4, 5, 0, 0, 5}, {3, 4, 2, 3, 4, 1, 0, 0, 1},
};

START_TEST(test_shifted_patches_are_those_of_the_image)
{
    KERNELS(k);
    enum { IMAGES = 2, SOME = 5 };
    for (size_t i = 0; i < sizeof SHIFTED / sizeof *SHIFTED; i++)
        for (int order = 0; order < 2; order++) {
            const sv_patch_geometry *map = &SHIFTED[i];
            size_t image = map->height * map->width * map->channels;
            size_t tokens = IMAGES * map->rows * map->columns;
            size_t row = 5 * map->size * map->size * map->channels;
            float *x = malloc(IMAGES * image * 4), *wanted = malloc(tokens * row * 4);
            fill(x, IMAGES * image, 5);
            for (size_t n = 0; n < IMAGES; n++)
                ck_assert_int_eq(svit_patches_f32(x + n * image, map->height, map->width,
                                                  map->channels, (uint32_t)map->size, 1,
                                                  order ? SVIT_SPT_PAPER : SVIT_SPT_KERAS,
                                                  wanted + n * 5 * image, NULL),
                                 SVIT_OK);
            for (size_t first = 0; first < tokens; first += SOME) {
                size_t here = tokens - first < SOME ? tokens - first : SOME;
                float *y = malloc(here * row * 4);
                k->shifted_patches(y, x, map, order, first, here);
                ck_assert_mem_eq(y, wanted + first * row, here * row * 4);
                free(y);
            }
            free(x);
            free(wanted);
        }
}
END_TEST

START_TEST(test_shifted_patches_and_their_sum_are_adjoint)
{
    KERNELS(k);
    enum { IMAGES = 2 };
    for (size_t i = 0; i < sizeof SHIFTED / sizeof *SHIFTED; i++)
        for (int order = 0; order < 2; order++) {
            const sv_patch_geometry *map = &SHIFTED[i];
            size_t pixels = IMAGES * map->height * map->width * map->channels;
            size_t tokens = IMAGES * map->rows * map->columns, some = tokens / 3;
            size_t row = 5 * map->size * map->size * map->channels, rows = tokens * row;
            float *x = malloc(pixels * 4), *ax = malloc(rows * 4), *y = malloc(rows * 4),
                  *ay = calloc(pixels, 4);
            fill(x, pixels, 6);
            fill(y, rows, 7);
            for (size_t j = 0; j < rows; j++) /* so that sums are exact in float32 */
                y[j] = roundf(y[j] * 256);
            k->shifted_patches(ax, x, map, order, 0, tokens);
            k->shifted_patches_add(ay, y, map, order, 0, some);
            k->shifted_patches_add(ay, y + some * row, map, order, some, tokens - some);
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

/* The dropout word of a number by the scalar generator: bit b of word (k, c) is bit b % 8 of Philox
 * block (k C + c, b / 8). */
static uint32_t dropout_word(const sv_mask_source *source, uint32_t number)
{
    uint32_t word = 0;
    for (uint32_t bit = 0; bit < 32; bit++) {
        uint32_t out[4], counter[4] = {number, source->counter[0] + bit / 8, source->counter[1],
                                       source->counter[2]};
        sv_philox(out, counter, source->key);
        uint32_t half = out[bit % 8 / 2] >> (bit % 2 ? 16 : 0) & 0xFFFF;
        word |= (uint32_t)(half >= source->threshold) << bit;
    }
    return word;
}

START_TEST(test_dropout_bits_are_philox_bits_by_position)
{
    KERNELS(k);
    enum { MOST = 37, BLOCKS = 5 };
    const sv_mask_source sources[] = {{{12, 34}, {8, 5, 6}, 13107},
                                      {{0xFFFFFFFF, 0xFFFFFFFE}, {0xFFFFFFFC, ~0u, ~0u}, 32768},
                                      {{1, 0x80000000}, {4, 0, 1}, 0},
                                      {{2, 3}, {0, 1, 2}, 1},
                                      {{4, 5}, {0, 1, 2}, 65535}};
    const size_t channels[] = {1, 2, 3, 5, 7, 8, 9, 16, MOST};
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++)
        for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
            size_t c = channels[i];
            uint32_t words[BLOCKS * MOST + 1], part[2 * MOST];
            words[BLOCKS * c] = 0x5A5A5A5A;
            k->dropout_mask(words, &sources[s], 0, BLOCKS, c);
            ck_assert_uint_eq(words[BLOCKS * c], 0x5A5A5A5A);
            for (uint32_t w = 0; w < BLOCKS * c; w++)
                ck_assert_uint_eq(words[w], dropout_word(&sources[s], w));
            k->dropout_mask(part, &sources[s], 2, 2, c);
            ck_assert_mem_eq(part, words + 2 * c, 2 * c * sizeof *words);
        }
}
END_TEST

START_TEST(test_dropout_keeps_its_rate)
{
    KERNELS(k);
    enum { WORDS = 185 };
    const sv_mask_source source = {{12, 34}, {8, 5, 6}, 13107};
    uint32_t words[WORDS], kept = 0;
    k->dropout_mask(words, &source, 0, 1, WORDS);
    for (size_t bit = 0; bit < 32 * WORDS; bit++)
        kept += words[bit / 32] >> bit % 32 & 1;
    ck_assert_double_lt(fabs((double)kept / (WORDS * 32) - 0.8),
                        0.0156); /* 3 standard deviations */
}
END_TEST

enum { QUERIES = 11, MAX_KEYS = 145 };

typedef struct softmax_case {
    size_t columns;
    int masked, dropout;
} softmax_case;

static const softmax_case SOFTMAX[] = {{1, 0, 0},   {1, 1, 0},   {16, 1, 1}, {17, 0, 1},
                                       {20, 1, 0},  {65, 1, 1},  {65, 0, 0}, {144, 1, 1},
                                       {144, 0, 1}, {145, 0, 1}, {145, 1, 0}};

static sv_attention_rows softmax_rows(const softmax_case *c, const uint32_t *mask)
{
    return (sv_attention_rows){.rows = QUERIES,
                               .columns = c->columns,
                               .first_row = 27,
                               .scale = -7.5f,
                               .masked = c->masked,
                               .mask = c->dropout ? mask : NULL,
                               .keep = 1.25f};
}

/* Returns the factor by which dropout multiplies weight (row, i). */
static double dropout_factor(const sv_attention_rows *call, size_t row, size_t i)
{
    size_t query = call->first_row + row;
    if (!call->mask)
        return 1;
    return call->mask[query / 32 * call->columns + i] >> query % 32 & 1 ? (double)call->keep : 0;
}

static double weight(const sv_attention_rows *call, const float *scores, size_t row, size_t i)
{
    size_t masked = call->masked ? call->first_row + row : call->columns;
    double sum = 0;
    for (size_t j = 0; j < call->columns; j++)
        if (j != masked)
            sum += exp((double)call->scale * ((double)scores[j] - scores[i]));
    return i == masked ? 0 : 1 / sum;
}

/* Exponents to base 2 reach 22, so the relative error of a weight may be 2e-6. */
START_TEST(test_softmax_and_its_backward_follow_their_formulas)
{
    KERNELS(k);
    static float scores[QUERIES * MAX_KEYS], dp[QUERIES * MAX_KEYS];
    static float p[QUERIES * MAX_KEYS], dropped[QUERIES * MAX_KEYS], ds[QUERIES * MAX_KEYS];
    uint32_t mask[2 * MAX_KEYS];
    const sv_mask_source source = {{1, 2}, {4, 5, 6}, 13107};
    for (size_t at = 0; at < sizeof SOFTMAX / sizeof *SOFTMAX; at++) {
        size_t columns = SOFTMAX[at].columns;
        const sv_attention_rows call = softmax_rows(&SOFTMAX[at], mask);
        fill(scores, QUERIES * columns, 8);
        fill(dp, QUERIES * columns, 9);
        k->dropout_mask(mask, &source, 0, 2, columns);
        k->attention_softmax(p, call.mask ? dropped : p, scores, &call);
        double wanted_dscale = 0;
        double dscale =
            k->attention_softmax_backward(ds, p, call.mask ? dropped : p, dp, scores, &call);
        for (size_t r = 0; r < QUERIES; r++) {
            const float *s = scores + r * columns;
            double mean = 0;
            for (size_t i = 0; i < columns; i++)
                mean += dropout_factor(&call, r, i) * dp[r * columns + i] * weight(&call, s, r, i);
            for (size_t i = 0; i < columns; i++) {
                double w = weight(&call, s, r, i), factor = dropout_factor(&call, r, i);
                double d = w * (factor * dp[r * columns + i] - mean);
                size_t e = r * columns + i;
                ck_assert_double_le(fabs(p[e] - w), 4e-6 * w);
                if (call.mask)
                    ck_assert_double_le(fabs(dropped[e] - factor * w), 4e-6 * factor * w);
                ck_assert_double_le(fabs(ds[e] - call.scale * d), 8e-5 * w);
                wanted_dscale += d * s[i];
            }
        }
        ck_assert_double_le(fabs(dscale - wanted_dscale), 1e-5);
    }
}
END_TEST

/* From the saved row_max and inv_row_sum the softmax is recomputed with the same bits, and an
 * unscaled softmax can be scaled later. */
START_TEST(test_softmax_is_recomputed_with_the_same_bits)
{
    KERNELS(k);
    static float scores[QUERIES * MAX_KEYS], p[QUERIES * MAX_KEYS], dropped[QUERIES * MAX_KEYS];
    static float p2[QUERIES * MAX_KEYS], dropped2[QUERIES * MAX_KEYS];
    float most[27 + QUERIES], share[27 + QUERIES];
    uint32_t mask[2 * MAX_KEYS];
    memset(mask, 0xA7, sizeof mask);
    for (size_t at = 0; at < sizeof SOFTMAX / sizeof *SOFTMAX; at++) {
        size_t columns = SOFTMAX[at].columns, bytes = QUERIES * columns * sizeof(float);
        sv_attention_rows call = softmax_rows(&SOFTMAX[at], mask);
        call.row_max = most;
        call.inv_row_sum = share;
        fill(scores, QUERIES * columns, 12);
        k->attention_softmax(p, call.mask ? dropped : p, scores, &call);
        k->attention_softmax_recompute(p2, call.mask ? dropped2 : p2, scores, &call);
        ck_assert_mem_eq(p2, p, bytes);
        if (call.mask)
            ck_assert_mem_eq(dropped2, dropped, bytes);
        call.mask = NULL;
        call.unscaled = 1;
        k->attention_softmax(p2, p2, scores, &call);
        for (size_t i = 0; i < QUERIES * columns; i++)
            ck_assert_float_eq(p2[i] * share[27 + i / columns], p[i]);
    }
}
END_TEST

/* y = x + path (bias + sum of the heads' rows by their factors), with and without bias and factors.
 */
START_TEST(test_sum_of_heads_follows_its_formula)
{
    KERNELS(k);
    enum { HEADS = 3, TOKENS = 9, ROWS = 5, MOST = 21 };
    static const size_t widths[] = {1, 16, 21};
    float o[ROWS * HEADS * MOST], x[ROWS * MOST], y[ROWS * MOST], bias[MOST], share[HEADS * TOKENS];
    for (size_t at = 0; at < 4 * sizeof widths / sizeof *widths; at++) {
        size_t c = widths[at / 4];
        fill(o, ROWS * HEADS * c, 13);
        fill(x, ROWS * c, 14);
        fill(bias, c, 15);
        fill(share, HEADS * TOKENS, 16);
        sv_head_sum sum = {
            o, at & 1 ? bias : NULL, at & 2 ? share : NULL, 1.5f, HEADS, TOKENS, ROWS, c};
        k->attention_sum(y, x, &sum);
        for (size_t i = 0; i < ROWS * c; i++) {
            double wanted = sum.bias ? bias[i % c] : 0;
            for (size_t head = 0; head < HEADS; head++)
                wanted += (sum.inv_row_sum ? (double)share[head * TOKENS + i / c] : 1) *
                          o[(i / c * HEADS + head) * c + i % c];
            wanted = x[i] + (double)sum.drop_path_scale * wanted;
            ck_assert_double_le(fabs(y[i] - wanted), 2e-6);
        }
    }
}
END_TEST

/* A row of the softmax has the same bits alone, among other rows, and in place. */
START_TEST(test_a_row_of_softmax_has_the_same_bits_alone)
{
    KERNELS(k);
    static float scores[QUERIES * MAX_KEYS], together[QUERIES * MAX_KEYS];
    static float alone[MAX_KEYS], dp[QUERIES * MAX_KEYS], ds_alone[MAX_KEYS];
    for (size_t at = 0; at < sizeof SOFTMAX / sizeof *SOFTMAX; at++) {
        size_t columns = SOFTMAX[at].columns, bytes = columns * sizeof(float);
        uint32_t mask[2 * MAX_KEYS];
        memset(mask, 0xA7, sizeof mask);
        sv_attention_rows call = softmax_rows(&SOFTMAX[at], mask);
        fill(scores, QUERIES * columns, 10);
        fill(dp, QUERIES * columns, 11);
        k->attention_softmax(together, together, scores, &call);
        float ds[QUERIES * MAX_KEYS];
        k->attention_softmax_backward(ds, together, together, dp, scores, &call);
        call.rows = 1;
        for (size_t r = 0; r < QUERIES; r++, call.first_row++) {
            memcpy(alone, scores + r * columns, bytes);
            k->attention_softmax(alone, alone, alone, &call);
            ck_assert_mem_eq(alone, together + r * columns, bytes);
            memcpy(ds_alone, dp + r * columns, bytes);
            k->attention_softmax_backward(ds_alone, alone, alone, ds_alone, scores + r * columns,
                                          &call);
            ck_assert_mem_eq(ds_alone, ds + r * columns, bytes);
        }
    }
}
END_TEST

/* Layer norm computes several rows at once, and a row has the same bits alone. */
START_TEST(test_a_row_of_layer_norm_has_the_same_bits_alone)
{
    KERNELS(k);
    enum { TOKENS = 11, WIDTH = 53 };
    float x[TOKENS * WIDTH], y[TOKENS * WIDTH], weight[WIDTH], bias[WIDTH];
    fill(x, TOKENS * WIDTH, 1);
    fill(weight, WIDTH, 2);
    fill(bias, WIDTH, 3);
    for (size_t tokens = 1; tokens <= TOKENS; tokens++) {
        float mean[TOKENS], rstd[TOKENS];
        memset(y, 0, sizeof y);
        k->layer_norm(y, mean, rstd, x, weight, bias, tokens, WIDTH, 1e-5f);
        for (size_t t = 0; t < tokens; t++) {
            float row[WIDTH], m, s;
            k->layer_norm(row, &m, &s, x + t * WIDTH, weight, bias, 1, WIDTH, 1e-5f);
            ck_assert_mem_eq(y + t * WIDTH, row, sizeof row);
            ck_assert(m == mean[t] && s == rstd[t]);
        }
        for (size_t i = tokens * WIDTH; i < TOKENS * WIDTH; i++)
            ck_assert(y[i] == 0);
    }
}
END_TEST

/* Sides around vectors; exactly as many elements as the matrices have. */
START_TEST(test_transpose_exchanges_rows_and_columns)
{
    KERNELS(k);
    static const size_t sides[] = {1, 2, 3, 7, 8, 15, 16, 17, 33, 64};
    enum { SIDES = sizeof sides / sizeof *sides };
    for (size_t i = 0; i < SIDES * SIDES; i++) {
        const size_t rows = sides[i / SIDES], columns = sides[i % SIDES];
        float *x = malloc(rows * columns * sizeof *x), *y = malloc(rows * columns * sizeof *y);
        fill(x, rows * columns, i);
        k->transpose(y, x, rows, columns);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++)
                ck_assert_float_eq(y[c * rows + r], x[r * columns + c]);
        free(x);
        free(y);
    }
}
END_TEST

static Suite *kernels_suite(void)
{
    Suite *suite = suite_create("kernels");
    TCase *all = tcase_create("properties");
    tcase_add_loop_test(all, test_shift_and_its_backward_are_adjoint, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_shift_equals_the_reference, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_patch_gather_and_scatter_are_adjoint, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_shifted_patches_are_those_of_the_image, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_shifted_patches_and_their_sum_are_adjoint, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_transpose_exchanges_rows_and_columns, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_mean_and_its_backward_are_adjoint, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_dropout_bits_are_philox_bits_by_position, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_dropout_keeps_its_rate, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_softmax_and_its_backward_follow_their_formulas, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_softmax_is_recomputed_with_the_same_bits, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_sum_of_heads_follows_its_formula, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_a_row_of_softmax_has_the_same_bits_alone, 0, ISA_COUNT);
    tcase_add_loop_test(all, test_a_row_of_layer_norm_has_the_same_bits_alone, 0, ISA_COUNT);
    suite_add_tcase(suite, all);
    return suite;
}

TEST_MAIN(kernels_suite)
