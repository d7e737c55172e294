/* Errors of rotary position embeddings. */
#include "rows.h"

#include "base/threads/fp_env.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { HEADS = 2, PAIRS = 21, GRID_ROWS = 3, GRID_COLUMNS = 4, TOKENS = GRID_ROWS * GRID_COLUMNS };
enum { D = 2 * PAIRS, WIDTH = HEADS * D, STRIDE = 2 * WIDTH + 5, ELEMENTS = TOKENS * STRIDE };
enum { PLACES = GRID_ROWS + GRID_COLUMNS, PHASES = HEADS * PLACES * D };

/* Phases of random angles, queries, keys and what follows them. */
typedef struct operands {
    float phases[PHASES], x[ELEMENTS], dy[ELEMENTS];
    sv_rotary rotary;
} operands;

static void fill(numbers_errors *errors, operands *o, bool halves, bool per_head)
{
    float angles[PHASES / 2];
    numbers_fill_between(errors, angles, PHASES / 2, -30, 30);
    for (size_t i = 0; i < PHASES / 2; i++) {
        float *phase = o->phases + i / PAIRS * D + i % PAIRS;
        phase[0] = cosf(angles[i]);
        phase[PAIRS] = sinf(angles[i]);
    }
    numbers_fill(errors, o->x, ELEMENTS);
    numbers_fill(errors, o->dy, ELEMENTS);
    o->rotary = (sv_rotary){.phases = o->phases,
                            .rows = GRID_ROWS,
                            .columns = GRID_COLUMNS,
                            .heads = HEADS,
                            .pairs = PAIRS,
                            .stride = STRIDE,
                            .keys = WIDTH,
                            .per_head = per_head,
                            .halves = halves};
}

/* Pair j of a token's head, of queries (part 0) or keys. */
typedef struct pair {
    size_t a, b; /* indices of its channels */
    const float *row, *column;
    size_t t, h, j;
} pair;

static pair pair_of(const operands *o, size_t i)
{
    const size_t part = i / PAIRS / HEADS % 2;
    pair p = {.j = i % PAIRS, .h = i / PAIRS % HEADS, .t = i / PAIRS / HEADS / 2};
    const size_t head = p.t * STRIDE + part * WIDTH + p.h * D;
    p.a = head + (o->rotary.halves ? p.j : 2 * p.j);
    p.b = o->rotary.halves ? p.a + PAIRS : p.a + 1;
    p.row = o->phases + (o->rotary.per_head ? p.h * PLACES * D : 0);
    p.column = p.row + (GRID_ROWS + p.t % GRID_COLUMNS) * D + p.j;
    p.row += p.t / GRID_COLUMNS * D + p.j;
    return p;
}

static void run_form(numbers_errors *errors, const sv_kernels *k, bool halves, bool per_head,
                     bool inverse)
{
    static operands o;
    static float y[ELEMENTS];
    fill(errors, &o, halves, per_head);
    o.rotary.inverse = inverse;
    memcpy(y, o.x, sizeof y);
    errors->floor = 8 * (double)FLT_MIN;
    NUMBERS_CALL(k->rotary(y, &o.rotary));
    for (size_t i = 0; i < TOKENS * 2 * HEADS * PAIRS; i++) {
        const pair p = pair_of(&o, i);
        const long double cc = (long double)p.row[0] * p.column[0];
        const long double ss = (long double)p.row[PAIRS] * p.column[PAIRS];
        const long double sc = (long double)p.row[PAIRS] * p.column[0];
        const long double cs = (long double)p.row[0] * p.column[PAIRS];
        const long double cosine = cc - ss, sine = (sc + cs) * (inverse ? -1 : 1);
        const long double a = numbers_in(o.x[p.a]), b = numbers_in(o.x[p.b]);
        const long double c_terms = fabsl(cc) + fabsl(ss), s_terms = fabsl(sc) + fabsl(cs);
        numbers_see(errors, y[p.a], a * cosine - b * sine, fabsl(a) * c_terms + fabsl(b) * s_terms,
                    "a", p.a);
        numbers_see(errors, y[p.b], b * cosine + a * sine, fabsl(b) * c_terms + fabsl(a) * s_terms,
                    "b", p.b);
    }
    for (size_t t = 0; t < TOKENS; t++) /* values and gaps stay as they are */
        numbers_see_bits(errors, y + t * STRIDE + 2 * WIDTH, o.x + t * STRIDE + 2 * WIDTH,
                         STRIDE - 2 * WIDTH, "values");
}

static void run_rotary(numbers_errors *errors, const sv_kernels *k)
{
    for (int form = 0; form < 8; form++)
        run_form(errors, k, form & 1, form & 2, form & 4);
}

static void run_frequencies(numbers_errors *errors, const sv_kernels *k, bool halves)
{
    enum { SUMS = HEADS * PAIRS };
    static operands o;
    float drows[SUMS], dcolumns[SUMS], row_before[SUMS], column_before[SUMS];
    long double rows[SUMS], columns[SUMS], row_terms[SUMS], column_terms[SUMS];
    fill(errors, &o, halves, true);
    numbers_fill(errors, row_before, SUMS);
    numbers_fill(errors, column_before, SUMS);
    memcpy(drows, row_before, sizeof drows);
    memcpy(dcolumns, column_before, sizeof dcolumns);
    errors->floor = 16 * TOKENS * (double)FLT_MIN;
    NUMBERS_CALL(k->rotary_frequencies(drows, dcolumns, o.dy, o.x, &o.rotary));
    for (size_t i = 0; i < SUMS; i++) {
        rows[i] = numbers_in(row_before[i]);
        columns[i] = numbers_in(column_before[i]);
        row_terms[i] = fabsl(rows[i]);
        column_terms[i] = fabsl(columns[i]);
    }
    for (size_t i = 0; i < TOKENS * 2 * SUMS; i++) {
        const pair p = pair_of(&o, i);
        const long double a = numbers_in(o.x[p.a]), b = numbers_in(o.x[p.b]);
        const long double da = numbers_in(o.dy[p.a]), db = numbers_in(o.dy[p.b]);
        const size_t at = p.h * PAIRS + p.j, row = p.t / GRID_COLUMNS, column = p.t % GRID_COLUMNS;
        rows[at] += row * (db * a - da * b);
        columns[at] += column * (db * a - da * b);
        row_terms[at] += row * (fabsl(db * a) + fabsl(da * b));
        column_terms[at] += column * (fabsl(db * a) + fabsl(da * b));
    }
    for (size_t i = 0; i < SUMS; i++) {
        numbers_see(errors, drows[i], rows[i], row_terms[i], "drows", i);
        numbers_see(errors, dcolumns[i], columns[i], column_terms[i], "dcolumns", i);
    }
}

static void run_rotary_frequencies(numbers_errors *errors, const sv_kernels *k)
{
    run_frequencies(errors, k, false);
    run_frequencies(errors, k, true);
}

enum { PRODUCTS_FIT = NUMBERS_ALL & ~(1 << NUMBERS_LARGE | 1 << NUMBERS_WIDE) };

static const numbers_row ROWS[] = {
    {"rotary", NUMBERS_ALL & ~(1 << NUMBERS_LARGE), NUMBERS_TERMS, 5,
     "3 operations for cosine and sine each, 2 with them", run_rotary, 0, 0},
    {"rotary_frequencies", PRODUCTS_FIT, NUMBERS_TERMS, TOKENS + 5,
     "12 additions, and 5 operations for each term", run_rotary_frequencies, 0, 0},
};

NUMBERS_ROWS(numbers_rotary, ROWS);
