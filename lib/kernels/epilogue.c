/* The epilogue of a matmul. */
#include "kernels/local.h"

/* Applies the epilogue to rows row.. and columns column.. of c[m, ldc]. */
void SV_ISA(sv_apply_epilogue)(real *c, size_t ldc, const sv_epilogue *e, size_t row, size_t rows,
                               size_t column, size_t columns)
{
    const size_t at = row * ldc + column;
    const sv_rows part = {e->first_token + row, rows, columns, ldc};
    sv_dropout dropout = e->dropout;
    c += at;
    if (dropout.mask)
        dropout.mask += column;
    if (e->pre_gelu) {
        SV_ISA(sv_gelu_backward)
        (e->hidden ? e->hidden + at : NULL, c, e->pre_gelu + at, dropout, part);
        return;
    }
    if (e->gelu) {
        SV_ISA(sv_gelu)(c, e->save_pre_gelu ? e->save_pre_gelu + at : NULL, c, dropout, part);
        dropout.mask = NULL;
    }
    if (e->residual)
        SV_ISA(sv_residual)
    (c, e->residual + at, c, dropout, e->drop_path_scale, e->image_tokens, part);
}
