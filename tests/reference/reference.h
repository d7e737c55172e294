/* References of the layers: the mathematics in plain loops and double precision, written to be
 * read. The tests of this folder compare every optimised path of the library with them.
 *
 * Arrays are row-major: a feature map is [images, height, width, channels] (NHWC), the tokens of a
 * batch are its pixels, image by image and row by row, and a weight is [out, in].
 * A forward overwrites its outputs. A backward adds (+=) to every gradient that it computes, so the
 * caller clears the gradients first. The gradient of `x` is `dx`. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stddef.h>

/* GELU in its exact form, u * Phi(u), and its derivative. Hendrycks, Gimpel 2016. */
double reference_gelu(double u);
double reference_gelu_derivative(double u);

/* The epilogue of a matmul. A field that is NULL or 0 is left out. */
typedef struct reference_epilogue {
    const double *bias;            /* [n] */
    double *pre_gelu;              /* [m, n]: if given, GELU is applied and its input saved here */
    const double *dropout;         /* [m, n]: 0 where an element is dropped, else 1 / (1 - rate) */
    const double *drop_path_scale; /* [m / image_tokens]: 0 or 1 / (1 - rate) for each image */
    size_t image_tokens;           /* rows of an image; needed with drop_path_scale */
    const double *residual;        /* [m, n] */
    int accumulate;                /* the sums are added to what y holds; then without a bias */
} reference_epilogue;

void reference_matmul(double *y, const double *x, const double *weight,
                      const reference_epilogue *epilogue, size_t m, size_t n, size_t k);

/* dbias and dresidual may be NULL. Not for a matmul that accumulates. */
void reference_matmul_backward(double *dx, double *dweight, double *dbias, double *dresidual,
                               const double *dy, const double *x, const double *weight,
                               const reference_epilogue *epilogue, size_t m, size_t n, size_t k);

/* Norms of x[groups, elements], where `elements` is a multiple of `channels`: layer norm if a group
 * is one token, group norm with one group if it is a whole image. */
typedef struct reference_norm_shape {
    size_t groups, elements, channels;
    double eps;
} reference_norm_shape;

void reference_norm(double *y, const double *x, const double *weight, const double *bias,
                    const reference_norm_shape *shape);
void reference_norm_backward(double *dx, double *dweight, double *dbias, const double *dy,
                             const double *x, const double *weight,
                             const reference_norm_shape *shape);

/* The shift of a feature map. `group` is the number of channels of each of the four groups. */
typedef struct reference_shift_shape {
    size_t images, height, width, channels, group, pixels;
    int crop; /* the Keras form: no group moves, but the border lines that a move would fill with 0
                 become 0 */
} reference_shift_shape;

void reference_shift(double *y, const double *x, const reference_shift_shape *shape);
void reference_shift_backward(double *dx, const double *dy, const reference_shift_shape *shape);

/* The shift block of ShiftViT. With shift.group 0 nothing moves: the MLP block of a ViT. */
typedef struct reference_block_shape {
    reference_shift_shape shift;
    size_t hidden;
    int group_norm; /* group norm with one group, else layer norm */
    int last_gelu;  /* GELU after the second matmul, too */
    double eps;
} reference_block_shape;

/* The parameters of a block, or their gradients. */
typedef struct reference_block_parameters {
    double *norm_weight, *norm_bias; /* [channels] */
    double *fc1_weight, *fc1_bias;   /* [hidden, channels], [hidden] */
    double *fc2_weight, *fc2_bias;   /* [channels, hidden], [channels] */
} reference_block_parameters;

/* The saved activations of a block, or their gradients. */
typedef struct reference_block_activations {
    double *x_shifted, *normalized; /* [tokens, channels] */
    double *pre_gelu, *hidden;      /* [tokens, hidden] */
    double *last_pre_gelu;          /* [tokens, channels], with last_gelu */
} reference_block_activations;

void reference_block(double *y, const reference_block_activations *saved, const double *x,
                     const reference_block_parameters *parameters,
                     const reference_block_shape *shape);
void reference_block_backward(double *dx, const reference_block_parameters *gradients,
                              const reference_block_activations *dsaved, const double *dy,
                              const reference_block_activations *saved,
                              const reference_block_parameters *parameters,
                              const reference_block_shape *shape);

/* The token MLP of an MLP-Mixer. Its parameters are those of a block, with fc1_weight [hidden,
 * tokens] and fc2_weight [tokens, hidden]. */
typedef struct reference_token_mlp_shape {
    size_t images, tokens, channels, hidden;
    double eps;
} reference_token_mlp_shape;

/* The saved activations of a token MLP, or their gradients. */
typedef struct reference_token_mlp_activations {
    double *normalized;              /* [images, tokens, channels] */
    double *normalized_t, *branch_t; /* [images, channels, tokens] */
    double *pre_gelu, *hidden;       /* [images, channels, hidden] */
} reference_token_mlp_activations;

void reference_token_mlp(double *y, const reference_token_mlp_activations *saved, const double *x,
                         const reference_block_parameters *parameters,
                         const reference_token_mlp_shape *shape);
