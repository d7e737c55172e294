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
    FEW_OF_3 = 9, /* where few rows are read past a panel: as many as there is room for */
    ROWS_OF_2 = 8,
    ROWS_OF_1 = 8,
#elif defined(__AVX2__)
    ROWS_OF_3 = 4,
    FEW_OF_3 = ROWS_OF_3, /* 4 x 3 or 6 x 2 of 16 registers */
    ROWS_OF_2 = 6,
    ROWS_OF_1 = 8,
#else
    ROWS_OF_3 = 2,
    FEW_OF_3 = ROWS_OF_3, /* a product needs a register of its own before it is added */
    ROWS_OF_2 = 3,
    ROWS_OF_1 = 4,
#endif
    MOST_ROWS = 9,
    AHEAD = 8,   /* columns of a that lie far apart are fetched so many before their turn */
    DEPTH = 192, /* rows of a panel used at once: at most 48 KiB, so that they stay near */
    FEW = 64,    /* rows so few that the time goes into reading the panels */
    STREAMS = 3, /* for each vector, in which the next rows of a panel are fetched */
    LINE = 64
};

typedef struct tile_sides {
    const real *a; /* element (i, p) at a[i * row + p * column] */
    size_t row, column;
    const char *panel;   /* panel[p, vectors * LANES] */
    const real *factors; /* [vectors * LANES], one for each column */
    const real *bias;    /* [width], likewise; NULL: 0 */
    size_t depth;
    const char *next; /* what is read after these rows of the panel, */
    size_t apart;     /* in streams that begin so many bytes apart */
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

/* What is fetched ahead while a block is computed. */
typedef enum tile_fetch {
    FETCH_NOTHING, /* many rows meet the part of a panel that is near */
    FETCH_LEFT,    /* a's columns lie far apart */
    FETCH_PANEL,   /* few rows: the panel comes from afar */
    FETCHES_COUNT
} tile_fetch;

/* How a block is computed; constants wherever one is expanded, so that the accumulators are
 * registers. */
typedef struct tile_form {
    size_t rows, vectors;
    tile_fetch fetch;
    sv_number_type type;
} tile_form;

/* sum[rows, vectors] += a[rows, 1] panel[1, vectors]. Besides the multiply-adds there is little
 * that a round may do: where two threads share a core they share its instructions' decoding too. */
SV_INLINE void add_round(vreal sum[MOST_ROWS][WIDEST], const real *a, size_t row, const char *panel,
                         const tile_form form)
{
    const size_t vector = LANES * number_bytes(form.type);
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

/* A line of each of the streams that a part of a panel is fetched in. Memory answers a reader of
 * several pages at once sooner than one that goes through them in turn. */
SV_INLINE void fetch_lines(const char *from, size_t apart, size_t streams)
{
    for (size_t i = 0; i < streams; i++, from += apart)
        __builtin_prefetch(from);
}

static const real ZEROS[WIDEST * LANES];

/* c[rows, width] = bias + or += sum[rows, width] */
SV_INLINE void store_block(real *c, size_t ldc, vreal sum[MOST_ROWS][WIDEST],
                           const tile_sides *sides, const tile_form form, size_t width,
                           int accumulate)
{
    const real *before = accumulate ? c : sides->bias ? sides->bias : ZEROS;
    const size_t row = accumulate ? ldc : 0;
    vsome some[WIDEST];
    SV_REGISTERS
    for (size_t v = 0; v < form.vectors; v++)
        some[v] = v_some(width - v * LANES);
    SV_UNROLLED(MOST_ROWS)
    for (size_t r = 0; r < form.rows; r++, c += ldc, before += row) {
        SV_UNROLLED(WIDEST)
        for (size_t v = 0; v < form.vectors; v++) {
            vreal value = v_load_lanes(before + v * LANES, some[v]);
            if (form.type == SV_NUMBER_INT8)
                value = v_multiply_add(sum[r][v], v_load(sides->factors + v * LANES), value);
            else
                value += sum[r][v];
            v_store_lanes(c + v * LANES, value, some[v]);
        }
    }
}

/* c[rows, width] = bias + or += a[rows, depth] panel[depth, width] */
SV_INLINE void multiply_block(real *c, size_t ldc, const tile_sides *sides, const tile_form form,
                              size_t width, int accumulate)
{
    vreal sum[MOST_ROWS][WIDEST];
    SV_UNROLLED(MOST_ROWS)
    for (size_t r = 0; r < form.rows; r++) {
        SV_UNROLLED(WIDEST)
        for (size_t v = 0; v < form.vectors; v++)
            sum[r][v] = (vreal){0};
    }
    const size_t round = form.vectors * LANES * number_bytes(form.type);
    const size_t row = form.fetch == FETCH_LEFT ? 1 : sides->row;
    const size_t column = form.fetch == FETCH_LEFT ? sides->column : 1;
    const real *a = sides->a;
    const char *panel = sides->panel;
    size_t p = 0;
    if (form.fetch == FETCH_PANEL) {
        const size_t narrower = sizeof(real) / number_bytes(form.type);
        const size_t rounds = STREAMS * narrower;
        for (size_t at = 0; at < sides->apart && p + rounds <= sides->depth; at += LINE) {
            fetch_lines(sides->next + at, sides->apart, STREAMS * form.vectors);
            p += rounds;
            for (size_t i = 0; i < narrower; i++) {
                SV_UNROLLED(STREAMS)
                for (size_t u = 0; u < STREAMS; u++, a += column, panel += round)
                    add_round(sum, a, row, panel, form);
            }
        }
    }
    SV_UNROLLED_BY(4)
    for (; p < sides->depth; p++) {
        if (form.fetch == FETCH_LEFT)
            __builtin_prefetch(a + AHEAD * column);
        add_round(sum, a, row, panel, form);
        a += column;
        panel += round;
    }
    store_block(c, ldc, sum, sides, form, width, accumulate);
}

/* All m rows against one panel: `rows` at once, then half of them, then one by one. The first ones
 * fetch what comes next. */
SV_INLINE void multiply_rows(real *c, size_t ldc, const tile_sides *sides, size_t m,
                             const tile_form form, size_t width, int accumulate)
{
    tile_sides here = *sides;
    const tile_form half = {form.rows / 2, form.vectors, form.fetch, form.type};
    const tile_form single = {1, form.vectors, form.fetch, form.type};
    size_t i = 0;
    for (; i + form.rows <= m; i += form.rows, here.a += form.rows * sides->row, here.apart = 0)
        multiply_block(c + i * ldc, ldc, &here, form, width, accumulate);
    for (; i + half.rows <= m; i += half.rows, here.a += half.rows * sides->row, here.apart = 0)
        multiply_block(c + i * ldc, ldc, &here, half, width, accumulate);
    for (; i < m; i++, here.a += sides->row, here.apart = 0)
        multiply_block(c + i * ldc, ldc, &here, single, width, accumulate);
}

typedef void multiply_function(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,
                               int accumulate);

/* A function for each form: compilers find registers for all of it where it stands alone. */
#define MULTIPLY_PANEL(name, vectors, rows, fetch, type)                                           \
    static void name(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,         \
                     int accumulate)                                                               \
    {                                                                                              \
        multiply_rows(c, ldc, sides, m, (tile_form){rows, vectors, fetch, type}, width,            \
                      accumulate);                                                                 \
    }

#if defined(FOUR_VECTORS)
#define MULTIPLY_FOUR(prefix, fetch, type) MULTIPLY_PANEL(prefix##_four, 4, ROWS_OF_4, fetch, type)
#define PANELS(prefix)                                                                             \
    {                                                                                              \
        NULL, prefix##_one, prefix##_two, prefix##_three, prefix##_four                            \
    }
#else
#define MULTIPLY_FOUR(prefix, fetch, type)
#define PANELS(prefix)                                                                             \
    {                                                                                              \
        NULL, prefix##_one, prefix##_two, prefix##_three                                           \
    }
#endif
#define MULTIPLY_PANELS(prefix, fetch, type)                                                       \
    MULTIPLY_PANEL(prefix##_one, 1, ROWS_OF_1, fetch, type)                                        \
    MULTIPLY_PANEL(prefix##_two, 2, ROWS_OF_2, fetch, type)                                        \
    MULTIPLY_PANEL(prefix##_three, 3, fetch == FETCH_PANEL ? FEW_OF_3 : ROWS_OF_3, fetch, type)    \
    MULTIPLY_FOUR(prefix, fetch, type)
#define MULTIPLY(prefix, type)                                                                     \
    MULTIPLY_PANELS(prefix##_near, FETCH_NOTHING, type)                                            \
    MULTIPLY_PANELS(prefix##_far, FETCH_LEFT, type)                                                \
    MULTIPLY_PANELS(prefix##_few, FETCH_PANEL, type)
#define FETCHES(prefix)                                                                            \
    {                                                                                              \
        PANELS(prefix##_near), PANELS(prefix##_far), PANELS(prefix##_few)                          \
    }

MULTIPLY(multiply_real, SV_NUMBER_REAL)
#ifndef SV_DOUBLE
MULTIPLY(multiply_bf16, SV_NUMBER_BF16)
MULTIPLY(multiply_int8, SV_NUMBER_INT8)
#endif

/* By type of the panel's numbers, what is fetched, and number of vectors. */
static multiply_function *const MULTIPLIES[NUMBER_TYPES][FETCHES_COUNT][WIDEST + 1] = {
    FETCHES(multiply_real),
#ifndef SV_DOUBLE
    FETCHES(multiply_bf16), FETCHES(multiply_int8)
#endif
};

/* How far apart the streams are in which the next rows of panels are fetched, which end at `end`,
 * beside a panel of some vectors. */
static size_t streams_apart(const char *next, const char *end, size_t vectors, size_t bytes)
{
    const size_t streams = STREAMS * vectors, left = (size_t)(end - next);
    bytes = bytes < left ? bytes : left;
    return (bytes + streams * LINE - 1) / (streams * LINE) * LINE;
}

/* c[m, first..first+count-1] = bias + a[m,k] b[k, the same columns], or += with `accumulate`; what
 * is to be read ends at `end`. */
static void multiply_panels(const sv_tile_product *product, sv_number_type type, size_t m,
                            size_t first, size_t count, const char *end)
{
    size_t k = product->k, factors = panel_bytes(type, 0, 1);
    tile_fetch fetch = product->column != 1 ? FETCH_LEFT : m > FEW ? FETCH_NOTHING : FETCH_PANEL;
    for (size_t p = 0; p < k; p += DEPTH) {
        size_t depth = k - p < DEPTH ? k - p : DEPTH;
        const char *panel = (const char *)product->packed + panel_bytes(type, k, first);
        for (size_t j = 0, lanes; j < count; j += lanes, panel += panel_bytes(type, k, lanes)) {
            size_t vectors = vectors_of(count - j);
            lanes = vectors * LANES;
            size_t width = count - j < lanes ? count - j : lanes;
            const char *rows = panel + lanes * (factors + p * number_bytes(type));
            const char *next = rows + lanes * depth * number_bytes(type);
            tile_sides sides = {
                product->a + p * product->column,
                product->row,
                product->column,
                rows,
                (const real *)(const void *)panel,
                product->bias ? product->bias + first + j : NULL,
                depth,
                next,
                streams_apart(next, end, vectors, lanes * DEPTH * number_bytes(type))};
            MULTIPLIES[type][fetch][vectors](product->c + first + j, product->ldc, &sides, m, width,
                                             product->accumulate || p > 0);
        }
    }
}

/* The first rows of panels that few rows meet: nothing has fetched them. */
static void fetch_first(const char *from, const char *end)
{
    const size_t apart = streams_apart(from, end, WIDEST, DEPTH * WIDEST * SV_VECTOR_BYTES);
    for (size_t at = 0; at < apart; at += LINE)
        fetch_lines(from + at, apart, STREAMS * WIDEST);
}

/* The same, whose b is packed, element (i, p) of a at a[i * row + p * column]. Every element of c
 * is summed in the order of p, whatever m is. Few rows meet a whole panel before the next one, so
 * that b is read as it lies; many meet a part of each, which stays near. */
void SV_ISA(sv_tile_multiply)(const sv_tile_product *product, sv_number_type type, size_t m,
                              size_t first, size_t count)
{
    const size_t end = first + count, past = (end + LANES - 1) / LANES * LANES;
    const char *packed = product->packed;
    const char *packed_end = packed + panel_bytes(type, product->k, past);
    if (m <= FEW && product->column == 1)
        fetch_first(packed + panel_bytes(type, product->k, first), packed_end);
    for (size_t lanes; first < end; first += lanes) {
        lanes = m > FEW ? end - first : vectors_of(end - first) * LANES;
        multiply_panels(product, type, m, first, lanes < end - first ? lanes : end - first,
                        packed_end);
    }
}
