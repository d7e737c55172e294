/* Errors of sums and products: residuals, additions, averages, depthwise convolutions, and patches
 * that overlap. */
#include "rows.h"

#include "base/threads/fp_env.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TOKENS = 40, WIDTH = 53, ELEMENTS = TOKENS * WIDTH, IMAGE_TOKENS = 10 };
enum { WORDS = (TOKENS / 32 + 1) * WIDTH };
#define KEEP_SCALE 1.1111112f

static const sv_rows WHOLE = {0, TOKENS, WIDTH, WIDTH};
static const float PATH[TOKENS / IMAGE_TOKENS] = {1.3f, 0, 0.7f, 1};

static long double branch_factor(const uint32_t *words, size_t i)
{
    size_t token = i / WIDTH;
    long double keep = words[token / 32 * WIDTH + i % WIDTH] >> token % 32 & 1;
    return keep * KEEP_SCALE * PATH[token / IMAGE_TOKENS];
}

static void run_residual(numbers_errors *errors, const sv_kernels *k)
{
    static float x[ELEMENTS], branch[ELEMENTS], y[ELEMENTS];
    static uint32_t words[WORDS];
    numbers_fill(errors, x, ELEMENTS);
    numbers_fill(errors, branch, ELEMENTS);
    numbers_fill_words(errors, words, WORDS);
    const sv_dropout dropout = {words, KEEP_SCALE};
    NUMBERS_CALL(k->residual(y, x, branch, dropout, PATH, IMAGE_TOKENS, WHOLE));
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double term = branch_factor(words, i) * numbers_in(branch[i]);
        numbers_see(errors, y[i], numbers_in(x[i]) + term, fabsl(numbers_in(x[i])) + fabsl(term),
                    "y", i);
    }
}

static void run_residual_backward(numbers_errors *errors, const sv_kernels *k)
{
    static float dy[ELEMENTS], dbranch[ELEMENTS];
    static uint32_t words[WORDS];
    numbers_fill(errors, dy, ELEMENTS);
    numbers_fill_words(errors, words, WORDS);
    const sv_dropout dropout = {words, KEEP_SCALE};
    NUMBERS_CALL(k->residual_backward(dbranch, dy, dropout, PATH, IMAGE_TOKENS, WHOLE));
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double wanted = branch_factor(words, i) * numbers_in(dy[i]);
        numbers_see(errors, dbranch[i], wanted, fabsl(wanted), "dbranch", i);
    }
}

static void run_add_rows(numbers_errors *errors, const sv_kernels *k)
{
    static float x[ELEMENTS], sum[WIDTH], before[WIDTH];
    numbers_fill(errors, x, ELEMENTS);
    numbers_fill(errors, before, WIDTH);
    memcpy(sum, before, sizeof sum);
    NUMBERS_CALL(k->add_rows(sum, x, TOKENS, WIDTH));
    for (size_t c = 0; c < WIDTH; c++) {
        long double wanted = numbers_in(before[c]), terms = fabsl(wanted);
        for (size_t r = 0; r < TOKENS; r++) {
            wanted += numbers_in(x[r * WIDTH + c]);
            terms += fabsl(numbers_in(x[r * WIDTH + c]));
        }
        numbers_see(errors, sum[c], wanted, terms, "sum", c);
    }
}

static void run_add(numbers_errors *errors, const sv_kernels *k)
{
    static float x[ELEMENTS], y[ELEMENTS], before[ELEMENTS];
    numbers_fill(errors, x, ELEMENTS);
    numbers_fill(errors, before, ELEMENTS);
    memcpy(y, before, sizeof y);
    NUMBERS_CALL(k->add(y, x, ELEMENTS));
    for (size_t i = 0; i < ELEMENTS; i++) {
        long double wanted = numbers_in(before[i]) + numbers_in(x[i]);
        numbers_see(errors, y[i], wanted, fabsl(wanted), "y", i);
    }
}

static void run_scale(numbers_errors *errors, const sv_kernels *k)
{
    static const float factors[] = {0.3333333f, -3e18f, 3e-18f};
    static float x[ELEMENTS], y[ELEMENTS];
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        numbers_fill(errors, x, ELEMENTS);
        memcpy(y, x, sizeof y);
        NUMBERS_CALL(k->scale(y, factors[f], ELEMENTS));
        for (size_t i = 0; i < ELEMENTS; i++) {
            long double wanted = numbers_in(x[i]) * factors[f];
            numbers_see(errors, y[i], wanted, fabsl(wanted), "y", i);
        }
    }
}

