/* Tasks of a pass, and the memory that layers need for one. */
#include "autograd/layer.h"

void sv_run_tasks(const sv_run *run, sv_task task, void *argument, size_t count)
{
    if (!run->alone) {
        sv_pool_run(run->context->pool, task, argument, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        task(argument, i, 0);
}

sv_layer_memory sv_layer_measure(const sv_layer *layer, const sv_run *run)
{
    sv_layer_memory memory = {0};
    if (layer->class->measure)
        layer->class->measure(layer, run, &memory);
    return memory;
}

void sv_layer_memory_most(sv_layer_memory *most, const sv_layer_memory *memory)
{
    if (memory->shared > most->shared)
        most->shared = memory->shared;
    if (memory->worker > most->worker)
        most->worker = memory->worker;
    most->overflow = most->overflow || memory->overflow;
}
