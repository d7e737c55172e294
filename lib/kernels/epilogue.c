/* What a product's numbers go through while they are near. */
#include "kernels/local.h"

/* c[rows, columns] of c[m, ldc], from row `row` and column `column` on, as sv_epilogue says. */
void SV_ISA(sv_finish)(real *c, size_t ldc, const sv_epilogue *epilogue, size_t row, size_t rows,
                       size_t column, size_t columns)
{
    const size_t at = row * ldc + column;
    const sv_rows here = {epilogue->first_token + row, rows, columns, ldc};
    sv_dropped dropped = epilogue->dropped;
    c += at;
    if (dropped.mask)
        dropped.mask += column;
    if (epilogue->u) {
        SV_ISA(sv_gelu_backward)
        (epilogue->a ? epilogue->a + at : NULL, c, epilogue->u + at, dropped, here);
        return;
    }
    if (epilogue->gelu) {
        SV_ISA(sv_gelu)(c, epilogue->kept ? epilogue->kept + at : NULL, c, dropped, here);
        dropped.mask = NULL;
    }
    if (epilogue->shortcut)
        SV_ISA(sv_residual)
    (c, epilogue->shortcut + at, c, dropped, epilogue->path, epilogue->image_tokens, here);
}
