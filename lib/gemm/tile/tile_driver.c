/* Matrix products by register-blocked tiles: the right-hand side is packed into panels of a few
 * vectors, each left-hand element is broadcast against a panel's row, and rows x vectors
 * accumulators stay in registers. Goto, van de Geijn 2008. A panel's numbers may be narrower than
 * those they are multiplied with: they are widened in registers, which costs little where the time
 * goes into reading them. */
#include "gemm/tile/tile_zero_skipping_impl.h"

enum {
    /* Rows of a panel used at once, a function of the CPU alone, since sums are cut by it: the
     * more, the seldomer c is read and written. L2 has room for them, and a reader in
     * turn has them in time; where they are fetched in streams the first must hold the next ones
     * too. */
    DEPTH = 768,
    DEPTH_OF_STREAMS = 192,
    ROWS_FINISHED = 72 /* whole blocks of every panel; their part of c stays near */
};

#ifdef SV_DOUBLE
enum { NUMBER_TYPES = 1 };
#else
enum { NUMBER_TYPES = SV_NUMBER_TYPES };
#endif

MULTIPLY_PANELS(multiply_gapped, SKIP_GAPS, SV_NUMBER_REAL)
static multiply_function *const GAPPED[WIDEST + 1] = PANELS(multiply_gapped);

