/* A matmul with its epilogue, and its backward. Compared with it: every GEMM backend with every
 * epilogue, on each instruction set (test_reference_matmul), and the linear layers of models. */
#include "reference_matmul.h"

#include "plain_operations.h"

/* The factor of element (i, j) after GELU: dropout and DropPath. */
static double dropout_scale(const reference_epilogue *epilogue, size_t i, size_t j, size_t n)
{
    double scale = 1;
    if (epilogue->dropout)
        scale *= epilogue->dropout[i * n + j];
    if (epilogue->drop_path_scale)
        scale *= epilogue->drop_path_scale[i / epilogue->image_tokens];
    return scale;
}

/* x[m, k], weight[n, k], bias[n] -> y[m, n]
 *   sum = bias + x weight^T    (accumulate: sum = y + x weight^T)
 *   y = residual + drop_path_scale * dropout * gelu(sum) */
void reference_matmul(double *y, const double *x, const double *weight,
                      const reference_epilogue *epilogue, size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = epilogue->bias ? epilogue->bias[j] : 0;
            if (epilogue->accumulate)
                sum = y[i * n + j];
            for (size_t p = 0; p < k; p++)
                sum += x[i * k + p] * weight[j * k + p];
            if (epilogue->pre_gelu) {
                epilogue->pre_gelu[i * n + j] = sum;
                sum = plain_activation(sum, SVIT_ACTIVATION_GELU);
            }
            sum *= dropout_scale(epilogue, i, j, n);
            y[i * n + j] = sum + (epilogue->residual ? epilogue->residual[i * n + j] : 0);
        }
}

/* dy[m, n] -> dx[m, k], dweight[n, k], dbias[n], dresidual[m, n].  Of
 *   y = residual + drop_path_scale * dropout * gelu(sum),  sum = bias + x weight^T:
 *   dsum = drop_path_scale * dropout * gelu'(sum) * dy
 *   dresidual += dy;  dbias += dsum;  dweight += dsum^T x;  dx += dsum weight */
void reference_matmul_backward(double *dx, double *dweight, double *dbias, double *dresidual,
                               const double *dy, const double *x, const double *weight,
                               const reference_epilogue *epilogue, size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            double dsum = dy[i * n + j] * dropout_scale(epilogue, i, j, n);
            if (epilogue->pre_gelu)
                dsum *= plain_activation_derivative(epilogue->pre_gelu[i * n + j],
                                                    SVIT_ACTIVATION_GELU);
            if (dresidual)
                dresidual[i * n + j] += dy[i * n + j];
            if (dbias)
                dbias[j] += dsum;
            for (size_t p = 0; p < k; p++) {
                dweight[j * k + p] += dsum * x[i * k + p];
                dx[i * k + p] += dsum * weight[j * k + p];
            }
        }
}
