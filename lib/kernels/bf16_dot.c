/* Products in bfloat16 by the vector unit's dot products of pairs: register tiles as tile.c's,
 * whose numbers are two of k, one beside the other in a lane. The right-hand side is packed so, and
 * the left-hand side made so, some rows and some of k at a time; where the rows lie along memory no
 * number changes its lane for it. For instruction sets that have AVX-512 with bfloat16. */
#include "kernels/gemm.h"
#include "kernels/tile_block.h"
#include "kernels/transpose.h"

enum {
    DEPTH = 192,                 /* pairs of k at once: of a panel at most 48 KiB, */
    ROWS_AT_ONCE = 96,           /* and of so many rows, whole blocks of every panel, 72 KiB; */
    SPACE = ROWS_AT_ONCE * DEPTH /* of fewer rows as many more pairs */
};

typedef void multiply_function(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,
                               int accumulate);

#define MULTIPLY_PANEL(name, vectors, rows, fetch)                                                 \
    static void name(real *c, size_t ldc, const tile_sides *sides, size_t m, size_t width,         \
                     int accumulate)                                                               \
    {                                                                                              \
        multiply_rows(c, ldc, sides, m, (tile_form){rows, vectors, fetch, SV_NUMBER_PAIR}, width,  \
                      accumulate);                                                                 \
    }