#define MULTIPLY(prefix, type)                                                                     \
    MULTIPLY_PANELS(prefix##_far, FETCH_LEFT, type)                                                \
    MULTIPLY_PANELS(prefix##_few, FETCH_PANEL, type)
#define FETCHES(near, prefix)                                                                      \
    {                                                                                              \
        PANELS(near), PANELS(prefix##_far), PANELS(prefix##_few)                                   \
    }

MULTIPLY_PANELS(multiply_real_near, FETCH_NOTHING, SV_NUMBER_REAL)
MULTIPLY(multiply_real, SV_NUMBER_REAL)
#ifndef SV_DOUBLE
MULTIPLY(multiply_bf16, SV_NUMBER_BF16)
MULTIPLY(multiply_int8, SV_NUMBER_INT8)
#endif

/* By type of the panel's numbers, what is fetched, and number of vectors. Narrow numbers, which few
 * rows meet as a rule, have no functions of their own for many. */
static multiply_function *const MULTIPLIES[NUMBER_TYPES][FETCHES_COUNT][WIDEST + 1] = {
    FETCHES(multiply_real_near, multiply_real),
#ifndef SV_DOUBLE
    FETCHES(multiply_bf16_far, multiply_bf16), FETCHES(multiply_int8_far, multiply_int8),
    FETCHES(multiply_real_near, multiply_real)
#endif
};

/* How far apart the streams lie in which the next `bytes` are fetched, or what is left of them,
 * beside a panel of some vectors. */
static size_t streams_apart(const char *next, const char *end, size_t vectors, size_t bytes)
{
    const size_t streams = STREAMS * vectors, left = (size_t)(end - next);
    bytes = bytes < left ? bytes : left;
    return (bytes + streams * LINE - 1) / (streams * LINE) * LINE;
}

/* Columns of a product, and how they are read. */
typedef struct tile_columns {
    size_t first, count;
    tile_fetch fetch;
    const char *end; /* of what is to be fetched: of these and the columns that follow */
    int in_turn;     /* are they fetched, as they lie */
} tile_columns;

/* How c goes through its epilogue: a residual that is all of it, or nothing, while the sums are in
 * registers; a strip of c by itself, while it is near; or c as a whole, since what is kept for, or
 * from, another pass lies far away, and memory likes whole rows. */
typedef enum tile_finish { IN_REGISTERS, BY_STRIPS, AS_A_WHOLE } tile_finish;

static tile_finish finish_of(const sv_epilogue *e)
{
    if (is_shortcut(e))
        return IN_REGISTERS;
    return e->save_pre_gelu || e->pre_gelu ? AS_A_WHOLE : BY_STRIPS;
}

static void finish_rows(const sv_tile_product *product, size_t row, size_t rows, size_t first,
                        size_t count)
{
    SV_ISA(sv_finish)(product->c, product->ldc, product->epilogue, row, rows, first, count);
}

/* Rows of whole images, of each place twice as many blocks as of `rows`. */
static size_t gapped_rows(const tile_gaps *gaps, size_t rows)
{
    const size_t block = GAPPED_IMAGES * gaps->period;
    return (2 * rows + block - 1) / block * block;
}

/* All rows of a strip, by a function that skips nothing. */
static void multiply_all(const tile_strip *strip, multiply_function *whole, const tile_sides *sides,
                         const tile_gaps *gaps)
{
    if (strip->begins)
        begin_rows(strip, sides->bias, gaps, sides->first, 1);
    whole(strip->c, strip->ldc, sides, strip->rows, strip->width, strip->accumulate);
}

/* A panel's columns of c, all m rows; with `finish`, some rows at a time also go through the
 * epilogue. */
static void multiply_strip(const sv_tile_product *product, multiply_function *multiply,
                           const tile_sides *sides, const tile_gaps *gaps, const tile_strip *strip,
                           size_t m, int finish)
{
    const size_t each = gaps->period ? gapped_rows(gaps, ROWS_FINISHED) : ROWS_FINISHED;
    const size_t most = finish ? each : m;
    tile_strip here = *strip;
    tile_sides rest = *sides;
    for (size_t i = 0; i < m; i += here.rows) {
        here.rows = m - i < most ? m - i : most;
        if (gaps->period)
            multiply_places(&here, multiply, &rest, gaps);
        else
            multiply_all(&here, multiply, &rest, gaps);
        here.c += here.rows * here.ldc;
        pass_rows(&rest, here.rows, here.ldc);
        if (finish)
            finish_rows(product, i, here.rows, here.first, here.width);
    }
}

/* Whether a panel's numbers, and what is fetched beside them, leave it to the rows what they
 * meet. */
static bool can_skip(tile_fetch fetch, sv_number_type type)
{
    return fetch == FETCH_NOTHING && number_bytes(type) == sizeof(real);
}

/* Numbers p.. of k, which all panels meet before those that follow. */
typedef struct tile_part {
    size_t p, depth;
    bool last;
} tile_part;

/* A panel of some columns, number `first` the first of them. */
typedef struct tile_panel {
    const char *numbers;
    size_t first, width, vectors;
} tile_panel;

typedef struct tile_call {
    const sv_tile_product *product;
    const tile_columns *columns;
    sv_number_type type;
    tile_finish finish;
    size_t m;
    const tile_gaps *gaps; /* of the part at work */
} tile_call;

static tile_sides sides_of(const tile_call *call, const tile_part *part, const tile_panel *panel)
{
    const sv_tile_product *product = call->product;
    const sv_epilogue *e = product->epilogue;
    const size_t lanes = panel->vectors * LANES, row = lanes * number_bytes(call->type);
    const bool residual = e && e->residual && call->finish == IN_REGISTERS && part->last;
    tile_sides sides = {.a = product->a + part->p * product->column,
                        .row = product->row,
                        .column = product->column,
                        .panel = panel->numbers + panel_bytes(call->type, 0, lanes) + part->p * row,
                        .panel_row = row,
                        .factors = (const real *)(const void *)panel->numbers,
                        .bias = product->bias ? product->bias + panel->first : NULL,
                        .depth = part->depth,
                        .residual = residual ? e->residual + panel->first : NULL,
                        .step = 1,
                        .far = e && e->not_in_cache && part->p == 0,
                        .in_turn = call->columns->in_turn};
    sides.next = sides.panel + part->depth * row;
    if (call->columns->fetch == FETCH_PANEL && product->streams)
        sides.apart =
            streams_apart(sides.next, call->columns->end, panel->vectors, DEPTH_OF_STREAMS * row);
    return sides;
}

static void multiply_panel(const tile_call *call, const tile_part *part, const tile_panel *panel)
{
    const sv_tile_product *product = call->product;
    const tile_sides sides = sides_of(call, part, panel);
    const sv_zeros *zeros = call->gaps->zeros;
    const bool begins = zeros && zeros->fill && part->p == 0;
    const tile_strip strip = {.c = product->c + panel->first,
                              .ldc = product->ldc,
                              .first = panel->first,
                              .width = panel->width,
                              .accumulate = product->accumulate || part->p > 0 || begins,
                              .begins = begins};
    multiply_strip(product, MULTIPLIES[call->type][call->columns->fetch][panel->vectors], &sides,
                   call->gaps, &strip, call->m, call->finish == BY_STRIPS && part->last);
}

/* c[m, columns] = bias + a[m,k] b[k, columns], or += with `accumulate`. */
static void multiply_panels(const sv_tile_product *product, sv_number_type type, size_t m,
                            const tile_columns *columns)
{
    const size_t k = product->k, most = product->streams ? DEPTH_OF_STREAMS : DEPTH;
    tile_gaps gaps;
    const tile_call call = {product, columns, type, finish_of(product->epilogue), m, &gaps};
    find_gaps(&gaps, GAPPED, product->epilogue, can_skip(columns->fetch, type) ? m : 0);
    for (size_t p = 0; p < k; p += most) {
        const size_t depth = k - p < most ? k - p : most;
        const tile_part part = {p, depth, p + depth == k};
        find_places(&gaps, p, depth);
        tile_panel panel = {(const char *)product->packed + panel_bytes(type, k, columns->first),
                            columns->first, 0, 0};
        for (size_t left = columns->count; left > 0; left -= panel.width) {
            panel.vectors = vectors_of(left);
            const size_t lanes = panel.vectors * LANES;
            panel.width = left < lanes ? left : lanes;
            multiply_panel(&call, &part, &panel);
            panel.numbers += panel_bytes(type, k, lanes);
            panel.first += panel.width;
        }
    }
}

/* The first rows of panels that few rows meet: nothing has fetched them. */
static void fetch_first(const char *from, const char *end)
{
    const size_t apart =
        streams_apart(from, end, WIDEST, DEPTH_OF_STREAMS * WIDEST * SV_VECTOR_BYTES);
    for (size_t at = 0; at < apart; at += LINE)
        fetch_lines(from + at, apart, STREAMS * WIDEST);
}

/* The same for few rows: they meet a whole panel before the next one, so that b is read as it
 * lies. */
static void multiply_in_turn(const sv_tile_product *product, sv_number_type type, size_t m,
                             const tile_columns *columns)
{
    tile_columns here = *columns;
    const size_t end = columns->first + columns->count;
    if (product->streams)
        fetch_first((const char *)product->packed + panel_bytes(type, product->k, here.first),
                    columns->end);
    for (; here.first < end; here.first += here.count) {
        size_t lanes = vectors_of(end - here.first) * LANES;
        here.count = lanes < end - here.first ? lanes : end - here.first;
        multiply_panels(product, type, m, &here);
    }
}

/* The same, whose b is packed, element (i, p) of a at a[i * row + p * column]. Every element of c
 * is summed in the order of p, whatever m is. Many rows meet a part of each panel, which stays
 * near. */
void SV_ISA(sv_tile_multiply)(const sv_tile_product *product, sv_number_type type, size_t m,
                              size_t first, size_t count)
{
    const size_t past = (first + count + LANES - 1) / LANES * LANES;
    const char *from = (const char *)product->packed + panel_bytes(type, product->k, first);
    const char *end = (const char *)product->packed + panel_bytes(type, product->k, past);
    const size_t bytes = (size_t)(end - from);
    tile_columns columns = {first, count, FETCH_NOTHING, end,
                            are_fetched_in_turn(m, bytes, product->streams)};
    if (product->column != 1)
        columns.fetch = FETCH_LEFT;
    else if (m <= FEW_ROWS && bytes > NEAR)
        columns.fetch = FETCH_PANEL;
    if (columns.fetch == FETCH_PANEL)
        multiply_in_turn(product, type, m, &columns);
    else
        multiply_panels(product, type, m, &columns);
    if (finish_of(product->epilogue) == AS_A_WHOLE)
        finish_rows(product, 0, m, first, count);
}
