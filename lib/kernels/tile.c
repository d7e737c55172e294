/* Matrix products by register-blocked tiles: the right-hand side is packed into panels of VECTORS
 * vectors, each left-hand element is broadcast against a panel's row, and ROWS x VECTORS
 * accumulators stay in registers. Goto, van de Geijn 2008. */
#include "kernels/local.h"

enum {
#if defined(__AVX512F__)
    ROWS = 8, /* 8 x 3 accumulators, 3 panel vectors and a broadcast of 32 registers */
#elif defined(__AVX2__)
    ROWS = 4, /* 4 x 3 of 16 registers */
#else
    ROWS = 2, /* a product needs a register of its own before it is added */
#endif
    VECTORS = 3,
    DEPTH = 192 /* rows of a panel used at once: 36 KiB, so that they stay in the first cache */
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
    for (size_t v = 0; v < vectors; v++) {
        size_t some = width - v * LANES;
        vreal value = sum[v];
        if (accumulate)
            value += v_load_some(c + v * LANES, some);
        v_store_some(c + v * LANES, value, some);
    }
}

/* c[rows, width] = or += a[rows, depth] panel[depth, width]. `rows` and `vectors` are constants
 * wherever this is expanded, so the accumulators are registers. */
SV_INLINE void multiply_block(real *c, size_t ldc, const tile_sides *sides, const size_t rows,
                              const size_t vectors, size_t width, int accumulate)
{
    vreal sum[ROWS][VECTORS];
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = (vreal){0};
    const real *a = sides->a, *panel = sides->panel;
    const size_t row = sides->row, column = sides->column;
    for (size_t p = 0; p < sides->depth; p++, a += column, panel += vectors * LANES) {
        vreal b[VECTORS];
        for (size_t v = 0; v < vectors; v++)
            b[v] = *(const vreal *)(panel + v * LANES);
        for (size_t r = 0; r < rows; r++) {
            vreal left = v_set(a[r * row]);
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] += left * b[v];
        }
    }
    for (size_t r = 0; r < rows; r++)
        store_row(c + r * ldc, sum[r], vectors, width, accumulate);
}

/* All m rows against one panel. Rows that are left over are taken singly. */
SV_INLINE void multiply_panel(real *c, size_t ldc, const tile_sides *sides, size_t m,
                              const size_t vectors, size_t width, int accumulate)
{
    tile_sides here = *sides;
    size_t i = 0;
    for (; i + ROWS <= m; i += ROWS) {
        here.a = sides->a + i * sides->row;
        multiply_block(c + i * ldc, ldc, &here, ROWS, vectors, width, accumulate);
    }
    for (; i < m; i++) {
        here.a = sides->a + i * sides->row;
        multiply_block(c + i * ldc, ldc, &here, 1, vectors, width, accumulate);
    }
}

static void multiply_three(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,
                           int accumulate)
{
    multiply_panel(c, ldc, sides, m, 3, width, accumulate);
}

static void multiply_two(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,
                         int accumulate)
{
    multiply_panel(c, ldc, sides, m, 2, width, accumulate);
}

static void multiply_one(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,
                         int accumulate)
{
    multiply_panel(c, ldc, sides, m, 1, width, accumulate);
}

static size_t vectors_of(size_t width)
{
    return width >= VECTORS * LANES ? VECTORS : (width + LANES - 1) / LANES;
}

/* Numbers that a packed b[k,n] takes: every panel is a whole number of vectors wide. */
size_t SV_ISA(sv_tile_packed_elements)(size_t k, size_t n)
{
    return k * ((n + LANES - 1) / LANES * LANES);
}

static void pack_rows(real *packed, const real *b, size_t row, size_t k, size_t width, size_t lanes)
{
    for (size_t p = 0; p < k; p++, b += row, packed += lanes) {
        memcpy(packed, b, width * sizeof(real));
        memset(packed + width, 0, (lanes - width) * sizeof(real));
    }
}

/* A transpose: b is read along its rows, since the panel that is written stays in the first cache.
 */
static void pack_columns(real *packed, const real *b, size_t row, size_t column, size_t k,
                         size_t width, size_t lanes)
{
    for (size_t i = 0; i < lanes; i++)
        for (size_t p = 0; p < k; p++)
            packed[p * lanes + i] = i < width ? b[p * row + i * column] : 0;
}

/* packed = the panels of b[k,n], element (p, j) at b[p * row + j * column], one after another; a
 * panel is [k, its width], zeros where the last vector is not full. */
void SV_ISA(sv_tile_pack)(real *packed, const real *b, size_t row, size_t column, size_t k,
                          size_t n)
{
    for (size_t j = 0; j < n; j += VECTORS * LANES) {
        size_t lanes = vectors_of(n - j) * LANES, width = n - j < lanes ? n - j : lanes;
        if (column == 1)
            pack_rows(packed, b + j, row, k, width, lanes);
        else
            pack_columns(packed, b + j * column, row, column, k, width, lanes);
        packed += k * lanes;
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
        for (size_t j = 0; j < n; j += VECTORS * LANES) {
            size_t vectors = vectors_of(n - j), lanes = vectors * LANES;
            size_t width = n - j < lanes ? n - j : lanes;
            tile_sides sides = {a + p * column, row, column, panel + p * lanes, depth};
            (vectors == 3   ? multiply_three
             : vectors == 2 ? multiply_two
                            : multiply_one)(c + j, ldc, &sides, m, width, accumulate || p > 0);
            panel += k * lanes;
        }
    }
}
