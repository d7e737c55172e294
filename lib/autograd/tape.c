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

size_t sv_tape_lowest(const sv_tape *tape, const real *dinput)
{
    size_t lowest = 0;
    while (!dinput && lowest < tape->count && !tape->records[lowest].layer->trained)
        lowest++;
    return lowest;
}

void sv_tape_backward(sv_tape *tape, const sv_run *run, real *buffers[2], size_t until,
                      real *dinput)
{
    const size_t lowest = sv_tape_lowest(tape, dinput);
    while (tape->count > until) {
        const sv_record *record = &tape->records[--tape->count];
        if (tape->count < lowest)
            continue;
        real *dy = buffers[0], *dx = buffers[1];
        record->layer->ops->backward(record->layer, run, record->saved,
                                     tape->count > lowest ? dx : dinput, dy, record->x);
        buffers[0] = dx;
        buffers[1] = dy;
    }
    if (tape->count == 0)
        tape->n = 0;
}
