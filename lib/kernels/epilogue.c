/* What a product's numbers go through while they are near. */
#include "kernels/local.h"

/* c[rows, columns] of c[m, ldc], from row `row` and column `column` on, as sv_epilogue says. */
void SV_ISA(sv_finish)(real *c, size_t ldc, const sv_epilogue *e, size_t row, size_t rows,
                       size_t column, size_t columns)
{
    const size_t at = row * ldc + column;
    const sv_rows here = {e->first_token + row, rows, columns, ldc};
    sv_dropped dropped = e->dropped;
    c += at;
    if (dropped.mask)
        dropped.mask += column;
    if (e->u) {
        SV_ISA(sv_gelu_backward)(e->a ? e->a + at : NULL, c, e->u + at, dropped, here);
        return;
    }
    if (e->gelu) {
        SV_ISA(sv_gelu)(c, e->kept ? e->kept + at : NULL, c, dropped, here);
        dropped.mask = NULL;
    }
    if (e->shortcut)
        SV_ISA(sv_residual)(c, e->shortcut + at, c, dropped, e->path, e->image_tokens, here);
}