static void run_subtract_scaled(numbers_errors *errors, const sv_kernels *k)
{
    static float x[ELEMENTS], y[ELEMENTS], before[ELEMENTS];
    const float factor = 0.3333333f;
    numbers_fill(errors, x, ELEMENTS);
    numbers_fill(errors, y, ELEMENTS);
    memcpy(before, y, sizeof before);
    NUMBERS_CALL(k->subtract_scaled(y, x, factor, ELEMENTS));
    for (size_t i = 0; i < ELEMENTS; i++) {
        const long double product = numbers_in(x[i]) * factor;
        numbers_see(errors, y[i], numbers_in(before[i]) - product,
                    fabsl(numbers_in(before[i])) + fabsl(product), "y", i);
    }
}

static void run_dots(numbers_errors *errors, const sv_kernels *k)
{
    static float a[ELEMENTS], x[WIDTH], got[TOKENS];
    numbers_fill(errors, a, ELEMENTS);
    numbers_fill_between(errors, x, WIDTH, -1, 1);
    NUMBERS_CALL(k->dots(got, x, a, TOKENS, WIDTH));
    for (size_t r = 0; r < TOKENS; r++) {
        long double wanted = 0, terms = 0;
        for (size_t c = 0; c < WIDTH; c++) {
            const long double term = numbers_in(a[r * WIDTH + c]) * numbers_in(x[c]);
            wanted += term;
            terms += fabsl(term);
        }
        numbers_see(errors, got[r], wanted, terms, "sum", r);
    }
}

static void run_square_distances(numbers_errors *errors, const sv_kernels *k)
{
    static float a[ELEMENTS], x[WIDTH], got[TOKENS];
    numbers_fill_between(errors, a, ELEMENTS, -1, 1);
    numbers_fill_between(errors, x, WIDTH, -1, 1);
    NUMBERS_CALL(k->square_distances(got, x, a, TOKENS, WIDTH));
    for (size_t r = 0; r < TOKENS; r++) {
        long double wanted = 0;
        for (size_t c = 0; c < WIDTH; c++) {
            const long double d = numbers_in(a[r * WIDTH + c]) - numbers_in(x[c]);
            wanted += d * d;
        }
        numbers_see(errors, got[r], wanted, wanted, "sum", r);
    }
}

enum { HEIGHT = 5, COLUMNS = 7, MAP = HEIGHT * COLUMNS, TAPS = 9 };
static const sv_depthwise_geometry GEOMETRY = {HEIGHT, COLUMNS, WIDTH};

/* The token that a tap of a token reads; MAP outside the map. */
static size_t tap_token(size_t token, size_t tap)
{
    size_t row = token / COLUMNS + tap / 3, column = token % COLUMNS + tap % 3;
    if (row < 1 || row > HEIGHT || column < 1 || column > COLUMNS)
        return MAP;
    return (row - 1) * COLUMNS + column - 1;
}

static void run_depthwise(numbers_errors *errors, const sv_kernels *k)
{
    static float x[MAP * WIDTH], y[MAP * WIDTH], weight[TAPS * WIDTH], bias[WIDTH];
    numbers_fill(errors, x, MAP * WIDTH);
    numbers_fill(errors, weight, TAPS * WIDTH);
    numbers_fill(errors, bias, WIDTH);
    errors->floor = 2 * TAPS * (double)FLT_MIN;
    NUMBERS_CALL(k->depthwise(y, x, weight, bias, &GEOMETRY));
    for (size_t i = 0; i < MAP * WIDTH; i++) {
        size_t c = i % WIDTH;
        long double wanted = numbers_in(bias[c]), terms = fabsl(wanted);
        for (size_t tap = 0; tap < TAPS; tap++) {
            size_t from = tap_token(i / WIDTH, tap);
            long double term =
                from == MAP ? 0
                            : numbers_in(weight[tap * WIDTH + c]) * numbers_in(x[from * WIDTH + c]);
            wanted += term;
            terms += fabsl(term);
        }
        numbers_see(errors, y[i], wanted, terms, "y", i);
    }
}

