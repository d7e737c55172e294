/* The layers of a reference model: which reference each one calls, and its arrays. */
#ifndef REFERENCE_LAYER_H
#define REFERENCE_LAYER_H

#include "reference.h"
#include "reference_model.h"

typedef enum reference_layer_kind {
    REFERENCE_CONVOLUTION,
    REFERENCE_SPT_COPIES,
    REFERENCE_PATCH_ROWS,
    REFERENCE_DENSE,
    REFERENCE_NORM,
    REFERENCE_POSITION,
    REFERENCE_BLOCK,
    REFERENCE_TOKEN_MLP,
    REFERENCE_ATTENTION,
    REFERENCE_MEAN
} reference_layer_kind;

/* x[images, in_tokens, in_channels] -> y[images, tokens, channels]. Of the fields after these only
 * those of the layer's own kind are set. */
struct reference_layer {
    reference_layer_kind kind;
    size_t images, in_tokens, in_channels, tokens, channels;
    double *x, *y, *dx, *dy;
    /* Of a convolution, a dense layer and a norm; of a position layer the position embedding and,
     * as bias, the class token. A bias may be NULL. */
    double *weight, *bias, *dweight, *dbias;
    double *pre_gelu; /* of a dense layer with GELU */
    size_t pooled;    /* tokens of a mean */
    reference_patch_shape patches;
    reference_spt_shape spt;
    reference_norm_shape norm;
    struct {
        reference_block_shape shape;
        reference_block_parameters parameters, gradients;
        reference_block_activations saved, dsaved;
    } block;
    struct {
        reference_token_mlp_shape shape;
        reference_block_parameters parameters, gradients;
        reference_token_mlp_activations saved, dsaved;
    } token_mlp;
    struct {
        reference_attention_shape shape;
        reference_attention_parameters parameters, gradients;
        reference_attention_activations saved, dsaved;
    } attention;
};

/* x -> y, and dy -> dx and the parameters' gradients. */
void reference_layer_forward(const reference_layer *layer);
void reference_layer_backward(const reference_layer *layer);

/* Adds the parameter whose name is `name` and `suffix`. `out` is 0 for all but the weights of
 * matmuls and convolutions. */
void reference_add_parameter(reference_model *model, double **value, double **gradient, size_t out,
                             size_t elements, const char *name, const char *suffix);

/* Adds a layer whose output has the shape of its input. */
reference_layer *reference_add_same_shape(reference_model *model, reference_layer_kind kind);

/* Each of the functions below adds a layer, whose input is the output of the layer before. */
void reference_add_convolution(reference_model *model, size_t size, int same, size_t out,
                               int has_bias, const char *name);
void reference_add_spt_copies(reference_model *model, size_t half, int paper_order);
void reference_add_patch_rows(reference_model *model, size_t size);
void reference_add_dense(reference_model *model, size_t out, int gelu, const char *name);
void reference_add_norm(reference_model *model, int group, const char *name);

/* class_token: its name; NULL: there is none. */
void reference_add_position(reference_model *model, const char *position, const char *class_token);
void reference_add_mean(reference_model *model, size_t pooled);

/* Reshapes the output of the last layer to one row for each image; adds no layer. */
void reference_flatten(reference_model *model);

typedef struct reference_block_names {
    char norm[64], fc1[64], fc2[64];
} reference_block_names;

/* Images, height, width and channels of `shape.shift` are filled in. */
void reference_add_block(reference_model *model, reference_block_shape shape,
                         const reference_block_names *names);

/* Images, tokens and channels of `shape` are filled in. */
void reference_add_token_mlp(reference_model *model, reference_token_mlp_shape shape,
                             const reference_block_names *names);

typedef struct reference_attention_names {
    char norm[64], qkv[64], proj[64], temperature[64];
} reference_attention_names;

/* Images, tokens and channels of `shape` are filled in. */
void reference_add_attention(reference_model *model, reference_attention_shape shape,
                             int has_qkv_bias, int has_proj,
                             const reference_attention_names *names);

/* All layers of an architecture. */
void reference_add_shiftvit(reference_model *model);
void reference_add_vit(reference_model *model);
void reference_add_mixer(reference_model *model);

/* Memory of zeros that lives as long as the model. */
double *reference_new_array(reference_model *model, size_t elements, int is_gradient);

#endif
