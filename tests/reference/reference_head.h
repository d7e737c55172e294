/* One attention head: where its arrays lie, and the scale of its scores. */
#ifndef REFERENCE_HEAD_H
#define REFERENCE_HEAD_H

#include "reference.h"

/* The arrays of one head of one image, or their gradients. Rows are tokens; a row of q, k or v is
 * qkv_stride elements after the last one, and a row of o is o_stride elements after the last one.
 */
typedef struct reference_head {
    double *q, *k, *v; /* [tokens, head_dim] */
    double *o;         /* [tokens, head_dim]: the output */
    double *p;         /* [tokens, tokens]: the attention weights */
    size_t qkv_stride, o_stride;
} reference_head;

reference_head reference_find_head(const reference_attention_activations *of,
                                   const reference_attention_shape *shape, size_t image, size_t h);

/* The factor of the scores of head h. */
double reference_score_scale(const reference_attention_shape *shape, const double *temperature,
                             size_t h);

/* dscale -> dtemperature.  Of scale = 1 / temperature[0], scale = temperature[h], or a constant. */
void reference_score_scale_backward(double *dtemperature, const reference_attention_shape *shape,
                                    double dscale, double scale, size_t h);

/* q, k, v -> o, p */
void reference_head_forward(const reference_head *a, const reference_attention_shape *shape,
                            double scale);

/* do -> dq, dk, dv, of d; returns the gradient of `scale`. */
double reference_head_backward(const reference_head *d, const reference_head *a,
                               const reference_attention_shape *shape, double scale);

/* a . b */
double reference_dot(const double *a, const double *b, size_t elements);

/* y[i] += factor * x[i] */
void reference_add_scaled(double *y, double factor, const double *x, size_t elements);

#endif
