/* Lists of layers. */
#include "models/layer_list.h"

#include "models/architecture.h"

void sv_builder_append(sv_builder *build, sv_layer *layer)
{
    layer->number = (uint32_t)build->list->count;
    build->map = layer->out;
    build->list->layers[build->list->count++] = layer;
}

double sv_linspace(double rate, size_t index, size_t count)
{
    return count > 1 ? rate * (double)index / (double)(count - 1) : 0;
}

svit_status sv_model_layers(sv_layer_list *out, const svit_model *model, size_t height,
                            size_t width, svit_error *err)
{
    const sv_architecture *architecture = sv_architecture_of(&model->config);
    sv_layer_list list = {.capacity = architecture->layer_count(&model->config)};
    void *memory;
    SVIT_TRY(sv_allocate_array(&model->context->allocator, &memory, list.capacity,
                               sizeof *list.layers, "a list of layers", err));
    list.layers = memory;
    sv_builder build = {&list, model, {height, width, model->config.in_channels}, err};
    svit_status status = architecture->layers(&build);
    if (status != SVIT_OK) {
        sv_layer_list_free(model->context, &list);
        return status;
    }
    *out = list;
    return SVIT_OK;
}

void sv_layer_list_free(svit_context *context, sv_layer_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        sv_layer_free(context, list->layers[i]);
    sv_release(&context->allocator, list->layers, list->capacity * sizeof *list->layers);
    *list = (sv_layer_list){0};
}
