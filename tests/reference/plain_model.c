/* What the plain models share: memory, named parameters, and the choice of the architecture. */
#include "plain_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *plain_memory(plain_model *model, size_t bytes)
{
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory || model->array_count == PLAIN_MAX_ARRAYS)
        abort();
    return model->arrays[model->array_count++] = memory;
}

double *plain_array(plain_model *model, size_t elements)
{
    return plain_memory(model, elements * sizeof(double));
}

plain_tensor *plain_add_tensor(plain_model *model, const char *prefix, const char *name, size_t out,
                               size_t elements)
{
    if (model->tensor_count == PLAIN_MAX_TENSORS)
        abort();
    plain_tensor *tensor = &model->tensors[model->tensor_count++];
    snprintf(tensor->name, sizeof tensor->name, "%s%s", prefix, name);
    tensor->elements = elements;
    tensor->out = out;
    tensor->value = plain_array(model, elements);
    tensor->gradient = plain_array(model, elements);
    return tensor;
}

void plain_step(const plain_model *model, double *values, size_t rows, size_t columns)
{
    if (model->disturb)
        model->disturb(model->disturb_argument, values, rows, columns);
}

/* Indexed by SVIT_ARCHITECTURE_*. */
static const struct {
    void (*init)(plain_model *model), (*forward)(plain_model *model),
        (*backward)(plain_model *model);
} ARCHITECTURES[] = {
    [SVIT_ARCHITECTURE_SHIFTVIT] = {plain_shiftvit_init, plain_shiftvit_forward,
                                    plain_shiftvit_backward},
    [SVIT_ARCHITECTURE_VIT] = {plain_vit_init, plain_vit_forward, plain_vit_backward},
    [SVIT_ARCHITECTURE_MIXER] = {plain_mixer_init, plain_mixer_forward, plain_mixer_backward}};

plain_model *plain_model_create(const svit_model_config *config, size_t images)
{
    const size_t pixels = (size_t)config->input_height * config->input_width;
    plain_model *model = calloc(1, sizeof *model);
    if (!model)
        abort();
    model->config = *config;
    model->images = images;
    model->classes = config->num_classes;
    model->x = plain_array(model, images * pixels * config->in_channels);
    model->dx = plain_array(model, images * pixels * config->in_channels);
    model->logits = plain_array(model, images * model->classes);
    model->dlogits = plain_array(model, images * model->classes);
    ARCHITECTURES[config->architecture].init(model);
    return model;
}

void plain_model_free(plain_model *model)
{
    for (size_t i = 0; i < model->array_count; i++)
        free(model->arrays[i]);
    free(model);
}

void plain_model_forward(plain_model *model)
{
    ARCHITECTURES[model->config.architecture].forward(model);
}

void plain_model_backward(plain_model *model)
{
    for (size_t i = 0; i < model->tensor_count; i++)
        memset(model->tensors[i].gradient, 0, model->tensors[i].elements * sizeof(double));
    ARCHITECTURES[model->config.architecture].backward(model);
}
