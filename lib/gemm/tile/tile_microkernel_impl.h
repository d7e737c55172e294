/* A block of a product by tiles: a few rows against a panel, their sums in registers all the time;
 * and the rows of a matrix by such blocks. */
#ifndef SV_TILE_BLOCK_H
#define SV_TILE_BLOCK_H

#include "gemm/tile/tile_panel.h"

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
    STREAMS = 3, /* for each vector, in which the next rows of a panel are fetched */
    TURN = 8192, /* or bytes that these are fetched before their turn */
    LINE = 64,
    FEW_ROWS = 64, /* rows so few that the time goes into reading the panels */
    NEAR = 65536   /* bytes of panels that come soon enough */
};

/* Numbers first.. of k. */
typedef struct tile_span {
    size_t first, count;
} tile_span;

typedef struct tile_sides {
    const real *a; /* element (i, p) at a[i * row + p * column] */
    size_t row, column;
    const char *panel;       /* panel[p, vectors * LANES] */
    const real *factors;     /* [vectors * LANES], one for each column */
    const int32_t *offsets;  /* likewise; of quads what is more in a sum, */
    const real *row_factors; /* and a factor for each row: number `first`, and every `step` on */
    size_t first, step;
    const real *bias; /* [width], likewise; NULL: 0 */
    size_t depth;
    const real *residual; /* lies as c does; NULL: none */
    int far;              /* c does: it is fetched while the sums are made */
    /* What the first rows of a fetch: */
    const char *next; /* with FETCH_PANEL what is read after these rows of the panel, */
    size_t apart;     /* in streams that begin so many bytes apart; */
    int in_turn;      /* or these rows themselves, before their turn */
    /* With SKIP_GAPS what there is of k in these rows of a, and from one row of the panel to the
     * next, so many bytes. */
    const tile_span *spans;
    size_t span_count, panel_row;
} tile_sides;

/* LANES numbers of a panel; of a pair of rows the first or the second. */
SV_INLINE vreal load_numbers(const char *from, const sv_number_type type, const int second)
{
#ifndef SV_DOUBLE
    if (type == SV_NUMBER_BF16)
        return second ? v_load_second(from) : v_load_first(from);
    if (type == SV_NUMBER_INT8)
        return v_load_int8(from);
#endif
    (void)type;
    (void)second;
    return *(const vreal *)from;
}

/* Sums of a lane: whole numbers, where the file that includes this asks for them. A type of their
 * own keeps them in registers: gcc copies what it sees as both. */
#ifdef SV_WHOLE_SUMS
typedef vlane vsums;
#else
typedef vreal vsums;
#endif

/* sum + left * right; of pairs and quads, all products of each lane. */
SV_INLINE vsums add_product(vsums sum, vreal left, vreal right, const sv_number_type type)
{
#ifdef SV_WHOLE_SUMS
    (void)type;
    return (vsums)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)left, (__m512i)right);
#else
#if defined(__AVX512BF16__) && !defined(SV_DOUBLE)
    if (type == SV_NUMBER_PAIR)
        return _mm512_dpbf16_ps(sum, (__m512bh)left, (__m512bh)right);
#endif
    (void)type;
    return sum + left * right;
#endif
}

/* What is fetched ahead while a block is computed. */
typedef enum tile_fetch {
    FETCH_NOTHING, /* many rows meet the part of a panel that is near */
    FETCH_LEFT,    /* a's columns may lie far apart */
    FETCH_PANEL,   /* few rows: the panel comes from afar */
    FETCHES_COUNT,
    SKIP_GAPS /* nothing; all rows have the same spans of k */
} tile_fetch;

/* How a block is computed; constants wherever one is expanded, so that the accumulators are
 * registers. */
typedef struct tile_form {
    size_t rows, vectors;
    tile_fetch fetch;
    sv_number_type type;
} tile_form;

/* Bytes from one vector of a panel to the next, which may be of two rows. */
SV_INLINE size_t vector_bytes(const sv_number_type type)
{
    return LANES * number_bytes(type) * rows_together(type);
}

/* sum[rows, vectors] += a[rows, 1] panel[1, vectors]. Besides the multiply-adds there is little
 * that it may do: where two threads share a core they share its instructions' decoding too. */
SV_INLINE void add_row(vsums sum[MOST_ROWS][WIDEST], const real *a, size_t row, const char *panel,
                       const tile_form form, const int second)
{
    vreal b[WIDEST];
    SV_REGISTERS
    for (size_t v = 0; v < form.vectors; v++)
        b[v] = load_numbers(panel + v * vector_bytes(form.type), form.type, second);
    SV_REGISTERS
    for (size_t r = 0; r < form.rows; r++) {
        vreal left = v_set(a[r * row]);
        SV_REGISTERS
        for (size_t v = 0; v < form.vectors; v++)
            sum[r][v] = add_product(sum[r][v], left, b[v], form.type);
    }
}

