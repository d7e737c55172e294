/* Lists of layers. */
#include "models/layer_list.h"

#include "models/architecture.h"

#include <assert.h>

/* Layers that train, as many at the most that infer only, and those that infer. */
enum { LISTS = 3 };

void sv_builder_append(sv_builder *build, sv_layer *layer)
{
    sv_layer_list *list = build->list;
    assert(list->count < list->capacity);
    layer->number = (uint32_t)list->count;
    build->map = layer->out;
    list->layers[list->count++] = layer;
    if (!layer->ops->training_only)
        list->infer[list->infer_count++] = layer;
}

void sv_builder_replace(sv_builder *build, size_t count, sv_layer *layer)
{
    sv_layer_list *list = build->list;
    list->infer_count -= count;
    assert(sv_shape_elements(layer->in) == sv_shape_elements(list->infer[list->infer_count]->in));
    list->infer[list->infer_count++] = layer;
    list->layers[list->capacity + build->replacements++] = layer;
}

/* Those that infer only come to lie behind those that train. */
static void finish(sv_builder *build)
{
    sv_layer_list *list = build->list;
    list->all = list->count;
    for (size_t i = 0; i < build->replacements; i++) {
        sv_layer *layer = list->layers[list->capacity + i];
        layer->number = (uint32_t)list->all;
        list->layers[list->all++] = layer;
    }
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
                               LISTS * sizeof *list.layers, "a list of layers", err));
    list.layers = memory;
    list.infer = list.layers + 2 * list.capacity;
    sv_builder build = {&list, 0, model, {height, width, model->config.in_channels}, err};
    svit_status status = architecture->layers(&build);
    finish(&build);
    if (status != SVIT_OK) {
        sv_layer_list_free(model->context, &list);
        return status;
    }
    *out = list;
    return SVIT_OK;
}

void sv_layer_list_free(svit_context *context, sv_layer_list *list)
{
    for (size_t i = 0; i < list->all; i++)
        sv_layer_free(context, list->layers[i]);
    sv_release(&context->allocator, list->layers, list->capacity * LISTS * sizeof *list->layers);
    *list = (sv_layer_list){0};
}
