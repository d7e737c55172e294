/* Runs matmuls of a backend of the library on the arrays of a reference. */
#include "library_matmul.h"

static real *to_real(const double *values, size_t elements)
{
    real *copy = malloc((elements ? elements : 1) * sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    for (size_t i = 0; i < elements; i++)
        copy[i] = (real)values[i];
    return copy;
}

static void copy_back(double *to, real *from, size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        to[i] = (double)from[i];
    free(from);
}

/* A copy of values[rows, columns], or of its transpose. */
static real *to_matrix(const double *values, size_t rows, size_t columns, bool transposed)
{
    real *copy = to_real(values, rows * columns);
    for (size_t i = 0; transposed && i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            copy[j * rows + i] = (real)values[i * columns + j];
    return copy;
}

/* The bits of a dropout mask for the rows from token `first` on, and the factor of the elements
 * that are not dropout. */
static sv_dropout to_mask(const double *dropout, size_t first, size_t m, size_t n)
{
    sv_dropout copy = {NULL, 1};
    if (!dropout)
        return copy;
    uint32_t *words = calloc(((first + m) / 32 + 1) * n, sizeof *words);
    ck_assert_ptr_nonnull(words);
    for (size_t i = 0; i < m * n; i++)
        if (dropout[i] != 0) {
            const size_t token = first + i / n;
            words[token / 32 * n + i % n] |= (uint32_t)1 << token % 32;
            copy.scale = (real)dropout[i];
        }
    copy.mask = words;
    return copy;
}

static real *to_drop_path_scale(const reference_epilogue *epilogue, size_t first, size_t m)
{
    if (!epilogue->drop_path_scale)
        return NULL;
    const size_t before = first / epilogue->image_tokens, images = m / epilogue->image_tokens + 1;
    real *copy = calloc(before + images, sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    for (size_t i = 0; i * epilogue->image_tokens < m; i++)
        copy[before + i] = (real)epilogue->drop_path_scale[i];
    return copy;
}

size_t library_split(size_t n, size_t choice)
{
    const size_t rest = n % SV_GEMM_SPLIT_COLUMNS ? SV_GEMM_SPLIT_TAIL : SV_GEMM_SPLIT_COLUMNS;
    if (n < SV_GEMM_SPLIT_COLUMNS + rest)
        return 0;
    return (1 + choice % ((n - rest) / SV_GEMM_SPLIT_COLUMNS)) * SV_GEMM_SPLIT_COLUMNS;
}

/* out[m, n] of x and weight, through the epilogue that `out` names. */
static void run_matmul(const subject *of, const sv_kernels *kernels, const library_layout *layout,
                       const sv_gemm_c *out, const double *x, const double *weight, size_t m,
                       size_t n, size_t k)
{
    const bool transposed_x = layout->transposed_x && takes_column_major(of->gemm);
    real *a = to_matrix(x, m, k, transposed_x);
    real *b = to_matrix(weight, n, k, layout->transposed_weight);
    sv_gemm_b b_operand = {.b = b, .k = k, .n = n, .packed = packed_memory(of, kernels, k, n)};
    b_operand.row_stride = layout->transposed_weight ? n : 1;
    b_operand.column_stride = layout->transposed_weight ? 1 : k;
    const sv_gemm_a a_operand = {a, transposed_x ? 1 : k, transposed_x ? m : 1, NULL};
    of->gemm->pack_b(kernels, &b_operand);
    if (layout->split)
        of->gemm->matmul(kernels, out, &a_operand, &b_operand, m, 0, layout->split);
    of->gemm->matmul(kernels, out, &a_operand, &b_operand, m, layout->split, n - layout->split);
    free(b_operand.packed);
    free(a);
    free(b);
}

void library_matmul(const subject *of, const sv_kernels *kernels, const library_layout *layout,
                    double *y, const double *x, const double *weight,
                    const reference_epilogue *epilogue, size_t m, size_t n, size_t k)
{
    real *c = to_real(y, m * n), *pre_gelu = to_real(y, m * n);
    real *bias = epilogue->bias ? to_real(epilogue->bias, n) : NULL;
    real *residual = epilogue->residual ? to_real(epilogue->residual, m * n) : NULL;
    real *drop_path_scale = to_drop_path_scale(epilogue, layout->first_token, m);
    const sv_dropout mask = to_mask(epilogue->dropout, layout->first_token, m, n);
    const sv_epilogue library_epilogue = {.dropout = mask,
                                          .first_token = layout->first_token,
                                          .gelu = epilogue->pre_gelu != NULL,
                                          .save_pre_gelu = epilogue->pre_gelu ? pre_gelu : NULL,
                                          .residual = residual,
                                          .drop_path_scale = drop_path_scale,
                                          .image_tokens = epilogue->image_tokens};
    const sv_gemm_c out = {c, n, epilogue->accumulate, bias, &library_epilogue};
    run_matmul(of, kernels, layout, &out, x, weight, m, n, k);
    copy_back(y, c, m * n);
    if (epilogue->pre_gelu)
        copy_back(epilogue->pre_gelu, pre_gelu, m * n);
    else
        free(pre_gelu);
    free(bias);
    free(residual);
    free(drop_path_scale);
    free((void *)mask.mask);
}

void library_matmul_gelu_backward(const subject *of, const sv_kernels *kernels,
                                  const library_layout *layout, double *y, double *hidden,
                                  const double *x, const double *weight, const double *pre_gelu,
                                  const double *dropout, size_t m, size_t n, size_t k)
{
    real *c = to_real(y, m * n), *a = to_real(y, m * n), *u = to_real(pre_gelu, m * n);
    const sv_dropout mask = to_mask(dropout, layout->first_token, m, n);
    const sv_epilogue library_epilogue = {
        .dropout = mask, .first_token = layout->first_token, .pre_gelu = u, .hidden = a};
    const sv_gemm_c out = {c, n, 0, NULL, &library_epilogue};
    run_matmul(of, kernels, layout, &out, x, weight, m, n, k);
    copy_back(y, c, m * n);
    copy_back(hidden, a, m * n);
    free(u);
    free((void *)mask.mask);
}

void library_weight_gradient(const subject *of, const sv_kernels *kernels, double *y,
                             const double *x, const double *z, size_t m, size_t n, size_t k)
{
    void *scratch = NULL;
    ck_assert_int_eq(posix_memalign(&scratch, 64, SV_GEMM_SCRATCH), 0);
    real *c = to_real(y, m * n), *a = to_real(x, k * m), *b = to_real(z, k * n);
    sv_gemm_weight_gradient(of->gemm, kernels, c, n, a, m, b, n, m, n, k, scratch);
    copy_back(y, c, m * n);
    free(a);
    free(b);
    free(scratch);
}

double library_weight_gradient_rounding(const subject *of)
{
    double rounding = 0;
    for (size_t i = 0; i < SUBJECT_COUNT; i++)
        if (SUBJECTS[i].gemm == of->gemm->activations)
            rounding = SUBJECTS[i].a_error + SUBJECTS[i].b_error;
    return rounding;
}
