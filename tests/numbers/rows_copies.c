/* Kernels that copy, and dropout masks: their results have the same bits as the references'. */
#include "rows.h"

#include "base/numbers/random.h"
#include "base/threads/fp_env.h"

#include <string.h>

/* The inputs of copies are any bits, NaN and infinities included. */
static void fill_bits(numbers_errors *errors, float *x, size_t count)
{
    uint32_t word;
    for (size_t i = 0; i < count; i++) {
        numbers_fill_words(errors, &word, 1);
        memcpy(&x[i], &word, sizeof word);
    }
}

/* Copies x[from[i]] to y[i] as bits; from[i] NOWHERE is 0. */
#define NOWHERE SIZE_MAX
static void copy_from(float *y, const float *x, const size_t *from, size_t count)
{
    memset(y, 0, count * sizeof *y);
    for (size_t i = 0; i < count; i++)
        if (from[i] != NOWHERE)
            memcpy(&y[i], &x[from[i]], sizeof *y);
}

enum { IMAGES = 2, HEIGHT = 5, WIDTH = 7, CHANNELS = 19, GROUP = 4 };
enum { TOKENS = IMAGES * HEIGHT * WIDTH, MAP = TOKENS * CHANNELS };

/* The index that element i of a shifted batch is copied from. `sign` -1: the adjoint. */
static size_t shift_source(size_t i, int pixels, int crop, int sign)
{
    static const int steps[][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}};
    size_t channel = i % CHANNELS, token = i / CHANNELS % (HEIGHT * WIDTH);
    if (channel >= 4 * GROUP)
        return i;
    int way = crop ? 1 : sign;
    int row = (int)(token / WIDTH) + way * pixels * steps[channel / GROUP][0];
    int column = (int)(token % WIDTH) + way * pixels * steps[channel / GROUP][1];
    if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH)
        return NOWHERE;
    size_t image = i / CHANNELS / (HEIGHT * WIDTH);
    return crop ? i
                : ((image * HEIGHT + (size_t)row) * WIDTH + (size_t)column) * CHANNELS + channel;
}

static void run_shifts(numbers_errors *errors, const sv_kernels *k, int sign)
{
    static float x[MAP], y[MAP], wanted[MAP];
    static size_t from[MAP];
    for (int crop = 0; crop < 2; crop++)
        for (int pixels = 1; pixels <= 6; pixels += 2) {
            const sv_shift_geometry map = {HEIGHT, WIDTH, CHANNELS, GROUP, (size_t)pixels, crop};
            fill_bits(errors, x, MAP);
            for (size_t i = 0; i < MAP; i++)
                from[i] = shift_source(i, pixels, crop, sign);
            copy_from(wanted, x, from, MAP);
            NUMBERS_CALL((sign > 0 ? k->shift : k->shift_backward)(y, x, &map, 0, TOKENS));
            numbers_see_bits(errors, y, wanted, MAP, "y");
        }
}

static void run_shift(numbers_errors *errors, const sv_kernels *k)
{
    run_shifts(errors, k, 1);
}

static void run_shift_backward(numbers_errors *errors, const sv_kernels *k)
{
    run_shifts(errors, k, -1);
}

static void run_transpose(numbers_errors *errors, const sv_kernels *k)
{
    enum { SIDE = 37 };
    static float x[SIDE * SIDE], y[SIDE * SIDE], wanted[SIDE * SIDE];
    static size_t from[SIDE * SIDE];
    for (size_t rows = 1; rows <= SIDE; rows += 4)
        for (size_t columns = 1; columns <= SIDE; columns += 6) {
            fill_bits(errors, x, rows * columns);
            for (size_t i = 0; i < rows * columns; i++)
                from[i] = i % rows * columns + i / rows;
            copy_from(wanted, x, from, rows * columns);
            NUMBERS_CALL(k->transpose(y, x, rows, columns));
            numbers_see_bits(errors, y, wanted, rows * columns, "y");
        }
}

/* Patches without and with a padding, which drop or add pixels; the last ones overlap. */
static const sv_patch_geometry PATCHES[] = {{5, 7, 6, 3, 4, 2, 0, 0, 2},
                                            {10, 9, 3, 3, 3, 4, 1, 1, 4},
                                            {9, 11, 5, 2, 2, 4, 0, 0, 4},
                                            {5, 6, 19, 5, 6, 3, 1, 1, 1}};
enum { PATCH_MOST = IMAGES * 30 * 9 * 19, PIXEL_MOST = IMAGES * 9 * 11 * 19 };

/* The pixel that element i of the gathered patches is copied from. */
static size_t patch_source(const sv_patch_geometry *p, size_t i)
{
    size_t channel = i % p->channels, at = i / p->channels, column = at % p->size;
    size_t line = at / p->size % p->size, token = at / p->size / p->size;
    size_t y = token / p->columns % p->rows * p->stride + line;
    size_t x = token % p->columns * p->stride + column, image = token / p->columns / p->rows;
    if (y < p->top || y - p->top >= p->height || x < p->left || x - p->left >= p->width)
        return NOWHERE;
    return ((image * p->height + y - p->top) * p->width + x - p->left) * p->channels + channel;
}

