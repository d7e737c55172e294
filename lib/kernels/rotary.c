/* Rotary position embeddings: the rotation of queries and keys, and the gradients of learnt
 * frequencies. */
#include "kernels/local.h"

/* Cosine and sine of LANES pairs. */
typedef struct phase {
    vreal cosine, sine;
} phase;

/* The elements of the first of two vectors that hold LANES pairs of neighbours, each twice, and of
 * the second one. */
#define TWICE(j, h) ((h) + (j) / 2)
#define FIRST_TWICE(v) SV_SHUFFLE(v, v, SV_LANE_INDICES(TWICE, 0))
#define SECOND_TWICE(v) SV_SHUFFLE(v, v, SV_LANE_INDICES(TWICE, LANES / 2))

/* The elements of both vectors with even indices, h = 0, or odd ones, h = 1. */
#define EVERY_OTHER(j, h) (2 * (j) + (h))
#define ALTERNATE(a, b, h) SV_SHUFFLE(a, b, SV_LANE_INDICES(EVERY_OTHER, h))

/* Elements of the second of two vectors that hold `count` pairs of neighbours. */
SV_INLINE size_t second_count(size_t count)
{
    return 2 * count > LANES ? 2 * count - LANES : 0;
}

/* cos(a + b) = cos a cos b - sin a sin b,  sin(a + b) = sin a cos b + cos a sin b, of the pairs
 * from `first` on. If one angle is 0, the result is exactly the other's. */
SV_INLINE phase sum_of(const real *a, const real *b, size_t first, size_t pairs)
{
    const size_t count = pairs - first;
    const vreal ca = v_load_some(a + first, count), sa = v_load_some(a + pairs + first, count);
    const vreal cb = v_load_some(b + first, count), sb = v_load_some(b + pairs + first, count);
    return (phase){v_multiply_add(ca, cb, -(sa * sb)), v_multiply_add(sa, cb, ca * sb)};
}

/* y[j] = x[j] cos - x[j + pairs] sin,  y[j + pairs] = x[j + pairs] cos + x[j] sin */
SV_INLINE void rotate_halves(real *x, size_t pairs, phase by, size_t count)
{
    const vreal a = v_load_some(x, count), b = v_load_some(x + pairs, count);
    v_store_some(x, v_multiply_add(a, by.cosine, -(b * by.sine)), count);
    v_store_some(x + pairs, v_multiply_add(b, by.cosine, a * by.sine), count);
}

/* Cosines and sines as neighbours are multiplied by them: each cosine twice, each sine once with
 * the opposite sign. */
typedef struct neighbour_phase {
    vreal cosine[2], sine[2];
} neighbour_phase;

SV_INLINE neighbour_phase neighbour_phase_of(phase by)
{
    const vlane is_even = (v_lane_indices() & 1) == 0;
    const vreal first = FIRST_TWICE(by.sine), second = SECOND_TWICE(by.sine);
    return (neighbour_phase){
        {FIRST_TWICE(by.cosine), SECOND_TWICE(by.cosine)},
        {v_select(is_even, -first, first), v_select(is_even, -second, second)}};
}

/* y[2 j] = x[2 j] cos - x[2 j + 1] sin,  y[2 j + 1] = x[2 j + 1] cos + x[2 j] sin */
SV_INLINE void rotate_neighbours(real *x, const neighbour_phase *by, size_t count)
{
    for (size_t i = 0; i < 2; i++, x += LANES) {
        const size_t elements = i == 0 ? 2 * count : second_count(count);
        if (elements == 0)
            return;
        const vreal v = v_load_some(x, elements);
        v_store_some(x, v_multiply_add(v, by->cosine[i], SV_SWAPPED(v, 1) * by->sine[i]), elements);
    }
}

/* Pairs from `first` on of the heads that share the phase, of their queries and keys. */
SV_INLINE void rotate_heads(real *q, const sv_rotary *rotary, phase by, size_t first, size_t heads)
{
    const size_t pairs = rotary->pairs, count = pairs - first;
    if (rotary->halves) {
        for (size_t h = 0; h < heads; h++, q += 2 * pairs) {
            rotate_halves(q + first, pairs, by, count);
            rotate_halves(q + rotary->keys + first, pairs, by, count);
        }
        return;
    }
    const neighbour_phase each = neighbour_phase_of(by);
    for (size_t h = 0; h < heads; h++, q += 2 * pairs) {
        rotate_neighbours(q + 2 * first, &each, count);
        rotate_neighbours(q + rotary->keys + 2 * first, &each, count);
    }
}

