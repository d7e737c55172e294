/* Matrix products by register-blocked tiles: the right-hand side is packed into panels of a few
 * vectors, each left-hand element is broadcast against a panel's row, and rows x vectors
 * accumulators stay in registers. Goto, van de Geijn 2008. A panel's numbers may be narrower than
 * those they are multiplied with: they are widened in registers, which costs little where the time
 * goes into reading them. */
#include "kernels/tile.h"

/* The rows that a panel of 1 to 4 vectors is multiplied with at once. */
enum {
#if defined(FOUR_VECTORS)
    ROWS_OF_4 = 6, /* 6 x 4 or 8 x 3 accumulators, the panel's vectors and a broadcast of 32
                      registers */
    ROWS_OF_3 = 8,
    ROWS_OF_2 = 8,
    ROWS_OF_1 = 8,
#elif defined(__AVX2__)
    ROWS_OF_3 = 4, /* 4 x 3 or 6 x 2 of 16 registers */
    ROWS_OF_2 = 6,
    ROWS_OF_1 = 8,
#else
    ROWS_OF_3 = 2, /* a product needs a register of its own before it is added */
    ROWS_OF_2 = 3,
    ROWS_OF_1 = 4,
#endif
    MOST_ROWS = 8,
    AHEAD = 8,    /* columns of a that lie far apart are fetched so many before their turn, */
    FETCH = 4096, /* and panels so many bytes: by then the third cache has answered */
    LINE = 64,
    DEPTH = 192, /* rows of a panel used at once: at most 48 KiB, so that they stay near */
    FEW = 64     /* rows so few that the time goes into reading the panels */
};

typedef struct tile_sides {
    const real *a; /* element (i, p) at a[i * row + p * column] */
    size_t row, column;
    const char *panel;   /* panel[p, vectors * LANES] */
    const real *factors; /* [vectors * LANES], one for each column */
    const real *bias;    /* [width], likewise; NULL: 0 */
    size_t depth;
} tile_sides;

#ifdef SV_DOUBLE
enum { NUMBER_TYPES = 1 };
#else
enum { NUMBER_TYPES = SV_NUMBER_TYPES };
#endif

/* LANES numbers of a panel. */
SV_INLINE vreal load_numbers(const char *from, const sv_number_type type)
{
#ifndef SV_DOUBLE
    if (type == SV_NUMBER_BF16)
        return v_load_bf16(from);
    if (type == SV_NUMBER_INT8)
        return v_load_int8(from);
#endif
    (void)type;
    return *(const vreal *)from;
}

/* How a block is computed; constants wherever one is expanded, so that the accumulators are
 * registers. */
typedef struct tile_form {
    size_t rows, vectors;
    int far; /* a's columns lie far apart */
    sv_number_type type;
} tile_form;

SV_INLINE void store_row(real *c, const vreal *sum, const tile_sides *sides, const tile_form form,
                         size_t width, int accumulate)
{
    SV_REGISTERS
    for (size_t v = 0; v < form.vectors; v++) {
        size_t some = width - v * LANES;
        vreal value = sum[v], before = {0};
        if (accumulate)
            before = v_load_some(c + v * LANES, some);
        else if (sides->bias)
            before = v_load_some(sides->bias + v * LANES, some);
        value = form.type == SV_NUMBER_INT8
                    ? v_multiply_add(value, v_load(sides->factors + v * LANES), before)
                    : value + before;
        v_store_some(c + v * LANES, value, some);
    }
}