static void run_patch_gather(numbers_errors *errors, const sv_kernels *k)
{
    static float x[PIXEL_MOST], y[PATCH_MOST], wanted[PATCH_MOST];
    static size_t from[PATCH_MOST];
    for (size_t g = 0; g < sizeof PATCHES / sizeof *PATCHES; g++) {
        const sv_patch_geometry *p = &PATCHES[g];
        size_t tokens = IMAGES * p->rows * p->columns;
        size_t count = tokens * p->size * p->size * p->channels;
        fill_bits(errors, x, IMAGES * p->height * p->width * p->channels);
        for (size_t i = 0; i < count; i++)
            from[i] = patch_source(p, i);
        copy_from(wanted, x, from, count);
        NUMBERS_CALL(k->patch_gather(y, x, p, 0, tokens));
        numbers_see_bits(errors, y, wanted, count, "y");
    }
}

static void run_patch_scatter(numbers_errors *errors, const sv_kernels *k)
{
    static float dx[PIXEL_MOST], wanted[PIXEL_MOST], dy[PATCH_MOST];
    for (size_t g = 0; PATCHES[g].stride == PATCHES[g].size; g++) {
        const sv_patch_geometry *p = &PATCHES[g];
        size_t tokens = IMAGES * p->rows * p->columns;
        size_t pixels = IMAGES * p->height * p->width * p->channels;
        fill_bits(errors, dx, pixels);
        fill_bits(errors, dy, tokens * p->size * p->size * p->channels);
        memcpy(wanted, dx, sizeof dx);
        for (size_t i = 0; i < tokens * p->size * p->size * p->channels; i++)
            if (patch_source(p, i) != NOWHERE)
                memcpy(&wanted[patch_source(p, i)], &dy[i], sizeof *dy);
        NUMBERS_CALL(k->patch_scatter(dx, dy, p, 0, tokens));
        numbers_see_bits(errors, dx, wanted, pixels, "dx");
    }
}

/* Shifted patches of a side of 4 pixels, of images of 8 x 12 pixels. */
static void run_shifted_patches(numbers_errors *errors, const sv_kernels *k)
{
    enum { MOST_CHANNELS = 4, SHIFTED = IMAGES * 96 * 5 * MOST_CHANNELS };
    static float x[IMAGES * 96 * MOST_CHANNELS], y[SHIFTED], wanted[SHIFTED];
    static size_t from[SHIFTED];
    for (size_t c = 1; c <= MOST_CHANNELS; c++)
        for (int order = 0; order < 2; order++) {
            const sv_patch_geometry map = {8, 12, c, 2, 3, 4, 0, 0, 4};
            fill_bits(errors, x, IMAGES * 96 * c);
            for (size_t i = 0; i < IMAGES * 96 * 5 * c; i++) {
                size_t copy = i / c % 5, pixel = i / c / 5 % 16, token = i / c / 5 / 16;
                const int *shift = SV_COPY_SHIFTS[order][copy];
                int row = (int)(token % 6 / 3 * 4 + pixel / 4) + 2 * shift[0];
                int column = (int)(token % 3 * 4 + pixel % 4) + 2 * shift[1];
                int inside = row >= 0 && row < 8 && column >= 0 && column < 12;
                from[i] =
                    inside ? (token / 6 * 96 + (size_t)(row * 12 + column)) * c + i % c : NOWHERE;
            }
            copy_from(wanted, x, from, IMAGES * 96 * 5 * c);
            NUMBERS_CALL(k->shifted_patches(y, x, &map, order, 0, IMAGES * 6));
            numbers_see_bits(errors, y, wanted, IMAGES * 96 * 5 * c, "y");
        }
}

static void run_dropout_mask(numbers_errors *errors, const sv_kernels *k)
{
    enum { BLOCKS = 5, COLUMNS = 37, WORDS = BLOCKS * COLUMNS };
    const sv_mask_source source = {{12, 34}, {8, 5, 6}, 13107};
    uint32_t words[WORDS], wanted[WORDS] = {0};
    NUMBERS_CALL(k->dropout_mask(words, &source, 0, BLOCKS, COLUMNS));
    for (uint32_t i = 0; i < WORDS; i++)
        for (uint32_t bit = 0; bit < 32; bit++) {
            uint32_t out[4],
                counter[4] = {i, source.counter[0] + bit / 8, source.counter[1], source.counter[2]};
            sv_philox(out, counter, source.key);
            uint32_t half = out[bit % 8 / 2] >> (bit % 2 ? 16 : 0) & 0xFFFF;
            wanted[i] |= (uint32_t)(half >= source.threshold) << bit;
        }
    numbers_see_bits(errors, words, wanted, WORDS, "words");
}

#define COPY(name, run)                                                                            \
    {                                                                                              \
        name, 1 << NUMBERS_ORDINARY, NUMBERS_BITS, 0, "a copy", run, 0, 0                          \
    }

static const numbers_row ROWS[] = {
    COPY("shift", run_shift),
    COPY("shift_backward", run_shift_backward),
    COPY("transpose", run_transpose),
    COPY("patch_gather", run_patch_gather),
    COPY("patch_scatter", run_patch_scatter),
    COPY("shifted_patches", run_shifted_patches),
    {"dropout_mask", 1 << NUMBERS_ORDINARY, NUMBERS_BITS, 0, "integers", run_dropout_mask, 0, 0},
};

NUMBERS_ROWS(numbers_copies, ROWS);
