/* Products of rows in which some columns are known to be zeros, or into which some go that nobody
 * reads: neither is computed. The tokens of one place of all images have the same gaps and lie
 * equally far apart, so they are rows of a product like any others. */
#ifndef SV_TILE_GAPS_H
#define SV_TILE_GAPS_H

#include "gemm/tile/tile_microkernel_impl.h"

/* Images whose rows of a place make a block; and spans that gaps leave of k, at most. */
enum { GAPPED_IMAGES = 8, SPANS = SV_GAPS_GROUPS + 1 };

/* The rows of one place: what there is of a part of k, and the groups of columns nobody reads. */
typedef struct tile_place {
    tile_span spans[SPANS];
    size_t span_count;
    unsigned unread;
} tile_place;

/* The gaps that a product has use for. */
typedef struct tile_gaps {
    multiply_function *const *multiply; /* by number of vectors; they skip gaps */
    size_t period; /* 0: the rows are too few to look at each place's by themselves */
    size_t first_token;
    const sv_zeros *zeros; /* NULL: none */
    const sv_gaps *unread; /* likewise */
    tile_place places[SV_GAPS_TOKENS];
    size_t whole; /* number of a place without gaps, if there is one */
} tile_gaps;

/* Whether an epilogue is a residual or nothing, which is done while the sums are in registers. */
static bool is_shortcut(const sv_epilogue *e)
{
    return !e ||
           !(e->gelu || e->pre_gelu || e->save_pre_gelu || e->dropped.mask || e->drop_path_scale);
}

/* Rows of a place that are no whole blocks would take longer than the gaps spare. Of c only what
 * goes through nothing afterwards may be left as it is. */
static void find_gaps(tile_gaps *gaps, multiply_function *const *multiply, const sv_epilogue *e,
                      size_t m)
{
    gaps->multiply = multiply;
    gaps->period = 0;
    gaps->zeros = e ? e->zeros : NULL;
    gaps->unread = e && is_shortcut(e) ? e->unread : NULL;
    if (!gaps->zeros && !gaps->unread)
        return;
    size_t period = gaps->zeros ? gaps->zeros->gaps.period : gaps->unread->period;
    gaps->period = m >= GAPPED_IMAGES * period && m % period == 0 ? period : 0;
    gaps->first_token = e->first_token;
}

static unsigned groups_at(const sv_gaps *gaps, size_t token)
{
    return gaps ? gaps->groups[token % gaps->period] : 0;
}

/* What is left of numbers p.. of k, `depth` of them. */
static size_t find_spans(tile_span spans[SPANS], const sv_gaps *zeros, unsigned groups, size_t p,
                         size_t depth)
{
    size_t count = 0, from = p;
    const size_t end = p + depth;
    for (size_t g = 0; g < SV_GAPS_GROUPS && groups >> g; g++) {
        const size_t gap = g * zeros->width, past = gap + zeros->width;
        if (!(groups >> g & 1) || past <= from || gap >= end)
            continue;
        if (gap > from)
            spans[count++] = (tile_span){from - p, gap - from};
        from = past;
    }
    if (from < end)
        spans[count++] = (tile_span){from - p, end - from};
    return count;
}

/* What each place has of a part of k. */
static void find_places(tile_gaps *gaps, size_t p, size_t depth)
{
    const sv_gaps *zeros = gaps->zeros ? &gaps->zeros->gaps : NULL;
    gaps->whole = 0;
    for (size_t i = 0; i < gaps->period; i++) {
        tile_place *place = &gaps->places[i];
        const size_t token = gaps->first_token + i;
        place->unread = groups_at(gaps->unread, token);
        place->span_count = find_spans(place->spans, zeros, groups_at(zeros, token), p, depth);
        if (!place->unread && !groups_at(zeros, token))
            gaps->whole = i;
    }
}

/* Whether somebody reads any of the columns first..end-1. */
static bool are_read(const sv_gaps *unread, unsigned groups, size_t first, size_t end)
{
    size_t g = first / unread->width;
    while (g < SV_GAPS_GROUPS && g * unread->width < end && groups >> g & 1)
        g++;
    return g * unread->width < end;
}

/* Columns first.. of c, a panel's. */
typedef struct tile_strip {
    real *c;
    size_t ldc, rows, first, width;
    int accumulate;
    bool begins; /* c is to be set to what is more in a row than its products */
} tile_strip;

/* What rows with the same gaps begin with: base + factor slope. */
typedef struct tile_begin {
    vreal base[WIDEST], slope[WIDEST];
} tile_begin;