static void run_depthwise_weight_gradient(numbers_errors *errors, const sv_kernels *k)
{
    static float x[MAP * WIDTH], dy[MAP * WIDTH], dweight[TAPS * WIDTH], before[TAPS * WIDTH];
    numbers_fill(errors, x, MAP * WIDTH);
    numbers_fill(errors, dy, MAP * WIDTH);
    numbers_fill(errors, before, TAPS * WIDTH);
    memcpy(dweight, before, sizeof dweight);
    errors->floor = 2 * MAP * (double)FLT_MIN;
    NUMBERS_CALL(k->depthwise_weight_gradient(dweight, dy, x, &GEOMETRY));
    for (size_t i = 0; i < TAPS * WIDTH; i++) {
        long double wanted = numbers_in(before[i]), terms = fabsl(wanted);
        for (size_t token = 0; token < MAP; token++) {
            size_t from = tap_token(token, i / WIDTH), c = i % WIDTH;
            long double term =
                from == MAP ? 0
                            : numbers_in(dy[token * WIDTH + c]) * numbers_in(x[from * WIDTH + c]);
            wanted += term;
            terms += fabsl(term);
        }
        numbers_see(errors, dweight[i], wanted, terms, "dweight", i);
    }
}

enum { IMAGES = TOKENS / IMAGE_TOKENS };

static void run_mean_tokens(numbers_errors *errors, const sv_kernels *k)
{
    static float x[ELEMENTS], y[IMAGES * WIDTH];
    numbers_fill(errors, x, ELEMENTS);
    NUMBERS_CALL(k->mean_tokens(y, x, IMAGES, IMAGE_TOKENS, WIDTH));
    for (size_t i = 0; i < IMAGES * WIDTH; i++) {
        long double wanted = 0, terms = 0;
        for (size_t t = 0; t < IMAGE_TOKENS; t++) {
            long double v = numbers_in(x[(i / WIDTH * IMAGE_TOKENS + t) * WIDTH + i % WIDTH]);
            wanted += v / IMAGE_TOKENS;
            terms += fabsl(v) / IMAGE_TOKENS;
        }
        numbers_see(errors, y[i], wanted, terms, "y", i);
    }
}

static void run_mean_tokens_backward(numbers_errors *errors, const sv_kernels *k)
{
    static float dx[ELEMENTS], dy[IMAGES * WIDTH];
    numbers_fill(errors, dy, IMAGES * WIDTH);
    NUMBERS_CALL(k->mean_tokens_backward(dx, dy, IMAGES, IMAGE_TOKENS, WIDTH));
    for (size_t i = 0; i < ELEMENTS; i++) {
        size_t image = i / WIDTH / IMAGE_TOKENS;
        long double wanted = numbers_in(dy[image * WIDTH + i % WIDTH]) / IMAGE_TOKENS;
        numbers_see(errors, dx[i], wanted, fabsl(wanted), "dx", i);
    }
}

/* Overlapping patches of 3 pixels, stride 1, on 2 images of 5 x 6 pixels: each pixel is in up to
 * nine patches. */
static const sv_patch_geometry OVERLAPPING = {5, 6, 4, 5, 6, 3, 1, 1, 1};
enum { PIXELS = 2 * 5 * 6 * 4, PATCH_TOKENS = 2 * 5 * 6, PATCH = 3 * 3 * 4 };

static void run_patch_scatter_add(numbers_errors *errors, const sv_kernels *k)
{
    static float dx[PIXELS], before[PIXELS], dy[PATCH_TOKENS * PATCH];
    static long double wanted[PIXELS], terms[PIXELS];
    numbers_fill(errors, before, PIXELS);
    numbers_fill(errors, dy, PATCH_TOKENS * PATCH);
    memcpy(dx, before, sizeof dx);
    NUMBERS_CALL(k->patch_scatter_add(dx, dy, &OVERLAPPING, 0, PATCH_TOKENS));
    for (size_t i = 0; i < PIXELS; i++) {
        wanted[i] = numbers_in(before[i]);
        terms[i] = fabsl(wanted[i]);
    }
    for (size_t i = 0; i < PATCH_TOKENS * PATCH; i++) {
        size_t token = i / PATCH, line = i / 12 % 3, column = i / 4 % 3;
        size_t y = token % 30 / 6 + line, x = token % 6 + column;
        if (y < 1 || y > 5 || x < 1 || x > 6)
            continue;
        size_t at = ((token / 30 * 5 + y - 1) * 6 + x - 1) * 4 + i % 4;
        wanted[at] += numbers_in(dy[i]);
        terms[at] += fabsl(numbers_in(dy[i]));
    }
    for (size_t i = 0; i < PIXELS; i++)
        numbers_see(errors, dx[i], wanted[i], terms[i], "dx", i);
}

/* Patches of 4 pixels of 2 images of 8 x 12 pixels, and their four shifted copies. */
static const sv_patch_geometry SHIFTED = {8, 12, 3, 2, 3, 4, 0, 0, 4};
enum { SHIFTED_PIXELS = 2 * 8 * 12 * 3, SHIFTED_TOKENS = 2 * 6, SHIFTED_PATCH = 16 * 5 * 3 };

