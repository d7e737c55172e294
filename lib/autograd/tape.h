/* The tape: it records the layers of a training forward, so that the backward can replay them in
 * reverse. One record is a whole layer, so a new layer changes nothing here. */
#ifndef SV_TAPE_H
#define SV_TAPE_H

#include "autograd/layer.h"

typedef struct sv_record {
    const sv_layer *layer;
    const real *x; /* the forward's input if the layer keeps it; otherwise NULL */
    void *saved;
} sv_record;

typedef struct sv_tape {
    sv_record *records;
    size_t count, capacity;
    size_t n;         /* images of the recorded forward; 0: nothing is recorded */
    uint64_t counter; /* sv_pass.counter of the recorded forward, by which recomputation draws the
                         same dropout masks */
} sv_tape;

/* Removes all records. */
void sv_tape_clear(sv_tape *tape);

/* Runs a layer forward in training and records it. The session has planned the capacity, so a
 * record is always free. */
void sv_tape_forward(sv_tape *tape, const sv_layer *layer, const sv_run *run, void *saved, real *y,
                     const real *x);

/* The lowest record that has to be replayed: where the input's gradient is not wanted, nothing
 * reads the dx of what lies below the lowest trained layer. Below it buffers have no gradient. */
size_t sv_tape_lowest(const sv_tape *tape, const real *dinput);

/* Replays the records in reverse, down to the one with index `until`, beginning with the gradient
 * dy in buffers[0]. Each buffer has room for the output of any layer; they are swapped after each
 * layer, so that buffers[0] is always the current gradient. The first record computes its dx to
 * `dinput`; NULL: the replay ends with the lowest trained layer, which computes none. */
void sv_tape_backward(sv_tape *tape, const sv_run *run, real *buffers[2], size_t until,
                      real *dinput);

#endif
