/* The epilogue of a matmul. */
#include "kernels/local.h"

static void activate(real *c, real *saved, const sv_epilogue *e, sv_dropout dropout, sv_rows rows)
{
    if (e->activation == SV_GELU)
        SV_ISA(sv_gelu)(c, saved, c, dropout, rows);
    else
        SV_ISA(sv_sigmoid_gate)
    (c, saved, c, sv_activation_gate(e->activation), dropout, rows);
}

static void activate_backward(real *c, real *hidden, const real *pre_gelu, const sv_epilogue *e,
                              sv_dropout dropout, sv_rows rows)
{
    if (e->activation == SV_GELU)
        SV_ISA(sv_gelu_backward)(hidden, c, pre_gelu, dropout, rows);
    else
        SV_ISA(sv_sigmoid_gate_backward)
    (hidden, c, pre_gelu, sv_activation_gate(e->activation), dropout, rows);
}

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
        activate_backward(c, e->hidden ? e->hidden + at : NULL, e->pre_gelu + at, e, dropout, part);
        return;
    }
    if (e->gelu) {
        activate(c, e->save_pre_gelu ? e->save_pre_gelu + at : NULL, e, dropout, part);
        dropout.mask = NULL;
    }
    if (e->residual)
        SV_ISA(sv_residual)
    (c, e->residual + at, c, dropout, e->drop_path_scale, e->image_tokens, part);
}
