/* The table of the tile backend's kernels, compiled for several instruction sets as those of
 * kernels/kernels.h are. */
#ifndef SV_TILE_KERNELS_H
#define SV_TILE_KERNELS_H

#include "kernels/kernels.h"

/* How the numbers of a packed right-hand side are kept: as they are; in bfloat16; in a byte, each
 * column with a factor of its own; rounded to bfloat16, but at their full width, which multiplies
 * sooner than two bytes that are widened at each turn. */
typedef enum sv_number_type {
    SV_NUMBER_REAL,
    SV_NUMBER_BF16,
    SV_NUMBER_INT8,
    SV_NUMBER_ROUNDED,
    SV_NUMBER_TYPES, /* those of tile.c */
    /* For dot products (dot_product.h): */
    SV_NUMBER_PAIR, /* two in bfloat16 a lane */
    SV_NUMBER_QUAD  /* four bytes a lane, the left-hand side's unsigned */
} sv_number_type;

/* c[m, ...] = bias + or += a[m,k] b[k, ...]; element (i, p) of a at a[i * row + p * column]. */
typedef struct sv_tile_product {
    real *c;
    size_t ldc;
    int accumulate;
    const real *bias; /* a number for each column of c; NULL: 0 */
    const real *a;
    size_t row, column;
    const void *packed; /* b */
    size_t k;
    const sv_epilogue *epilogue; /* NULL: none */
    bool streams;                /* of b, what few rows will meet is fetched in streams */
} sv_tile_product;

typedef struct sv_tile_kernels {
    /* Bytes of packed B for a [k, n] matrix. */
    size_t (*packed_b_bytes)(sv_number_type type, size_t k, size_t n);
    /* Packs b[k, n], element (p, j) at b[p * row + j * column]. */
    void (*pack)(void *packed, sv_number_type type, const real *b, size_t row, size_t column,
                 size_t k, size_t n);
    /* Columns first..first+count-1 of c[m, n]. */
    void (*multiply)(const sv_tile_product *product, sv_number_type type, size_t m, size_t first,
                     size_t count);
} sv_tile_kernels;

/* The table of an instruction set, or of the best below it that this build has. */
const sv_tile_kernels *sv_tile_kernels_for(sv_isa isa);

#endif
