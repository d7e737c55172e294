/* The position embedding of a ViT with its class token, and its backward. Dosovitskiy et al. 2021.
 * Compared with it: lib/layers/position.c. */
#include "reference.h"

/* x[images, tokens, channels], position[rows, channels], class_token[channels]
 * -> y[images, rows, channels], where rows = tokens, or 1 + tokens with a class token
 *   y[n] = position + (class_token, x[n]) */
void reference_position(double *y, const double *x, const double *position,
                        const double *class_token, size_t images, size_t tokens, size_t channels)
{
    const size_t first = class_token ? 1 : 0;
    for (size_t n = 0; n < images; n++)
        for (size_t t = 0; t < first + tokens; t++)
            for (size_t c = 0; c < channels; c++) {
                double value =
                    t < first ? class_token[c] : x[(n * tokens + t - first) * channels + c];
                *y++ = position[t * channels + c] + value;
            }
}

/* dy -> dx, dposition, dclass_token (NULL: no class token).  Of
 *   y[n] = position + (class_token, x[n]):
 *   dposition += dy[n];  (dclass_token, dx[n]) += dy[n] */
void reference_position_backward(double *dx, double *dposition, double *dclass_token,
                                 const double *dy, size_t images, size_t tokens, size_t channels)
{
    const size_t first = dclass_token ? 1 : 0;
    for (size_t n = 0; n < images; n++)
        for (size_t t = 0; t < first + tokens; t++)
            for (size_t c = 0; c < channels; c++, dy++) {
                dposition[t * channels + c] += *dy;
                if (t < first)
                    dclass_token[c] += *dy;
                else
                    dx[(n * tokens + t - first) * channels + c] += *dy;
            }
}