#define MULTIPLY_PANELS(prefix, fetch)                                                             \
    MULTIPLY_PANEL(prefix##_one, 1, ROWS_OF_1, fetch)                                              \
    MULTIPLY_PANEL(prefix##_two, 2, ROWS_OF_2, fetch)                                              \
    MULTIPLY_PANEL(prefix##_three, 3, ROWS_OF_3, fetch)                                            \
    MULTIPLY_PANEL(prefix##_four, 4, ROWS_OF_4, fetch)
MULTIPLY_PANELS(rows, FETCH_NOTHING)
MULTIPLY_PANELS(lines, FETCH_LEFT)

/* By whether the left-hand side's rows lie side by side, and number of vectors. */
static multiply_function *const MULTIPLIES[2][WIDEST + 1] = {
    {NULL, rows_one, rows_two, rows_three, rows_four},
    {NULL, lines_one, lines_two, lines_three, lines_four},
};

static size_t pairs_of(size_t k)
{
    return (k + 1) / 2;
}

/* Two numbers in each lane, rounded to nearest even: all lanes of two vectors in turn. */
SV_INLINE __m512i round_in_turn(__m512 first, __m512 second)
{
    return (__m512i)_mm512_cvtne2ps_pbh(second, first);
}

/* The same with first's number below second's. */
SV_INLINE __m512i round_side_by_side(__m512 first, __m512 second)
{
    const __m512i lanes =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(lanes, round_in_turn(first, second));
}

/* The first `count` numbers of memory, the others 0; nothing is read where count is 0. */
SV_INLINE __m512 load_first(const float *from, size_t count)
{
    return _mm512_maskz_loadu_ps(v_first_mask(count), from);
}

/* Up to 16 pairs of numbers that lie along memory. */
SV_INLINE __m512i load_pairs(const float *from, size_t count)
{
    size_t second = count > LANES ? count - LANES : 0;
    return round_in_turn(load_first(from, count), load_first(from + LANES, second));
}

/* A pair of each of up to 16 lines, whose numbers lie `step` apart; with `count` 1 the second one
 * is 0. */
SV_INLINE __m512i load_lines(const float *from, size_t step, size_t lines, size_t count)
{
    __m512 first = load_first(from, lines);
    return round_side_by_side(first,
                              count > 1 ? load_first(from + step, lines) : _mm512_setzero_ps());
}

/* panel[pairs of k, lanes] of b's columns along memory. */
static void pack_rows(float *panel, const float *b, size_t row, size_t k, size_t width,
                      size_t lanes)
{
    for (size_t p = 0; p < k; p += 2, b += 2 * row)
        for (size_t j = 0; j < lanes; j += LANES, panel += LANES)
            _mm512_store_si512(panel, load_lines(b + j, row, j < width ? width - j : 0, k - p));
}

/* The same of 16 columns with k along memory: 16 pairs of each are turned at once. */
static void pack_columns(float *panel, const float *b, size_t column, size_t k, size_t width,
                         size_t lanes)
{
    for (size_t p = 0; p < k; p += 2 * LANES) {
        vreal block[LANES];
        for (size_t j = 0; j < LANES; j++)
            block[j] =
                (vreal)(j < width ? load_pairs(b + j * column + p, k - p) : _mm512_setzero_si512());
        v_transpose(block);
        for (size_t i = 0; i < LANES && p + 2 * i < k; i++, panel += lanes)
            v_store(panel, block[i]);
    }
}

static void pack_panel(float *panel, const sv_operand *b, size_t first, size_t width, size_t lanes)
{
    const float *from = b->b + first * b->column;
    if (b->column == 1) {
        pack_rows(panel, from, b->row, b->k, width, lanes);
        return;
    }
    for (size_t j = 0; j < lanes; j += LANES)
        pack_columns(panel + j, from + j * b->column, b->column, b->k, j < width ? width - j : 0,
                     lanes);
}

/* Columns whose panels are cut without regard to the others'. */
static size_t group_of(const sv_operand *b)
{
    return b->group ? b->group : b->n;
}

/* The panel of b that begins with a column. */
typedef struct dot_panel {
    size_t vectors, width;
    float *numbers; /* [pairs of k, vectors * LANES] */
} dot_panel;

static dot_panel panel_at(const sv_operand *b, size_t first)
{
    size_t left = group_of(b) - first % group_of(b), vectors = vectors_of(left);
    return (dot_panel){vectors, sv_at_most(left, vectors * LANES),
                       (float *)b->packed + first * pairs_of(b->k)};
}

static void pack(const sv_kernels *kernels, const sv_operand *b)
{
    (void)kernels;
    for (size_t j = 0; j < b->n;) {
        dot_panel panel = panel_at(b, j);
        pack_panel(panel.numbers, b, j, panel.width, panel.vectors * LANES);
        j += panel.width;
    }
}

static size_t packed_bytes(const sv_kernels *kernels, size_t k, size_t n)
{
    (void)kernels;
    return panel_bytes(SV_NUMBER_PAIR, pairs_of(k), (n + LANES - 1) / LANES * LANES);
}

/* A product, of which columns first.. are computed. */
typedef struct dot_product {
    const sv_output *c;
    const sv_operand *b;
    size_t first, count;
} dot_product;

/* A part of a product: rows i.. and pairs p.. */
typedef struct dot_part {
    size_t i, rows, p, pairs;
} dot_part;

/* A left-hand side in pairs: of row i and pair p at pairs[i * row + p * column]. */
typedef struct dot_left {
    float *pairs;
    size_t row, column;
} dot_left;

/* Where rows of `depth` pairs are made: as the matrix lies, whole vectors. */
static dot_left left_in(float *pairs, const sv_left *a, size_t rows, size_t depth)
{
    if (a->column == 1)
        return (dot_left){pairs, (depth + LANES - 1) / LANES * LANES, 1};
    return (dot_left){pairs, 1, (rows + LANES - 1) / LANES * LANES};
}

/* The part of a[.., k]. */
static void make_pairs(const dot_left *to, const sv_left *a, const dot_part *part, size_t k)
{
    const float *from = a->a + part->i * a->row + 2 * part->p * a->column;
    k -= 2 * part->p;
    for (size_t r = 0; to->column == 1 && r < part->rows; r++)
        for (size_t q = 0; q < part->pairs; q += LANES)
            _mm512_storeu_si512(to->pairs + r * to->row + q,
                                load_pairs(from + r * a->row + 2 * q, k - 2 * q));
    for (size_t q = 0; to->column != 1 && q < part->pairs; q++)
        for (size_t r = 0; r < part->rows; r += LANES)
            _mm512_storeu_si512(
                to->pairs + q * to->column + r,
                load_lines(from + r + 2 * q * a->column, a->column, part->rows - r, k - 2 * q));
}

/* The part's rows of a panel's columns: so many pairs at once that those of the panel stay near. */
static void multiply_panel(const dot_product *product, const dot_left *left, const dot_part *part,
                           size_t j, const dot_panel *panel)
{
    const sv_output *c = product->c;
    multiply_function *by = MULTIPLIES[left->column != 1][panel->vectors];
    for (size_t q = 0; q < part->pairs; q += DEPTH) {
        const size_t p = part->p + q;
        tile_sides sides = {.a = left->pairs + q * left->column,
                            .row = left->row,
                            .column = left->column,
                            .panel = (const char *)(panel->numbers + p * panel->vectors * LANES),
                            .bias = c->bias ? c->bias + j : NULL,
                            .depth = sv_at_most(part->pairs - q, DEPTH)};
        by(c->c + part->i * c->ldc + j, c->ldc, &sides, part->rows, panel->width,
           c->accumulate || p > 0);
    }
}

static void multiply_part(const dot_product *product, const dot_left *left, const dot_part *part)
{
    const size_t end = product->first + product->count;
    for (size_t j = product->first; j < end;) {
        dot_panel panel = panel_at(product->b, j);
        panel.width = sv_at_most(panel.width, end - j);
        multiply_panel(product, left, part, j, &panel);
        j += panel.width;
    }
}

/* Pairs of k made at once of so many rows: whole parts of panels. Few rows have all of theirs, and
 * then each panel is read as it lies. */
static size_t pairs_at_once(size_t rows)
{
    return SPACE / ((rows + LANES - 1) / LANES * LANES) / DEPTH * DEPTH;
}

/* c[m, first..first+count-1] of a[m,k] b[k, the same columns]. Every element is summed in the order
 * of k, whatever m, first and count are. */
static void multiply(const sv_kernels *kernels, const sv_output *c, const sv_left *a,
                     const sv_operand *b, size_t m, size_t first, size_t count)
{
    float space[SPACE] __attribute__((aligned(64)));
    const dot_product product = {c, b, first, count};
    const size_t all = pairs_of(b->k), most = pairs_at_once(sv_at_most(m, ROWS_AT_ONCE));
    for (dot_part part = {0}; part.p < all; part.p += part.pairs) {
        part.pairs = sv_at_most(all - part.p, most);
        for (part.i = 0; part.i < m; part.i += part.rows) {
            part.rows = sv_at_most(m - part.i, ROWS_AT_ONCE);
            dot_left left = left_in(space, a, part.rows, part.pairs);
            make_pairs(&left, a, &part, b->k);
            multiply_part(&product, &left, &part);
            if (part.p + part.pairs == all)
                sv_gemm_finish(kernels, c, part.i, part.rows, first, count);
        }
    }
}

const sv_gemm sv_gemm_dot_bf16 = {"dot-bf16",        packed_bytes, pack, multiply,
                                  &sv_gemm_dot_bf16, NULL,         NULL};