/* Rotates each pair (a, b) of the queries and keys of all tokens and heads by the angle phi of its
 * place in the grid:  a cos phi - b sin phi,  b cos phi + a sin phi.  In place. Su et al. 2021. */
void SV_ISA(sv_rotary)(real *q, const sv_rotary *rotary)
{
    const size_t pairs = rotary->pairs, places = rotary->rows + rotary->columns;
    const size_t heads = rotary->per_head ? 1 : rotary->heads; /* that share their phases */
    for (size_t t = 0; t < rotary->rows * rotary->columns; t++, q += rotary->stride) {
        const real *row = rotary->phases + t / rotary->columns * 2 * pairs;
        const real *column = rotary->phases + (rotary->rows + t % rotary->columns) * 2 * pairs;
        for (size_t h = 0; h < rotary->heads; h += heads)
            for (size_t i = 0; i < pairs; i += LANES) {
                const size_t at = h * places * 2 * pairs;
                phase by = sum_of(row + at, column + at, i, pairs);
                if (rotary->inverse)
                    by.sine = -by.sine;
                rotate_heads(q + h * 2 * pairs, rotary, by, i, heads);
            }
    }
}

/* The gradient of the angles of `count` pairs from their rotated values: of y = rotate(x, phi) it
 * is dphi = dy[b] y[a] - dy[a] y[b]. */
SV_INLINE vreal angle_gradient(const real *dy, const real *y, const sv_rotary *rotary, size_t first)
{
    const size_t pairs = rotary->pairs, count = pairs - first, rest = second_count(count);
    vreal a, b, da, db;
    if (rotary->halves) {
        a = v_load_some(y + first, count);
        b = v_load_some(y + pairs + first, count);
        da = v_load_some(dy + first, count);
        db = v_load_some(dy + pairs + first, count);
    } else {
        const vreal y0 = v_load_some(y + 2 * first, 2 * count);
        const vreal y1 = v_load_some(y + 2 * first + LANES, rest);
        const vreal d0 = v_load_some(dy + 2 * first, 2 * count);
        const vreal d1 = v_load_some(dy + 2 * first + LANES, rest);
        a = ALTERNATE(y0, y1, 0);
        b = ALTERNATE(y0, y1, 1);
        da = ALTERNATE(d0, d1, 0);
        db = ALTERNATE(d0, d1, 1);
    }
    return v_multiply_add(db, a, -(da * b));
}

/* The angle of pair j is row * frequency_of_rows[j] + column * frequency_of_columns[j], for the
 * query and the key:  drows += row dphi,  dcolumns += column dphi,  tokens in their order. */
void SV_ISA(sv_rotary_frequencies)(real *drows, real *dcolumns, const real *dq, const real *q,
                                   const sv_rotary *rotary)
{
    const size_t pairs = rotary->pairs, keys = rotary->keys;
    for (size_t t = 0; t < rotary->rows * rotary->columns; t++) {
        const vreal row = v_set((real)(t / rotary->columns));
        const vreal column = v_set((real)(t % rotary->columns));
        const real *y = q + t * rotary->stride, *dy = dq + t * rotary->stride;
        for (size_t h = 0; h < rotary->heads; h++, y += 2 * pairs, dy += 2 * pairs)
            for (size_t i = 0; i < pairs; i += LANES) {
                const size_t count = pairs - i, at = h * pairs + i;
                const vreal dphi = angle_gradient(dy, y, rotary, i) +
                                   angle_gradient(dy + keys, y + keys, rotary, i);
                v_store_some(drows + at, v_multiply_add(row, dphi, v_load_some(drows + at, count)),
                             count);
                v_store_some(dcolumns + at,
                             v_multiply_add(column, dphi, v_load_some(dcolumns + at, count)),
                             count);
            }
    }
}