static void run_shifted_patches_add(numbers_errors *errors, const sv_kernels *k)
{
    static float dx[SHIFTED_PIXELS], before[SHIFTED_PIXELS], dy[SHIFTED_TOKENS * SHIFTED_PATCH];
    static long double wanted[SHIFTED_PIXELS], terms[SHIFTED_PIXELS];
    for (int order = 0; order < 2; order++) {
        numbers_fill(errors, before, SHIFTED_PIXELS);
        numbers_fill(errors, dy, SHIFTED_TOKENS * SHIFTED_PATCH);
        memcpy(dx, before, sizeof dx);
        NUMBERS_CALL(k->shifted_patches_add(dx, dy, &SHIFTED, order, 0, SHIFTED_TOKENS));
        for (size_t i = 0; i < SHIFTED_PIXELS; i++) {
            wanted[i] = numbers_in(before[i]);
            terms[i] = fabsl(wanted[i]);
        }
        for (size_t i = 0; i < SHIFTED_TOKENS * SHIFTED_PATCH; i++) {
            size_t token = i / SHIFTED_PATCH, pixel = i % SHIFTED_PATCH / 15, copy = i % 15 / 3;
            int y = (int)(token % 6 / 3 * 4 + pixel / 4) + 2 * SV_COPY_SHIFTS[order][copy][0];
            int x = (int)(token % 3 * 4 + pixel % 4) + 2 * SV_COPY_SHIFTS[order][copy][1];
            if (y < 0 || y >= 8 || x < 0 || x >= 12)
                continue;
            size_t at = ((token / 6 * 8 + (size_t)y) * 12 + (size_t)x) * 3 + i % 3;
            wanted[at] += numbers_in(dy[i]);
            terms[at] += fabsl(numbers_in(dy[i]));
        }
        for (size_t i = 0; i < SHIFTED_PIXELS; i++)
            numbers_see(errors, dx[i], wanted[i], terms[i], "dx", i);
    }
}

static const numbers_row ROWS[] = {
    {"residual", NUMBERS_ALL, NUMBERS_TERMS, 2, "3 roundings of half an ulp", run_residual, 0, 0},
    {"residual_backward", NUMBERS_ALL, NUMBERS_VALUE, 1.5, "2 roundings", run_residual_backward, 0,
     0},
    {"add_rows", NUMBERS_ALL, NUMBERS_TERMS, TOKENS, "40 additions", run_add_rows, 0, 0},
    {"add", NUMBERS_ALL, NUMBERS_VALUE, 0.50001, "1 rounding", run_add, 0, 0},
    {"scale", NUMBERS_ALL, NUMBERS_VALUE, 0.50001, "1 rounding", run_scale, 0, 0},
    {"subtract_scaled", NUMBERS_ALL, NUMBERS_TERMS, 2, "a product and a difference",
     run_subtract_scaled, 0, 0},
    {"dots", NUMBERS_ALL, NUMBERS_TERMS, WIDTH / 16 + 20, "sums in 16 lanes and of 15 elements",
     run_dots, 0, 0},
    {"square_distances", NUMBERS_ALL, NUMBERS_TERMS, WIDTH / 16 + 22,
     "sums in 16 lanes and of 15 elements, of squares of differences", run_square_distances, 0, 0},
    {"depthwise", NUMBERS_ALL, NUMBERS_TERMS, 10, "9 multiply-adds of up to 2 roundings",
     run_depthwise, 0, 0},
    {"depthwise_weight_gradient", NUMBERS_ALL, NUMBERS_TERMS, MAP + 1, "35 multiply-adds",
     run_depthwise_weight_gradient, 0, 0},
    {"mean_tokens", NUMBERS_ALL, NUMBERS_TERMS, IMAGE_TOKENS + 2,
     "10 additions, a reciprocal and a product", run_mean_tokens, 0, 0},
    {"mean_tokens_backward", NUMBERS_ALL, NUMBERS_VALUE, 1.5, "a reciprocal and a product",
     run_mean_tokens_backward, 0, 0},
    {"patch_scatter_add", NUMBERS_ALL, NUMBERS_TERMS, 9, "9 additions", run_patch_scatter_add, 0,
     0},
    {"shifted_patches_add", NUMBERS_ALL, NUMBERS_TERMS, 5, "5 additions", run_shifted_patches_add,
     0, 0},
};

NUMBERS_ROWS(numbers_sums, ROWS);
