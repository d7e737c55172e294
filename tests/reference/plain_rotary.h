/* Rotary position embeddings in plain loops (Su et al. 2021). */
#ifndef PLAIN_ROTARY_H
#define PLAIN_ROTARY_H

#include "plain_model.h"

/* Each head's queries and keys of the patches, pairs of channels, turn by the angles of their
 * places in the grid. */
typedef struct plain_rotary {
    const svit_model_config *config;
    size_t images, tokens, prefix; /* tokens before the patches, which do not turn */
    plain_tensor *frequencies;     /* [2, heads, head_dim / 2], with SVIT_ROPE_MIXED */
} plain_rotary;

/* qkv[images, tokens, 3, heads, head_dim], in place; the gradient of the turned qkv to that of qkv,
 * in place, where `turned` is the result of the forward. */
void plain_rotary_forward(double *qkv, const plain_rotary *of);
void plain_rotary_backward(double *dqkv, const double *turned, const plain_rotary *of);

#endif
