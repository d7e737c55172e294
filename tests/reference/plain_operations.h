/* The operations that the plain models share.
 *
 * Arrays are row-major: a feature map is [images, height, width, channels] (NHWC), the tokens of a
 * batch are its pixels, image by image and row by row, and a weight is [out, in]. A forward
 * overwrites y. A backward overwrites dx, and adds (+=) to the gradients of parameters. The
 * gradient of `x` is `dx`. */
#ifndef PLAIN_OPERATIONS_H
#define PLAIN_OPERATIONS_H

#include "plain_model.h"

/* Adds the parameter `prefix``name``suffix`. */
plain_tensor *plain_add_part(plain_model *model, const char *prefix, const char *name,
                             const char *suffix, size_t out, size_t elements);

/* y[rows, out] = x[rows, in] weight^T + bias; bias may be NULL. With adapters of LoRA of rank > 0
 * the weight is weight + lora_scale * lora_b lora_a. */
typedef struct plain_linear {
    size_t out, in, rank;
    plain_tensor *weight, *bias; /* [out, in], [out] */
    double lora_scale;
    plain_tensor *lora_a, *lora_b; /* [rank, in], [out, rank] */
    double *merged, *dmerged;      /* [out, in]: the sum and its gradient */
} plain_linear;

plain_linear plain_add_linear(plain_model *model, const char *prefix, const char *name, size_t out,
                              size_t in, int has_bias);
void plain_add_lora(plain_model *model, plain_linear *map, const char *prefix, const char *name);
void plain_linear_forward(double *y, const double *x, const plain_linear *map, size_t rows);
void plain_linear_backward(double *dx, const double *dy, const double *x, const plain_linear *map,
                           size_t rows);

/* Norms of x[groups, elements], where `elements` is a multiple of `channels`: layer norm if a group
 * is one token, group norm with one group if it is a whole image. If bias is NULL, it is a
 * root-mean-square norm. If weight is NULL, the model has no such norm, and y = x. */
typedef struct plain_norm {
    size_t channels;
    double eps;
    plain_tensor *weight, *bias; /* [channels] */
} plain_norm;

plain_norm plain_add_norm(plain_model *model, const char *prefix, const char *name,
                          size_t channels);
void plain_norm_forward(double *y, const double *x, const plain_norm *norm, size_t groups,
                        size_t elements);
void plain_norm_backward(double *dx, const double *dy, const double *x, const plain_norm *norm,
                         size_t groups, size_t elements);

/* A norm that is a step of the model by itself. */
void plain_norm_step(const plain_model *model, double *y, const double *x, const plain_norm *norm,
                     size_t groups, size_t elements);
void plain_norm_step_backward(const plain_model *model, double *dx, const double *dy,
                              const double *x, const plain_norm *norm, size_t groups,
                              size_t elements);

/* y = gelu(u) in the form `activation`, SVIT_ACTIVATION_*; for one element and for arrays. */
double plain_activation(double u, int32_t activation);
double plain_activation_derivative(double u, int32_t activation);
void plain_activation_forward(double *y, const double *u, size_t elements, int32_t activation);
void plain_activation_backward(double *du, const double *dy, const double *u, size_t elements,
                               int32_t activation);

/* SwiGLU (Shazeer 2020): x[rows, 2 hidden] = (u, w) -> y[rows, hidden] = silu(u) * w */
void plain_swiglu_forward(double *y, const double *x, size_t rows, size_t hidden);
void plain_swiglu_backward(double *dx, const double *dy, const double *x, size_t rows,
                           size_t hidden);

/* y[rows, dim] = x + scale * branch; scale[dim] are the factors of LayerScale (Touvron et al.
 * 2021), or NULL. The gradient of x is dy. */
void plain_residual_forward(double *y, const double *x, const double *branch,
                            const plain_tensor *scale, size_t rows, size_t dim);
void plain_residual_backward(double *dbranch, const double *dy, const double *branch,
                             const plain_tensor *scale, size_t rows, size_t dim);

/* The attention of all heads. */
typedef struct plain_attention {
    size_t images, tokens, heads, head_dim;
    int masked;                /* LSA: no token attends to itself */
    int per_head;              /* scores are multiplied by a temperature for each head */
    plain_tensor *temperature; /* [heads] if per_head, else [1], by which scores are divided; NULL:
                                  they are divided by sqrt(head_dim) */
} plain_attention;