/* The same for all rows of a panel that lie together. */
SV_INLINE void add_round(vsums sum[MOST_ROWS][WIDEST], const real *a, size_t row, size_t column,
                         const char *panel, const tile_form form)
{
    add_row(sum, a, row, panel, form, 0);
    if (rows_together(form.type) > 1)
        add_row(sum, a + column, row, panel, form, 1);
}

/* A line of each of the streams that a part of a panel is fetched in. Memory answers a reader of
 * several pages at once sooner than one that goes through them in turn. */
SV_INLINE void fetch_lines(const char *from, size_t apart, size_t streams)
{
    for (size_t i = 0; i < streams; i++, from += apart)
        __builtin_prefetch(from);
}

/* Whether lines of panels of so many bytes are fetched before their turn, on a CPU that had better
 * not fetch them in streams. One row, which does little but read, has enough of the CPU's
 * foresight. */
SV_INLINE int are_fetched_in_turn(size_t rows, size_t bytes, bool streams)
{
    return !streams && rows > 1 && bytes > NEAR;
}

/* Lines of a panel long before their turn, for L2: the first has no room for so
 * many, and the CPU's own foresight does not look so far. */
SV_INLINE void fetch_in_turn(const char *panel, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(panel + TURN + at, 0, 2);
}

static const real ZEROS[WIDEST * LANES];

/* before + what the sums of row r and vector v stand for. */
SV_INLINE vreal add_sums(vreal before, vsums sum, const tile_sides *sides, const tile_form form,
                         size_t r, size_t v)
{
#ifdef SV_WHOLE_SUMS
    (void)form;
    vlane whole = sum - *(const vlane *)(const void *)(sides->offsets + v * LANES);
    vreal value = __builtin_convertvector(whole, vreal) * v_load(sides->factors + v * LANES);
    return v_multiply_add(value, v_set(sides->row_factors[sides->first + r * sides->step]), before);
#else
    (void)r;
    if (form.type == SV_NUMBER_INT8)
        return v_multiply_add(sum, v_load(sides->factors + v * LANES), before);
    return before + sum;
#endif
}

/* Whether a column's sum is what its lanes hold, so that it can begin with the bias. */
SV_INLINE int are_sums(const sv_number_type type)
{
#ifdef SV_WHOLE_SUMS
    return 0;
#endif
    return type != SV_NUMBER_INT8;
}

/* What the sums of vector v begin with. */
SV_INLINE vsums first_sums(const tile_sides *sides, const tile_form form, size_t width, size_t v,
                           int accumulate)
{
    if (accumulate || !sides->bias || !are_sums(form.type))
        return (vsums){0};
    return (vsums)v_load_lanes(sides->bias + v * LANES, v_some(width - v * LANES));
}

/* c[rows, vectors] = before[rows at `row`, vectors] + the sums, and then += residual. */
SV_INLINE void store_rows(real *c, size_t ldc, vsums sum[MOST_ROWS][WIDEST],
                          const tile_sides *sides, const tile_form form, size_t width,
                          const real *before, size_t row, const real *residual)
{
    vsome some[WIDEST];
    SV_REGISTERS
    for (size_t v = 0; v < form.vectors; v++)
        some[v] = v_some(width - v * LANES);
    SV_UNROLLED(MOST_ROWS)
    for (size_t r = 0; r < form.rows; r++, c += ldc, before += row) {
        SV_UNROLLED(WIDEST)
        for (size_t v = 0; v < form.vectors; v++) {
            vreal value = v_load_lanes(before + v * LANES, some[v]);
            value = add_sums(value, sum[r][v], sides, form, r, v);
            if (residual)
                value += v_load_lanes(residual + r * ldc + v * LANES, some[v]);
            v_store_lanes(c + v * LANES, value, some[v]);
        }
    }
}

/* c[rows, width] = bias + or += sum[rows, width], and then += residual */
SV_INLINE void store_block(real *c, size_t ldc, vsums sum[MOST_ROWS][WIDEST],
                           const tile_sides *sides, const tile_form form, size_t width,
                           int accumulate)
{
    const real *bias = are_sums(form.type) ? NULL : sides->bias;
    const real *before = accumulate ? c : bias ? bias : ZEROS;
    const size_t row = accumulate ? ldc : 0;
    if (sides->residual)
        store_rows(c, ldc, sum, sides, form, width, before, row, sides->residual);
    else
        store_rows(c, ldc, sum, sides, form, width, before, row, NULL);
}

/* c[rows, columns], whose stores would wait for one line after another. A function of its own
 * leaves the registers of those who call it to their sums. */
static __attribute__((noinline)) void fetch_block(const real *c, size_t ldc, size_t rows,
                                                  size_t columns)
{
    for (size_t r = 0; r < rows; r++, c += ldc)
        for (size_t j = 0; j < columns; j += LINE / sizeof(real))
            __builtin_prefetch(c + j, 1);
}

