/* The plain models: ViT and SL-ViT, ShiftViT and MLP-Mixer, forward and backward, in plain loops
 * and double precision. They are the specification of what the library computes, written to be
 * read: begin with plain_vit.c or plain_shiftvit.c, each from its top to its end, and look up in
 * plain_operations.c what they share. They compute without dropout and DropPath. The tests compare
 * whole sessions of the library with them (test_reference_models). */
#ifndef PLAIN_MODEL_H
#define PLAIN_MODEL_H

#include <shiftvit/model.h>

#include <stddef.h>

/* A parameter: its name, as model files have it, its value and its gradient, each [elements]. */
typedef struct plain_tensor {
    char name[96];
    size_t elements;
    size_t out; /* rows of the weight of a matmul or a convolution; 0: another parameter */
    double *value, *gradient;
} plain_tensor;

enum { PLAIN_MAX_TENSORS = 256, PLAIN_MAX_ARRAYS = 2048 };

typedef struct plain_model {
    svit_model_config config;
    size_t images, classes;
    double *x, *dx;                          /* [images, height, width, channels] */
    double *logits, *dlogits;                /* [images, classes] */
    plain_tensor tensors[PLAIN_MAX_TENSORS]; /* in the order of model files */
    size_t tensor_count;
    void *parts; /* the parameters and saved activations, as the architecture's file has them */
    /* Called with the output [rows, columns] of each step, and in a backward with the gradient of
     * its input; NULL: not called. Tests simulate rounding errors with it. */
    void (*disturb)(void *argument, double *values, size_t rows, size_t columns);
    void *disturb_argument;
    void *arrays[PLAIN_MAX_ARRAYS]; /* all memory of the model */
    size_t array_count;
} plain_model;

/* Creates the model of a valid configuration, for `images` images, with parameters of zeros. The
 * caller frees it with plain_model_free. If memory is short, the program aborts. */
plain_model *plain_model_create(const svit_model_config *config, size_t images);
void plain_model_free(plain_model *model);

/* model->x -> model->logits */
void plain_model_forward(plain_model *model);

/* model->dlogits -> the gradients of all tensors and model->dx, which it overwrites. A forward
 * comes before. */
void plain_model_backward(plain_model *model);

/* The parts of an architecture's own file: it adds its parameters and arrays to a model;
 * its forward; its backward, which adds to the gradients of the tensors. */
void plain_vit_init(plain_model *model);
void plain_vit_forward(plain_model *model);
void plain_vit_backward(plain_model *model);
void plain_shiftvit_init(plain_model *model);
void plain_shiftvit_forward(plain_model *model);
void plain_shiftvit_backward(plain_model *model);
void plain_mixer_init(plain_model *model);
void plain_mixer_forward(plain_model *model);
void plain_mixer_backward(plain_model *model);

/* Memory of zeros that lives as long as the model. */
void *plain_memory(plain_model *model, size_t bytes);
double *plain_array(plain_model *model, size_t elements);

/* Adds the parameter whose name is `prefix` and `name`. */
plain_tensor *plain_add_tensor(plain_model *model, const char *prefix, const char *name, size_t out,
                               size_t elements);

/* Hands the result of a step to the model's hook. */
void plain_step(const plain_model *model, double *values, size_t rows, size_t columns);

#endif