/* qkv[images, tokens, 3, heads, head_dim] -> heads[images, tokens, heads, head_dim], and the
 * attention weights p[images, heads, tokens, tokens]. */
void plain_attention_forward(double *heads, double *p, const double *qkv,
                             const plain_attention *of);

/* dheads -> dqkv and the temperatures' gradient; dp[tokens] is scratch. */
void plain_attention_backward(double *dqkv, double *dp, const double *dheads, const double *p,
                              const double *qkv, const plain_attention *of);

/* Differential attention (plain_differential.c): its parameters and what its forward saves. */
typedef struct plain_differential {
    size_t images, tokens, heads, half; /* half of the channels of a head */
    double lambda_init;
    plain_tensor *vectors[4]; /* q1, k1, q2, k2 [half]; NULL: there is no such attention */
    plain_norm norm;          /* of each head's output */
    double *o, *d, *p; /* [images, tokens, heads, head_dim]: before the norm, and its gradient;
                          [images, 2 heads, tokens, tokens] */
} plain_differential;

plain_differential plain_add_differential(plain_model *model, const char *prefix, size_t tokens,
                                          size_t layer);

/* qkv[images, tokens, 3, heads, head_dim] -> heads[images, tokens, heads, head_dim] */
void plain_differential_forward(double *heads, const double *qkv, const plain_differential *of);

/* dheads -> dqkv and the gradients of the parameters; dp[tokens] is scratch. */
void plain_differential_backward(double *dqkv, double *dp, const double *dheads, const double *qkv,
                                 const plain_differential *of);

/* Attention pooling of x[images, tokens, dim] to y[images, dim] and the MLP after it: its
 * parameters, what its forward saves, and scratch of its backward. */
typedef struct plain_pool {
    size_t tokens, dim, heads, head_dim;
    plain_tensor *latent; /* [dim] */
    plain_linear query, key_value, proj, fc1, fc2;
    plain_norm norm;
    double *q, *kv, *p;                        /* [dim], [rows, 2 dim], [images, heads, tokens] */
    double *o, *a, *normed, *branch, *d1, *d2; /* [images, dim] */
    double *fc1_y, *hidden, *dhidden;          /* [images, pool_mlp_dim] */
    double *dq, *dlatent, *dkv;                /* as q, latent and kv */
} plain_pool;

plain_pool plain_add_pool(plain_model *model, size_t tokens);
void plain_pool_forward(const plain_model *model, double *y, const double *x, const plain_pool *of);
void plain_pool_backward(const plain_model *model, double *dx, const double *dy, const double *x,
                         const plain_pool *of);

/* A convolution of x[images, height, width, channels] with size x size taps. Its output has rows x
 * columns pixels, `stride` pixels apart; `top` lines of zeros are above x and `left` columns before
 * it, and as many below and behind as the last tap needs. */
typedef struct plain_convolution {
    size_t images, height, width, channels;
    size_t size, stride, top, left, rows, columns, out;
    plain_tensor *weight, *bias; /* [out, channels, size, size], [out] or NULL */
} plain_convolution;

plain_convolution plain_add_convolution(plain_model *model, const char *prefix, const char *name,
                                        plain_convolution shape, int has_bias);
void plain_convolution_forward(double *y, const double *x, const plain_convolution *of);
void plain_convolution_backward(double *dx, const double *dy, const double *x,
                                const plain_convolution *of);

/* Patches of size x size pixels, of the image and, if `copies` is 5, of its diagonally shifted
 * copies. The patches divide the image. */
typedef struct plain_patches {
    size_t images, height, width, channels, size;
    size_t copies;   /* 1, or 5: shifted patch tokenization (SPT) */
    int paper_order; /* SVIT_SPT_PAPER */
} plain_patches;

/* x[images, height, width, channels] -> y[images, patches, size, size, copies, channels]; dy -> dx,
 * which it overwrites. */
void plain_patches_forward(double *y, const double *x, const plain_patches *of);
void plain_patches_backward(double *dx, const double *dy, const plain_patches *of);

/* y[images, channels] = the mean of x[images, tokens, channels]. */
void plain_mean_forward(double *y, const double *x, size_t images, size_t tokens, size_t channels);
void plain_mean_backward(double *dx, const double *dy, size_t images, size_t tokens,
                         size_t channels);

/* y = x, and y += x. */
void plain_copy(double *y, const double *x, size_t elements);
void plain_add(double *y, const double *x, size_t elements);

#endif