/* Without a branch, since the next row may have other gaps. */
static void find_begin(tile_begin *begin, const tile_strip *strip, const real *bias,
                       const sv_zeros *zeros, unsigned groups)
{
    const size_t n = zeros->columns;
    for (size_t j = 0, v = 0; j < strip->width; j += LANES, v++) {
        const vsome some = v_some(strip->width - j);
        const real *fill = zeros->fill + strip->first + j;
        vreal base = bias ? v_load_lanes(bias + j, some) : (vreal){0}, slope = {0};
        SV_UNROLLED(SV_GAPS_GROUPS)
        for (size_t g = 0; g < SV_GAPS_GROUPS; g++, fill += 2 * n) {
            const vreal here = v_set((real)(groups >> g & 1));
            slope = v_multiply_add(here, v_load_lanes(fill, some), slope);
            base = v_multiply_add(here, v_load_lanes(fill + n, some), base);
        }
        begin->base[v] = base;
        begin->slope[v] = slope;
    }
}

/* The rows of a strip: number `row` the first, `step` from one to the next. */
static void begin_rows(const tile_strip *strip, const real *bias, const tile_gaps *gaps, size_t row,
                       size_t step)
{
    const sv_zeros *zeros = gaps->zeros;
    const size_t period = zeros->gaps.period;
    size_t place = (gaps->first_token + row) % period;
    tile_begin begin;
    real *c = strip->c;
    for (size_t i = 0; i < strip->rows; i++, row += step, c += strip->ldc) {
        if (i == 0 || step != period)
            find_begin(&begin, strip, bias, zeros, zeros->gaps.groups[place]);
        const vreal factor = v_set(-zeros->mean[row] * zeros->rstd[row]);
        for (size_t j = 0, v = 0; j < strip->width; j += LANES, v++)
            v_store_lanes(c + j, v_multiply_add(begin.slope[v], factor, begin.base[v]),
                          v_some(strip->width - j));
        if (step != period && ++place == period)
            place = 0;
    }
}

/* Vectors from..to-1 of the panel. */
static void multiply_vectors(const tile_strip *strip, const tile_sides *sides,
                             multiply_function *const *multiply, size_t from, size_t to)
{
    tile_sides here = *sides;
    const size_t first = from * LANES, end = to * LANES < strip->width ? to * LANES : strip->width;
    here.panel += first * sizeof(real);
    here.factors += first;
    here.offsets = here.offsets ? here.offsets + first : NULL;
    here.bias = here.bias ? here.bias + first : NULL;
    here.residual = here.residual ? here.residual + first : NULL;
    multiply[to - from](strip->c + first, strip->ldc, &here, strip->rows, end - first,
                        strip->accumulate);
}

/* Those vectors of the panel that somebody reads. */
static void multiply_read(const tile_strip *strip, const tile_sides *sides, const tile_gaps *gaps,
                          unsigned groups)
{
    const size_t vectors = (strip->width + LANES - 1) / LANES, end = strip->first + strip->width;
    size_t from = 0;
    for (size_t v = 0; v < vectors; v++) {
        const size_t first = strip->first + v * LANES, past = first + LANES;
        if (are_read(gaps->unread, groups, first, past < end ? past : end))
            continue;
        if (v > from)
            multiply_vectors(strip, sides, gaps->multiply, from, v);
        from = v + 1;
    }
    if (vectors > from)
        multiply_vectors(strip, sides, gaps->multiply, from, vectors);
}

/* The rows of one place, the first of which fetch the panel where it is fetched, by a function that
 * skips nothing. Where there is nothing of k, c is what it was. */
static void multiply_place(tile_strip strip, multiply_function *whole, tile_sides *sides,
                           const tile_gaps *gaps, const tile_place *place)
{
    if (strip.begins)
        begin_rows(&strip, sides->bias, gaps, sides->first, gaps->period);
    if (!place->span_count && strip.accumulate && !sides->residual)
        return;
    if (sides->in_turn) {
        const size_t rows = strip.rows < ROWS_OF_3 ? strip.rows : ROWS_OF_3;
        whole(strip.c, strip.ldc, sides, rows, strip.width, strip.accumulate);
        pass_rows(sides, rows, strip.ldc);
        strip.c += rows * strip.ldc;
        strip.rows -= rows;
    }
    sides->spans = place->spans;
    sides->span_count = place->span_count;
    if (place->unread)
        multiply_read(&strip, sides, gaps, place->unread);
    else
        multiply_vectors(&strip, sides, gaps->multiply, 0, (strip.width + LANES - 1) / LANES);
}

/* All rows of a strip, those of each place by themselves; the first row is of place 0. A place
 * without gaps comes first, since the first rows skip none. */
static void multiply_places(const tile_strip *strip, multiply_function *whole,
                            const tile_sides *sides, const tile_gaps *gaps)
{
    const size_t period = gaps->period;
    for (size_t n = 0; n < period; n++) {
        const size_t i = (gaps->whole + n) % period;
        tile_strip here = *strip;
        tile_sides of_place = *sides;
        here.c += i * strip->ldc;
        here.ldc *= period;
        here.rows = (strip->rows - i + period - 1) / period;
        pass_rows(&of_place, i, strip->ldc);
        of_place.in_turn = n == 0 ? sides->in_turn : 0;
        of_place.row *= period;
        of_place.step = period;
        multiply_place(here, whole, &of_place, gaps, &gaps->places[i]);
    }
}

#endif
