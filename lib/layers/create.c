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

size_t sv_layer_parameter_if(const sv_parameter_table *table, const char *prefix,
                             const char *suffix)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    const sv_parameter *parameter = sv_parameter_find(table, name);
    return parameter ? parameter->offset : SV_NO_PARAMETER;
}

size_t sv_layer_parameter(const sv_parameter_table *table, const char *prefix, const char *suffix)
{
    size_t offset = sv_layer_parameter_if(table, prefix, suffix);
    assert(offset != SV_NO_PARAMETER);
    return offset;
}

void sv_layer_memory_set(sv_layer_memory *memory, const sv_arena *saved, const sv_arena *workspace,
                         const sv_arena *worker)
{
    *memory = (sv_layer_memory){saved->bytes, workspace->bytes, worker->bytes,
                                saved->overflow || workspace->overflow || worker->overflow};
}