void reference_token_mlp_backward(double *dx, const reference_block_parameters *gradients,
                                  const reference_token_mlp_activations *dsaved, const double *dy,
                                  const double *x, const reference_token_mlp_activations *saved,
                                  const reference_block_parameters *parameters,
                                  const reference_token_mlp_shape *shape);

enum {
    REFERENCE_NO_TEMPERATURE,        /* scores are divided by sqrt(head_dim) */
    REFERENCE_DIVIDE_BY_ONE,         /* LSA: one temperature divides the scores of all heads */
    REFERENCE_MULTIPLY_FOR_EACH_HEAD /* LSA as its paper's code has it: one factor a head */
};

/* The attention block of a ViT. */
typedef struct reference_attention_shape {
    size_t images, tokens, channels, heads, head_dim;
    int temperature; /* one of the constants above */
    int masked;      /* LSA: no token attends to itself */
    double eps;
} reference_attention_shape;

/* The parameters of an attention block, or their gradients; width = heads * head_dim. Biases may be
 * NULL. If proj_weight is NULL, the heads' outputs are added to x as they are. */
typedef struct reference_attention_parameters {
    double *norm_weight, *norm_bias; /* [channels] */
    double *qkv_weight, *qkv_bias;   /* [3, heads, head_dim, channels], [3, heads, head_dim] */
    double *proj_weight, *proj_bias; /* [channels, width], [channels] */
    double *temperature;             /* [1] or [heads] */
} reference_attention_parameters;

/* The saved activations of an attention block, or their gradients. */
typedef struct reference_attention_activations {
    double *normalized; /* [images, tokens, channels] */
    double *qkv;        /* [images, tokens, 3, heads, head_dim] */
    double *p;          /* [images, heads, tokens, tokens]: the attention weights */
    double *o;          /* [images, tokens, heads, head_dim] */
} reference_attention_activations;

void reference_attention(double *y, const reference_attention_activations *saved, const double *x,
                         const reference_attention_parameters *parameters,
                         const reference_attention_shape *shape);
void reference_attention_backward(double *dx, const reference_attention_parameters *gradients,
                                  const reference_attention_activations *dsaved, const double *dy,
                                  const double *x, const reference_attention_activations *saved,
                                  const reference_attention_parameters *parameters,
                                  const reference_attention_shape *shape);

/* Non-overlapping patches of a feature map: `rows` x `columns` patches of `size` x `size` pixels.
 * The map is padded with zeros, with `top` lines above it and `left` columns before it. */
typedef struct reference_patch_shape {
    size_t images, height, width, channels;
    size_t size, rows, columns, top, left;
} reference_patch_shape;

/* Fills rows, columns, top and left: SAME padding rounds up and puts half of the zero lines before
 * the map (rounded down), VALID padding (same 0) drops the pixels of incomplete patches. */
void reference_patch_padding(reference_patch_shape *shape, int same);

/* The index in x of channel 0 of a pixel of the padded map; -1: the pixel is padding. */
ptrdiff_t reference_patch_pixel(const reference_patch_shape *shape, size_t image, size_t row,
                                size_t column);

/* Patch embedding and patch merging: a convolution whose stride is its kernel's side. */
void reference_convolution(double *y, const double *x, const double *weight, const double *bias,
                           const reference_patch_shape *shape, size_t out);

/* dbias may be NULL. */
void reference_convolution_backward(double *dx, double *dweight, double *dbias, const double *dy,
                                    const double *x, const double *weight,
                                    const reference_patch_shape *shape, size_t out);

/* Cuts a map into patches, one row each. */
void reference_patch_rows(double *y, const double *x, const reference_patch_shape *shape);
void reference_patch_rows_backward(double *dx, const double *dy,
                                   const reference_patch_shape *shape);

/* Shifted patch tokenization (SPT) begins with an image and its four diagonally shifted copies. */
typedef struct reference_spt_shape {
    size_t images, height, width, channels;
    size_t half;     /* pixels that a copy moves by: patch size / 2, rounded down */
    int paper_order; /* the copies are ordered as in the paper's code, not as in the Keras one */
} reference_spt_shape;

void reference_spt_copies(double *y, const double *x, const reference_spt_shape *shape);
void reference_spt_copies_backward(double *dx, const double *dy, const reference_spt_shape *shape);

/* x[images, tokens, channels] plus a position embedding, after a class token if there is one. */
void reference_position(double *y, const double *x, const double *position,
                        const double *class_token, size_t images, size_t tokens, size_t channels);
void reference_position_backward(double *dx, double *dposition, double *dclass_token,
                                 const double *dy, size_t images, size_t tokens, size_t channels);

/* The mean over the first `pooled` tokens of each image: global average pooling if that is all of
 * them, the class token alone if it is 1. */
void reference_mean(double *y, const double *x, size_t images, size_t tokens, size_t pooled,
                    size_t channels);
void reference_mean_backward(double *dx, const double *dy, size_t images, size_t tokens,
                             size_t pooled, size_t channels);

#endif
