/* Helpers of the layers' creators. */
#include "layers/create.h"

#include <assert.h>
#include <stdio.h>

svit_status sv_layer_allocate(void **out, svit_context *context, size_t bytes,
                              const sv_layer_ops *ops, svit_error *err)
{
    SVIT_TRY(sv_allocate_array(&context->allocator, out, 1, bytes, ops->name, err));
    sv_layer *layer = *out;
    layer->ops = ops;
    layer->bytes = bytes;
    return SVIT_OK;
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

size_t sv_layer_parameter_if(sv_layer *layer, const sv_parameter_table *table, const char *prefix,
                             const char *suffix)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    const sv_parameter *parameter = sv_parameter_find(table, name);
    if (!parameter)
        return SV_NO_PARAMETER;
    note_parameter(layer, parameter);
    return parameter->offset;
}

size_t sv_layer_parameter(sv_layer *layer, const sv_parameter_table *table, const char *prefix,
                          const char *suffix)
{
    size_t offset = sv_layer_parameter_if(layer, table, prefix, suffix);
    assert(offset != SV_NO_PARAMETER);
    return offset;
}

void sv_layer_memory_set(sv_layer_memory *memory, const sv_arena *saved, const sv_arena *workspace,
                         const sv_arena *worker)
{
    *memory = (sv_layer_memory){saved->bytes, workspace->bytes, worker->bytes,
                                saved->overflow || workspace->overflow || worker->overflow};
}
