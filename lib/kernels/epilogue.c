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
    if (e->pre_gelu) {
        SV_ISA(sv_gelu_backward)
        (e->hidden ? e->hidden + at : NULL, c, e->pre_gelu + at, dropped, here);
        return;
    }
    if (e->gelu) {
        SV_ISA(sv_gelu)(c, e->save_pre_gelu ? e->save_pre_gelu + at : NULL, c, dropped, here);
        dropped.mask = NULL;
    }
    if (e->residual)
        SV_ISA(sv_residual)
    (c, e->residual + at, c, dropped, e->drop_path_scale, e->image_tokens, here);
}
