/* Creation, forward and backward of a reference model. */
#include "reference_model.h"

#include "reference_layer.h"

#include <stdlib.h>
#include <string.h>

static void *new_memory(reference_model *model, size_t bytes, int is_gradient)
{
    if (model->array_count == REFERENCE_MAX_ARRAYS)
        abort();
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory)
        abort();
    model->arrays[model->array_count++] = (reference_array){memory, bytes, is_gradient};
    return memory;
}

double *reference_new_array(reference_model *model, size_t elements, int is_gradient)
{
    return new_memory(model, elements * sizeof(double), is_gradient);
}

reference_model *reference_model_create(const svit_model_config *config, size_t images)
{
    reference_model *model = calloc(1, sizeof *model);
    if (!model)
        abort();
    model->config = *config;
    model->images = images;
    model->height = config->input_height;
    model->width = config->input_width;
    model->channels = config->in_channels;
    model->layers = new_memory(model, REFERENCE_MAX_LAYERS * sizeof *model->layers, 0);
    model->x =
        reference_new_array(model, images * model->height * model->width * model->channels, 0);
    if (config->architecture == SVIT_ARCHITECTURE_VIT)
        reference_add_vit(model);
    else if (config->architecture == SVIT_ARCHITECTURE_MIXER)
        reference_add_mixer(model);
    else
        reference_add_shiftvit(model);
    model->classes = model->height * model->width * model->channels;
    model->logits = model->layers[model->layer_count - 1].y;
    model->dlogits = reference_new_array(model, images * model->classes, 0);
    return model;
}

void reference_model_free(reference_model *model)
{
    for (size_t i = 0; i < model->array_count; i++)
        free(model->arrays[i].memory);
    free(model);
}

void reference_model_forward(reference_model *model)
{
    for (size_t i = 0; i < model->layer_count; i++) {
        const reference_layer *layer = &model->layers[i];
        reference_layer_forward(layer);
        if (model->disturb)
            model->disturb(model->disturb_argument, layer->y, layer->images * layer->tokens,
                           layer->channels);
    }
}

void reference_model_backward(reference_model *model)
{
    for (size_t i = 0; i < model->array_count; i++)
        if (model->arrays[i].is_gradient)
            memset(model->arrays[i].memory, 0, model->arrays[i].bytes);
    memcpy(model->layers[model->layer_count - 1].dy, model->dlogits,
           model->images * model->classes * sizeof(double));
    for (size_t i = model->layer_count; i-- > 0;) {
        const reference_layer *layer = &model->layers[i];
        reference_layer_backward(layer);
        if (model->disturb)
            model->disturb(model->disturb_argument, layer->dx, layer->images * layer->in_tokens,
                           layer->in_channels);
    }
}
