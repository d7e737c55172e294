/* Tasks of a pass. */
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
