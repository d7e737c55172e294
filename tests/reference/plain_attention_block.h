/* The attention block of a ViT in plain loops. */
#ifndef PLAIN_ATTENTION_BLOCK_H
#define PLAIN_ATTENTION_BLOCK_H

#include "plain_operations.h"
#include "plain_rotary.h"

/* The names of its parameters in model files that are not the same in all of them. */
typedef struct plain_attention_names {
    const char *norm, *qkv, *proj, *temperature;
} plain_attention_names;

/* Its parameters, and what its forward saves. A norm with a weight NULL is not there. */
typedef struct plain_attention_block {
    size_t rows, width; /* images * tokens, heads * head_dim */
    plain_norm norm, query_norm, key_norm, output_norm;
    plain_linear qkv, proj; /* proj.weight NULL: there is no projection */
    plain_attention attention;
    plain_differential differential; /* in its place if it has vectors */
    plain_rotary rotary;
    plain_tensor *scale;              /* LayerScale [dim]; NULL: none */
    double *normed, *branch;          /* [rows, dim]: before LayerScale */
    double *qkv_y, *turned;           /* [rows, 3 width]: of the linear map; what attends */
    double *p, *heads, *normed_heads; /* [images, heads, T, T], [rows, width] */
} plain_attention_block;

/* Adds its parameters and arrays, those of layer `layer`. `prefix` tokens of `tokens` are before
 * the patches. */
void plain_attention_block_init(plain_attention_block *block, plain_model *model,
                                const char *name_prefix, const plain_attention_names *names,
                                size_t layer, size_t prefix, size_t tokens);

/* y[rows, dim] = x + scale * proj(norm(attention(turn(norm(qkv(norm(x)))))))) */
void plain_attention_block_forward(const plain_model *model, double *y, const double *x,
                                   const plain_attention_block *block);

/* d: dy -> dx. The scratch arrays hold as much as the largest activation. */
void plain_attention_block_backward(const plain_model *model, double *d, double *scratch[4],
                                    const double *x, const plain_attention_block *block);

#endif