/* sum[rows, vectors] += a[rows, spans] panel[spans, vectors] */
SV_INLINE void add_spans(vsums sum[MOST_ROWS][WIDEST], const tile_sides *sides,
                         const tile_form form)
{
    const size_t row = sides->row, bytes = sides->panel_row;
    for (size_t s = 0; s < sides->span_count; s++) {
        const size_t count = sides->spans[s].count;
        const real *a = sides->a + sides->spans[s].first;
        const char *panel = sides->panel + sides->spans[s].first * bytes;
        SV_UNROLLED_BY(4)
        for (size_t p = 0; p < count; p++, panel += bytes)
            add_row(sum, a + p, row, panel, form, 0);
    }
}

/* c[rows, width] = bias + or += a[rows, depth] panel[depth, width], and then += residual */
SV_INLINE void multiply_block(real *c, size_t ldc, const tile_sides *sides, const tile_form form,
                              size_t width, int accumulate)
{
    vsums sum[MOST_ROWS][WIDEST], first[WIDEST];
    SV_REGISTERS
    for (size_t v = 0; v < form.vectors; v++)
        first[v] = first_sums(sides, form, width, v, accumulate);
    SV_UNROLLED(MOST_ROWS)
    for (size_t r = 0; r < form.rows; r++) {
        SV_UNROLLED(WIDEST)
        for (size_t v = 0; v < form.vectors; v++)
            sum[r][v] = first[v];
    }
    if (sides->far)
        fetch_block(c, ldc, form.rows, width);
    if (form.fetch == SKIP_GAPS) {
        add_spans(sum, sides, form);
        store_block(c, ldc, sum, sides, form, width, accumulate);
        return;
    }
    const size_t together = rows_together(form.type),
                 bytes = form.vectors * vector_bytes(form.type);
    /* Where whole numbers' columns lie apart, the rows lie side by side; narrow numbers come here
     * in both ways. */
    const int side_by_side = form.fetch == FETCH_LEFT && number_bytes(form.type) == sizeof(real);
    const size_t row = side_by_side ? 1 : sides->row;
    const size_t column = form.fetch == FETCH_LEFT ? sides->column : 1;
    const real *a = sides->a;
    const char *panel = sides->panel;
    size_t p = 0;
    if (form.fetch == FETCH_PANEL) {
        const size_t rounds = STREAMS * sizeof(real) / number_bytes(form.type) / together;
        const size_t rows = rounds * together;
        for (size_t at = 0; (sides->in_turn || at < sides->apart) && p + rows <= sides->depth;
             at += LINE, p += rows) {
            if (sides->in_turn)
                fetch_in_turn(panel, rounds * bytes);
            else
                fetch_lines(sides->next + at, sides->apart, STREAMS * form.vectors);
            for (size_t i = 0; i < rounds; i += STREAMS) {
                SV_UNROLLED(STREAMS)
                for (size_t u = 0; u < STREAMS; u++, a += together * column, panel += bytes)
                    add_round(sum, a, row, column, panel, form);
            }
        }
    }
    SV_UNROLLED_BY(4)
    for (; p + together <= sides->depth; p += together) {
        if (form.fetch == FETCH_LEFT)
            __builtin_prefetch(a + AHEAD * column);
        add_round(sum, a, row, column, panel, form);
        a += together * column;
        panel += bytes;
    }
    if (together > 1 && p < sides->depth)
        add_row(sum, a, row, panel, form, 0);
    store_block(c, ldc, sum, sides, form, width, accumulate);
}

/* Past some rows of c, the first of which fetched what comes next. */
SV_INLINE void pass_rows(tile_sides *sides, size_t rows, size_t ldc)
{
    sides->a += rows * sides->row;
    if (sides->residual)
        sides->residual += rows * ldc;
    sides->first += rows * sides->step;
    sides->apart = 0;
    sides->in_turn = 0;
}

/* All m rows against one panel: `rows` at once, then half of them, then one by one. Where many do,
 * the first of them are written out once more, so that the others have nothing else to do. */
SV_INLINE void multiply_rows(real *c, size_t ldc, const tile_sides *sides, size_t m,
                             const tile_form form, size_t width, int accumulate)
{
    tile_sides here = *sides;
    const tile_form half = {form.rows / 2, form.vectors, form.fetch, form.type};
    const tile_form single = {1, form.vectors, form.fetch, form.type};
    const tile_form fetching = {form.rows, form.vectors, FETCH_PANEL, form.type};
    size_t i = 0;
    if (form.fetch == FETCH_NOTHING && here.in_turn && form.rows <= m) {
        multiply_block(c, ldc, &here, fetching, width, accumulate);
        pass_rows(&here, form.rows, ldc);
        i = form.rows;
    }
    for (; i + form.rows <= m; i += form.rows, pass_rows(&here, form.rows, ldc))
        multiply_block(c + i * ldc, ldc, &here, form, width, accumulate);
    for (; i + half.rows <= m; i += half.rows, pass_rows(&here, half.rows, ldc))
        multiply_block(c + i * ldc, ldc, &here, half, width, accumulate);
    for (; i < m; i++, pass_rows(&here, 1, ldc))
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

/* Functions for panels of every width, and the list of them by number of vectors. */
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

#endif
