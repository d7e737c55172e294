/* A whole model of reference layers: a ShiftViT, ViT, SL-ViT or MLP-Mixer, forward and backward,
 * built from a configuration, with named parameters. It has neither dropout nor DropPath. Compared
 * with it: whole sessions (test_reference_models), in training and inference, with each way to save
 * memory, on each instruction set, in float32, bfloat16 and int8. */
#ifndef REFERENCE_MODEL_H
#define REFERENCE_MODEL_H

#include <shiftvit/model.h>

#include <stddef.h>

/* A parameter: its name, as model files have it, its value and its gradient, each [elements]. */
typedef struct reference_tensor {
    char name[96];
    size_t elements;
    size_t out; /* rows of the weight of a matmul or a convolution; 0: another parameter */
    double *value, *gradient;
} reference_tensor;

enum { REFERENCE_MAX_TENSORS = 256, REFERENCE_MAX_LAYERS = 64, REFERENCE_MAX_ARRAYS = 2048 };

typedef struct reference_layer reference_layer;

/* Memory of the model. Each backward clears the gradients first. */
typedef struct reference_array {
    void *memory;
    size_t bytes;
    int is_gradient;
} reference_array;

typedef struct reference_model {
    svit_model_config config;
    size_t images, classes;
    double *x;                /* [images, height, width, channels] */
    double *logits, *dlogits; /* [images, classes] */
    reference_tensor tensors[REFERENCE_MAX_TENSORS];
    size_t tensor_count;
    reference_layer *layers; /* from the image to the logits */
    size_t layer_count;
    size_t height, width, channels; /* of the last layer's output */
    /* Called after each layer with its y[rows, columns], and in a backward with its dx; NULL: not
     * called. Tests simulate rounding errors with it. */
    void (*disturb)(void *argument, double *values, size_t rows, size_t columns);
    void *disturb_argument;
    reference_array arrays[REFERENCE_MAX_ARRAYS]; /* all memory of the model */
    size_t array_count;
} reference_model;

/* Creates the model of a valid configuration, for `images` images, with parameters of zeros. The
 * caller frees it with reference_model_free. If memory is short, the program aborts. */
reference_model *reference_model_create(const svit_model_config *config, size_t images);
void reference_model_free(reference_model *model);

/* model->x -> model->logits */
void reference_model_forward(reference_model *model);

/* model->dlogits -> the gradients of all tensors, which it overwrites. A forward comes before. */
void reference_model_backward(reference_model *model);

#endif
