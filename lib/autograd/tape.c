/* Recording a forward and replaying it in reverse. */
#include "autograd/tape.h"

#include <assert.h>

void sv_tape_clear(sv_tape *tape)
{
    tape->count = 0;
    tape->n = 0;
}

void sv_tape_forward(sv_tape *tape, const sv_layer *layer, const sv_run *run, void *saved, real *y,
                     const real *x)
{
    layer->ops->forward(layer, run, saved, y, x);
    assert(tape->count < tape->capacity);
    tape->records[tape->count++] = (sv_record){layer, layer->ops->keeps_input ? x : NULL, saved};
    tape->n = run->pass.n;
    tape->counter = run->pass.counter;
}

void sv_tape_backward(sv_tape *tape, const sv_run *run, real *buffers[2], size_t until,
                      real *dinput)
{
    while (tape->count > until) {
        const sv_record *record = &tape->records[--tape->count];
        real *dy = buffers[0], *dx = buffers[1];
        record->layer->ops->backward(record->layer, run, record->saved,
                                     tape->count > 0 ? dx : dinput, dy, record->x);
        buffers[0] = dx;
        buffers[1] = dy;
    }
    if (tape->count == 0)
        tape->n = 0;
}