SV_INLINE void fetch_row(const char *from, size_t bytes)
{
    SV_REGISTERS
    for (size_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch(from + i);
}

/* c[rows, width] = bias + or += a[rows, depth] panel[depth, width] */
SV_INLINE void multiply_block(real *c, size_t ldc, const tile_sides *sides, const tile_form form,
                              size_t width, int accumulate)
{
    vreal sum[MOST_ROWS][WIDEST];
    SV_REGISTERS
    for (size_t r = 0; r < form.rows; r++) {
        SV_REGISTERS
        for (size_t v = 0; v < form.vectors; v++) {
            sum[r][v] = (vreal){0};
            __builtin_prefetch(c + r * ldc + v * LANES, 1); /* it is wanted after the last sum */
        }
    }
    const real *a = sides->a;
    const char *panel = sides->panel;
    const size_t row = sides->row, column = sides->column;
    const size_t vector = LANES * number_bytes(form.type);
    for (size_t p = 0; p < sides->depth; p++, a += column, panel += form.vectors * vector) {
        if (form.far)
            __builtin_prefetch(a + AHEAD * column);
        else
            fetch_row(panel + FETCH, form.vectors * vector);
        vreal b[WIDEST];
        SV_REGISTERS
        for (size_t v = 0; v < form.vectors; v++)
            b[v] = load_numbers(panel + v * vector, form.type);
        SV_REGISTERS
        for (size_t r = 0; r < form.rows; r++) {
            vreal left = v_set(a[r * row]);
            SV_REGISTERS
            for (size_t v = 0; v < form.vectors; v++)
                sum[r][v] += left * b[v];
        }
    }
    SV_REGISTERS
    for (size_t r = 0; r < form.rows; r++)
        store_row(c + r * ldc, sum[r], sides, form, width, accumulate);
}

/* All m rows against one panel: `rows` at once, then half of them, then one by one. */
SV_INLINE void multiply_panel(real *c, size_t ldc, const tile_sides *sides, size_t m,
                              const tile_form form, size_t width, int accumulate)
{
    tile_sides here = *sides;
    const tile_form half = {form.rows / 2, form.vectors, form.far, form.type};
    const tile_form single = {1, form.vectors, form.far, form.type};
    size_t i = 0;
    for (; i + form.rows <= m; i += form.rows, here.a += form.rows * sides->row)
        multiply_block(c + i * ldc, ldc, &here, form, width, accumulate);
    if (i + half.rows <= m) {
        multiply_block(c + i * ldc, ldc, &here, half, width, accumulate);
        i += half.rows;
        here.a += half.rows * sides->row;
    }
    for (; i < m; i++, here.a += sides->row)
        multiply_block(c + i * ldc, ldc, &here, single, width, accumulate);
}

typedef void multiply_function(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,
                               int accumulate);

#define MULTIPLY_PANEL(name, vectors, rows, type)                                                  \
    static void name(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,         \
                     int accumulate)                                                               \
    {                                                                                              \
        if (sides->column == 1)                                                                    \
            multiply_panel(c, ldc, sides, m, (tile_form){rows, vectors, 0, type}, width,           \
                           accumulate);                                                            \
        else                                                                                       \
            multiply_panel(c, ldc, sides, m, (tile_form){rows, vectors, 1, type}, width,           \
                           accumulate);                                                            \
    }

#if defined(FOUR_VECTORS)
#define MULTIPLY_FOUR(prefix, type) MULTIPLY_PANEL(prefix##_four, 4, ROWS_OF_4, type)
#define PANELS(prefix)                                                                             \
    {                                                                                              \
        NULL, prefix##_one, prefix##_two, prefix##_three, prefix##_four                            \
    }
#else
#define MULTIPLY_FOUR(prefix, type)
#define PANELS(prefix)                                                                             \
    {                                                                                              \
        NULL, prefix##_one, prefix##_two, prefix##_three                                           \
    }
#endif
#define MULTIPLY(prefix, type)                                                                     \
    MULTIPLY_PANEL(prefix##_one, 1, ROWS_OF_1, type)                                               \
    MULTIPLY_PANEL(prefix##_two, 2, ROWS_OF_2, type)                                               \
    MULTIPLY_PANEL(prefix##_three, 3, ROWS_OF_3, type)                                             \
    MULTIPLY_FOUR(prefix, type)

MULTIPLY(multiply_real, SV_NUMBER_REAL)
#ifndef SV_DOUBLE
MULTIPLY(multiply_bf16, SV_NUMBER_BF16)
MULTIPLY(multiply_int8, SV_NUMBER_INT8)
#endif

/* By type of the panel's numbers, and number of vectors. */
static multiply_function *const MULTIPLIES[NUMBER_TYPES][WIDEST + 1] = {PANELS(multiply_real),
#ifndef SV_DOUBLE
                                                                        PANELS(multiply_bf16),
                                                                        PANELS(multiply_int8)
#endif
};

/* c[m, first..first+count-1] = bias + a[m,k] b[k, the same columns], or += with `accumulate`. */
static void multiply_panels(const sv_tile_product *product, sv_number_type type, size_t m,
                            size_t first, size_t count)
{
    size_t k = product->k, factors = panel_bytes(type, 0, 1);
    for (size_t p = 0; p < k; p += DEPTH) {
        size_t depth = k - p < DEPTH ? k - p : DEPTH;
        const char *panel = (const char *)product->packed + panel_bytes(type, k, first);
        for (size_t j = 0, lanes; j < count; j += lanes, panel += panel_bytes(type, k, lanes)) {
            size_t vectors = vectors_of(count - j);
            lanes = vectors * LANES;
            size_t width = count - j < lanes ? count - j : lanes;
            tile_sides sides = {product->a + p * product->column,
                                product->row,
                                product->column,
                                panel + lanes * (factors + p * number_bytes(type)),
                                (const real *)(const void *)panel,
                                product->bias ? product->bias + first + j : NULL,
                                depth};
            MULTIPLIES[type][vectors](product->c + first + j, product->ldc, &sides, m, width,
                                      product->accumulate || p > 0);
        }
    }
}

/* The same, whose b is packed, element (i, p) of a at a[i * row + p * column]. Every element of c
 * is summed in the order of p, whatever m is. Few rows meet a whole panel before the next one, so
 * that b is read as it lies; many meet a part of each, which stays near. */
void SV_ISA(sv_tile_multiply)(const sv_tile_product *product, sv_number_type type, size_t m,
                              size_t first, size_t count)
{
    for (size_t end = first + count, lanes; first < end; first += lanes) {
        lanes = m > FEW ? end - first : vectors_of(end - first) * LANES;
        multiply_panels(product, type, m, first, lanes < end - first ? lanes : end - first);
    }
}
