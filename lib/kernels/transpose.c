/* The transpose of a matrix. */
#include "kernels/transpose.h"
#include "kernels/local.h"

/* The first LANES rows and columns of x[rows, columns], or all if there are fewer, become columns
 * and rows of y. */
SV_INLINE void transpose_block(real *y, size_t ldy, const real *x, size_t ldx, size_t rows,
                               size_t columns)
{
    vreal block[LANES];
    SV_REGISTERS
    for (size_t i = 0; i < LANES; i++)
        block[i] = i < rows ? v_load_some(x + i * ldx, columns) : (vreal){0};
    v_transpose(block);
    for (size_t j = 0; j < LANES && j < columns; j++)
        v_store_some(y + j * ldy, block[j], rows);
}

/* y[columns, rows] = x[rows, columns]^T */
void SV_ISA(sv_transpose)(real *y, const real *x, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i += LANES)
        for (size_t j = 0; j < columns; j += LANES)
            transpose_block(y + j * rows + i, rows, x + i * columns + j, columns, rows - i,
                            columns - j);
}
