/* The tape records whole layers; a new layer is a forward and a backward, and nothing here. */
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
    layer->class->forward(layer, run, saved, y, x);
    if (!run->training)
        return;
    assert(tape->count < tape->capacity);
    tape->records[tape->count++] = (sv_record){layer, layer->class->keeps_input ? x : NULL, saved};
    tape->n = run->n;
}

void sv_tape_backward(sv_tape *tape, const sv_run *run, real *buffers[2])
{
    size_t from = 0;
    while (tape->count > 0) {
        const sv_record *record = &tape->records[--tape->count];
        real *dx = tape->count > 0 ? buffers[1 - from] : NULL;
        record->layer->class->backward(record->layer, run, record->saved, dx, buffers[from],
                                       record->x);
        from = 1 - from;
    }
    tape->n = 0;
}
