/* Matrix products by register-blocked tiles: the right-hand side is packed into panels of a few
 * vectors, each left-hand element is broadcast against a panel's row, and rows x vectors
 * accumulators stay in registers. Goto, van de Geijn 2008. */
#include "kernels/local.h"
#include "kernels/transpose.h"

/* AVX-512 and NEON have 32 registers, AVX2 and SSE2 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define FOUR_VECTORS
#endif

/* The widest panel, and the rows that a panel of 1 to 4 vectors is multiplied with at once. */
enum {
#if defined(FOUR_VECTORS)
    WIDEST =
        4, /* 8 x 3 or 6 x 4 accumulators, the panel's vectors and a broadcast of 32 registers */
    ROWS_OF_4 = 6,
    ROWS_OF_3 = 8,
    ROWS_OF_2 = 8,
    ROWS_OF_1 = 8,
#elif defined(__AVX2__)
    WIDEST = 3, /* 4 x 3 or 6 x 2 of 16 registers */
    ROWS_OF_3 = 4,
    ROWS_OF_2 = 6,
    ROWS_OF_1 = 8,
#else
    WIDEST = 3, /* a product needs a register of its own before it is added */
    ROWS_OF_3 = 2,
    ROWS_OF_2 = 3,
    ROWS_OF_1 = 4,
#endif
    MOST_ROWS = 8,
    AHEAD = 8,  /* columns of a that lie far apart are fetched so many before their turn */
    DEPTH = 192 /* rows of a panel used at once: at most 48 KiB, so that they stay near */
};

typedef struct tile_sides {
    const real *a; /* element (i, p) at a[i * row + p * column] */
    size_t row, column;
    const real *panel; /* panel[p, vectors * LANES] */
    size_t depth;
} tile_sides;

SV_INLINE void store_row(real *c, const vreal *sum, const size_t vectors, size_t width,
                         int accumulate)
{
    SV_REGISTERS
    for (size_t v = 0; v < vectors; v++) {
        size_t some = width - v * LANES;
        vreal value = sum[v];
        if (accumulate)
            value += v_load_some(c + v * LANES, some);
        v_store_some(c + v * LANES, value, some);
    }
}

/* c[rows, width] = or += a[rows, depth] panel[depth, width]. `rows`, `vectors` and `far` are
 * constants wherever this is expanded, so the accumulators are registers. */
SV_INLINE void multiply_block(real *c, size_t ldc, const tile_sides *sides, const size_t rows,
                              const size_t vectors, const int far, size_t width, int accumulate)
{
    vreal sum[MOST_ROWS][WIDEST];
    SV_REGISTERS
    for (size_t r = 0; r < rows; r++) {
        SV_REGISTERS
        for (size_t v = 0; v < vectors; v++) {
            sum[r][v] = (vreal){0};
            __builtin_prefetch(c + r * ldc + v * LANES, 1); /* it is wanted after the last sum */
        }
    }
    const real *a = sides->a, *panel = sides->panel;
    const size_t row = sides->row, column = sides->column;
    for (size_t p = 0; p < sides->depth; p++, a += column, panel += vectors * LANES) {
        if (far)
            __builtin_prefetch(a + AHEAD * column);
        vreal b[WIDEST];
        SV_REGISTERS
        for (size_t v = 0; v < vectors; v++)
            b[v] = *(const vreal *)(panel + v * LANES);
        SV_REGISTERS
        for (size_t r = 0; r < rows; r++) {
            vreal left = v_set(a[r * row]);
            SV_REGISTERS
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] += left * b[v];
        }
    }
    SV_REGISTERS
    for (size_t r = 0; r < rows; r++)
        store_row(c + r * ldc, sum[r], vectors, width, accumulate);
}

/* All m rows against one panel: `rows` at once, then half of them, then one by one. */
SV_INLINE void multiply_panel(real *c, size_t ldc, const tile_sides *sides, size_t m,
                              const size_t rows, const size_t vectors, const int far, size_t width,
                              int accumulate)
{
    tile_sides here = *sides;
    size_t i = 0;
    for (; i + rows <= m; i += rows, here.a += rows * sides->row)
        multiply_block(c + i * ldc, ldc, &here, rows, vectors, far, width, accumulate);
    if (i + rows / 2 <= m) {
        multiply_block(c + i * ldc, ldc, &here, rows / 2, vectors, far, width, accumulate);
        i += rows / 2;
        here.a += rows / 2 * sides->row;
    }
    for (; i < m; i++, here.a += sides->row)
        multiply_block(c + i * ldc, ldc, &here, 1, vectors, far, width, accumulate);
}

