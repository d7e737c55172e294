/* Pooling of tokens, and its backward. Compared with it: lib/layers/pooling.c, and the mean that
 * inference fuses with the last MLP block (lib/layers/mlp/mlp_head.c). */
#include "reference.h"

/* x[images, tokens, channels] -> y[images, channels]
 *   y[n, c] = sum over t < pooled of x[n, t, c] / pooled */
void reference_mean(double *y, const double *x, size_t images, size_t tokens, size_t pooled,
                    size_t channels)
{
    for (size_t n = 0; n < images; n++)
        for (size_t c = 0; c < channels; c++) {
            double sum = 0;
            for (size_t t = 0; t < pooled; t++)
                sum += x[(n * tokens + t) * channels + c];
            y[n * channels + c] = sum / (double)pooled;
        }
}

/* dy -> dx.  Of y[n, c] = sum over t < pooled of x[n, t, c] / pooled:
 *   dx[n, t, c] += dy[n, c] / pooled for t < pooled */
void reference_mean_backward(double *dx, const double *dy, size_t images, size_t tokens,
                             size_t pooled, size_t channels)
{
    for (size_t n = 0; n < images; n++)
        for (size_t t = 0; t < pooled; t++)
            for (size_t c = 0; c < channels; c++)
                dx[(n * tokens + t) * channels + c] += dy[n * channels + c] / (double)pooled;
}
