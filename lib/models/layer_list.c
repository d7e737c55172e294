/* Builds the training graph and the inference graph of a model. */
#include "models/layer_list.h"

#include "models/architecture.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

/* One allocation holds four arrays of `capacity` layers: the training graph, the fused layers, of
 * which there are at most as many, the inference graph, and the layers that have a name. */
enum { ARRAYS = 4 };

svit_status sv_builder_check_size(const sv_builder *build, const char *what)
{
    const svit_model_config *config = build->config;
    if (build->shape.height == config->input_height && build->shape.width == config->input_width)
        return SVIT_OK;
    return sv_fail(build->source.err, SVIT_E_ARGUMENT,
                   "input is %zu x %zu; this model's %s for %u x %u only", build->shape.height,
                   build->shape.width, what, config->input_height, config->input_width);
}

void sv_builder_prefix(sv_builder *build, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(build->prefix, sizeof build->prefix, format, arguments);
    va_end(arguments);
    build->source.prefix = build->prefix;
}

svit_status sv_builder_append(sv_builder *build, sv_layer *layer)
{
    sv_layer_list *list = build->list;
    if (!layer)
        return SVIT_E_MEMORY;
    assert(list->training_count < list->capacity);
    layer->number = (uint32_t)list->training_count;
    for (size_t i = 0; i < 2 && layer->parts[i]; i++)
        layer->parts[i]->number = layer->number;
    build->shape = layer->out;
    list->layers[list->training_count++] = layer;
    layer->end = list->training_count;
    if (!layer->ops->training_only)
        list->inference[list->inference_count++] = layer;
    return SVIT_OK;
}

svit_status sv_builder_norm(sv_builder *build, const char *name, bool per_image)
{
    const sv_norm_options options = {build->shape, name, per_image, build->config->norm_eps};
    return sv_builder_append(build, sv_norm_create(&build->source, &options));
}

svit_status sv_builder_dense(sv_builder *build, size_t channels, const char *name)
{
    return sv_builder_append(build, sv_dense_create(&build->source, build->shape, channels, name));
}

svit_status sv_builder_fuse(sv_builder *build, size_t count, sv_layer *layer)
{
    sv_layer_list *list = build->list;
    if (!layer)
        return SVIT_E_MEMORY;
    assert(build->fused_count < list->capacity);
    list->inference_count -= count;
    assert(sv_shape_elements(layer->in) ==
           sv_shape_elements(list->inference[list->inference_count]->in));
    layer->end = list->training_count;
    list->inference[list->inference_count++] = layer;
    list->layers[list->capacity + build->fused_count++] = layer;
    return SVIT_OK;
}

void sv_builder_name(sv_builder *build, const char *format, ...)
{
    sv_layer *layer = build->list->layers[build->list->training_count - 1];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(layer->name, sizeof layer->name, format, arguments);
    va_end(arguments);
}

void sv_layer_list_unfuse(sv_layer_list *list)
{
    list->inference_count = 0;
    for (size_t i = 0; i < list->training_count; i++)
        if (!list->layers[i]->ops->training_only)
            list->inference[list->inference_count++] = list->layers[i];
}

/* Moves the fused layers to directly behind the training graph and numbers them. */
static void number_fused(sv_builder *build)
{
    sv_layer_list *list = build->list;
    list->count = list->training_count;
    for (size_t i = 0; i < build->fused_count; i++) {
        sv_layer *layer = list->layers[list->capacity + i];
        layer->number = (uint32_t)list->count;
        list->layers[list->count++] = layer;
    }
}

static void list_named(sv_layer_list *list)
{
    for (size_t i = 0; i < list->training_count; i++)
        if (list->layers[i]->name[0] != '\0')
            list->named[list->named_count++] = list->layers[i];
}

/* Element `index` of `count` values at equal distances from 0 to `rate`. A single one is 0. */
static double linspace(double rate, size_t index, size_t count)
{
    return count > 1 ? rate * (double)index / (double)(count - 1) : 0;
}

double sv_drop_path_rate(const svit_model_config *config, size_t index, size_t first, size_t count)
{
    switch (config->drop_path_rule) {
    case SVIT_DROP_PATH_STAGE:
        return linspace(config->drop_path, index - first, count);
    case SVIT_DROP_PATH_NETWORK:
        return linspace(config->drop_path, index, sv_model_block_count(config));
    default:
        return config->drop_path;
    }
}

svit_status sv_model_layers(sv_layer_list *out, const svit_model *model, size_t height,
                            size_t width, svit_error *err)
{
    /* More than there are: most layers have two parameters or more, and no more than two without
     * any follow one another. */
    sv_layer_list list = {.capacity = 2 * model->parameters.count};
    void *memory;
    SVIT_TRY(sv_allocate_array(&model->context->allocator, &memory, list.capacity,
                               ARRAYS * sizeof *list.layers, "a list of layers", err));
    list.layers = memory;
    list.inference = list.layers + 2 * list.capacity;
    list.named = list.layers + 3 * list.capacity;
    sv_builder build = {.list = &list,
                        .config = &model->config,
                        .source = {model->context, &model->parameters, "", err},
                        .shape = {height, width, model->config.in_channels}};
    svit_status status = sv_architecture_of(&model->config)->layers(&build);
    number_fused(&build);
    list_named(&list);
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
    sv_release(&context->allocator, list->layers, list->capacity * ARRAYS * sizeof *list->layers);
    *list = (sv_layer_list){0};
}

size_t sv_layer_list_inference_until(const sv_layer_list *list, size_t end)
{
    for (size_t i = 0; i < list->inference_count; i++)
        if (list->inference[i]->end == end)
            return i + 1;
    return 0;
}
