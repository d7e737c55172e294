/* Runs the tasks of a layer, adds to gradients, and plans the memory that it needs in a pass. */
#include "autograd/layer.h"

#include "base/size.h"

void sv_run_tasks(const sv_exec *exec, sv_task task, void *argument, size_t count)
{
    if (!exec->serial) {
        sv_pool_run(exec->context->pool, task, argument, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        task(argument, i, 0);
}

void sv_add_rows_to_gradient(const sv_run *run, size_t offset, const real *rows, size_t count,
                             size_t elements)
{
    real *gradient = sv_gradient(run, offset);
    if (gradient)
        run->exec.context->kernels->add_rows(gradient, rows, count, elements);
}

sv_layer_memory sv_layer_plan_workspace(const sv_layer *layer, const sv_run *run)
{
    sv_layer_memory memory = {0};
    if (layer->ops->plan_workspace)
        layer->ops->plan_workspace(layer, run, &memory);
    return memory;
}

void sv_layer_memory_max(sv_layer_memory *max, const sv_layer_memory *memory)
{
    max->workspace = sv_size_max(max->workspace, memory->workspace);
    max->worker_scratch = sv_size_max(max->worker_scratch, memory->worker_scratch);
    max->overflow = max->overflow || memory->overflow;
}
