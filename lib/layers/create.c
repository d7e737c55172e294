/* Helpers of the layers' creators. */
#include "layers/create.h"

#include <assert.h>
#include <stdio.h>

void *sv_layer_new(const sv_layer_source *source, size_t bytes, const sv_layer_ops *ops)
{
    void *memory = NULL;
    if (sv_allocate_array(&source->context->allocator, &memory, 1, bytes, ops->name, source->err))
        return NULL;
    sv_layer *layer = memory;
    *layer = (sv_layer){.ops = ops, .bytes = bytes};
    return memory;
}

void sv_layer_free(svit_context *context, sv_layer *layer)
{
    if (layer)
        sv_release(&context->allocator, layer, layer->bytes);
}

/* Extends the range of the layer's parameters in the flat arrays. */
static void note_parameter(sv_layer *layer, const sv_parameter *parameter)
{
    const size_t end = parameter->offset + parameter->desc.elements;
    if (layer->parameters_end == 0 || parameter->offset < layer->parameters_first)
        layer->parameters_first = parameter->offset;
    layer->parameters_end = end > layer->parameters_end ? end : layer->parameters_end;
    layer->trained = layer->trained || !parameter->frozen;
}

size_t sv_layer_parameter_if(sv_layer *layer, const sv_layer_source *source, const char *name,
                             const char *suffix)
{
    char full[128];
    if (!name)
        return SV_NO_PARAMETER;
    snprintf(full, sizeof full, "%s%s%s", source->prefix, name, suffix);
    const sv_parameter *parameter = sv_parameter_find(source->table, full);
    if (!parameter)
        return SV_NO_PARAMETER;
    note_parameter(layer, parameter);
    return parameter->offset;
}

size_t sv_layer_parameter(sv_layer *layer, const sv_layer_source *source, const char *name,
                          const char *suffix)
{
    size_t offset = sv_layer_parameter_if(layer, source, name, suffix);
    assert(offset != SV_NO_PARAMETER);
    return offset;
}

void sv_layer_linear(sv_layer *layer, sv_linear *linear, const sv_layer_source *source,
                     const char *name, size_t out, size_t in)
{
    sv_linear_init(linear, layer, out, in, sv_layer_parameter(layer, source, name, ".weight"),
                   sv_layer_parameter_if(layer, source, name, ".bias"));
}

void sv_layer_memory_set(sv_layer_memory *memory, const sv_arena *saved, const sv_arena *workspace,
                         const sv_arena *worker)
{
    *memory = (sv_layer_memory){saved->bytes, workspace->bytes, worker->bytes,
                                saved->overflow || workspace->overflow || worker->overflow};
}
