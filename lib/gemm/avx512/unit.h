/* Units: what packed operands of the dot products of narrow numbers are made of. For instruction
 * sets that have AVX-512.
 *
 * A unit is 16 rows of 64 bytes. Of a left-hand side it has 16 rows of the matrix, of a right-hand
 * side 16 columns of it; as many numbers of k in a row's lanes as 64 bytes hold. A left-hand side
 * has a matrix row in a unit's row, a right-hand side a matrix column in a unit's column. */
#ifndef SV_AVX512_UNIT_H
#define SV_AVX512_UNIT_H

#include "kernels/transpose.h"

#include <immintrin.h>

enum { UNIT = 16, BLOCK = 2 * UNIT };

typedef struct unit_rows {
    __m512i rows[UNIT];
} unit_rows;

/* Where units come from: rows (of a left-hand side) or columns (of a right-hand side), by k. */
typedef struct unit_source {
    const float *x; /* element (line, p) at x[line * line_step + p * depth_step] */
    size_t line_step, depth_step;
    size_t lines, depth; /* how many there are, from here on */
} unit_source;

SV_INLINE void transpose_unit(unit_rows *unit)
{
    vreal rows[UNIT];
    memcpy(rows, unit, sizeof rows);
    v_transpose(rows);
    memcpy(unit, rows, sizeof rows);
}

#endif