#define MULTIPLY_PANEL(name, vectors, rows)                                                        \
    static void name(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,         \
                     int accumulate)                                                               \
    {                                                                                              \
        if (sides->column == 1)                                                                    \
            multiply_panel(c, ldc, sides, m, rows, vectors, 0, width, accumulate);                 \
        else                                                                                       \
            multiply_panel(c, ldc, sides, m, rows, vectors, 1, width, accumulate);                 \
    }
MULTIPLY_PANEL(multiply_one, 1, ROWS_OF_1)
MULTIPLY_PANEL(multiply_two, 2, ROWS_OF_2)
MULTIPLY_PANEL(multiply_three, 3, ROWS_OF_3)
#if defined(FOUR_VECTORS)
MULTIPLY_PANEL(multiply_four, 4, ROWS_OF_4)
#endif

/* By number of vectors. */
static void (*const MULTIPLY[])(real *, size_t, const tile_sides *, size_t, size_t, int) = {
    NULL,          multiply_one, multiply_two, multiply_three,
#if defined(FOUR_VECTORS)
    multiply_four,
#endif
};

/* The vectors of the next panel where `columns` are left: threes, and at the end what avoids a
 * panel of one vector, whose rows are too short to keep the multipliers busy. */
static size_t vectors_of(size_t columns)
{
    size_t vectors = (columns + LANES - 1) / LANES;
    if (WIDEST == 4)
        return vectors == 4 || vectors == 8 ? 4 : vectors < 3 ? vectors : 3;
    return vectors == 4 ? 2 : vectors < 3 ? vectors : 3;
}

/* Numbers that a packed b[k,n] takes: every panel is a whole number of vectors wide. */
size_t SV_ISA(sv_tile_packed_elements)(size_t k, size_t n)
{
    return k * ((n + LANES - 1) / LANES * LANES);
}

/* to[LANES], zeros past `width`. */
SV_INLINE void pack_some(real *to, const real *from, size_t width)
{
    *(vreal *)to = v_load_some(from, width);
}

static void pack_rows(real *packed, const real *b, size_t row, size_t k, size_t width, size_t lanes)
{
    for (size_t p = 0; p < k; p++, b += row, packed += lanes)
        for (size_t v = 0; v < lanes; v += LANES)
            pack_some(packed + v, b + v, v < width ? width - v : 0);
}

/* A block of LANES columns that lie along memory is transposed in registers; its last rows, fewer
 * than LANES, are picked one by one. */
static void pack_columns(real *packed, const real *b, size_t column, size_t k, size_t width,
                         size_t lanes)
{
    size_t whole = k - k % LANES;
    for (size_t p = 0; p < whole; p += LANES) {
        vreal block[LANES];
        for (size_t i = 0; i < LANES; i++)
            block[i] = i < width ? v_load(b + i * column + p) : (vreal){0};
        v_transpose(block);
        for (size_t i = 0; i < LANES; i++)
            *(vreal *)(packed + (p + i) * lanes) = block[i];
    }
    for (size_t p = whole; p < k; p++)
        for (size_t i = 0; i < LANES; i++)
            packed[p * lanes + i] = i < width ? b[i * column + p] : 0;
}

/* packed = the panels of b[k,n], element (p, j) at b[p * row + j * column], one of row and column
 * being 1; one after another, each [k, its width], zeros where the last vector is not full. */
void SV_ISA(sv_tile_pack)(real *packed, const real *b, size_t row, size_t column, size_t k,
                          size_t n)
{
    for (size_t j = 0, lanes; j < n; j += lanes, packed += k * lanes) {
        lanes = vectors_of(n - j) * LANES;
        size_t width = n - j < lanes ? n - j : lanes;
        if (column == 1)
            pack_rows(packed, b + j, row, k, width, lanes);
        else
            for (size_t i = 0; i < width; i += LANES)
                pack_columns(packed + i, b + (j + i) * column, column, k, width - i, lanes);
    }
}

/* c[m,n] = a[m,k] b[k,n], or += with `accumulate`; b packed, element (i, p) of a at
 * a[i * row + p * column]. Every element of c is summed in the order of p, whatever m is. */
void SV_ISA(sv_tile_multiply)(real *c, size_t ldc, const real *a, size_t row, size_t column,
                              const real *packed, size_t m, size_t n, size_t k, int accumulate)
{
    for (size_t p = 0; p < k; p += DEPTH) {
        size_t depth = k - p < DEPTH ? k - p : DEPTH;
        const real *panel = packed;
        for (size_t j = 0, lanes; j < n; j += lanes, panel += k * lanes) {
            size_t vectors = vectors_of(n - j);
            lanes = vectors * LANES;
            size_t width = n - j < lanes ? n - j : lanes;
            tile_sides sides = {a + p * column, row, column, panel + p * lanes, depth};
            MULTIPLY[vectors](c + j, ldc, &sides, m, width, accumulate || p > 0);
        }
    }
}
