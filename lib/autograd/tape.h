/* The tape: what forward did, layer by layer, so that backward can go back over it. */
#ifndef SV_TAPE_H
#define SV_TAPE_H

#include "autograd/layer.h"

typedef struct sv_record {
    const sv_layer *layer;
    const real *x; /* where the layer keeps its input, else NULL */
    void *saved;
} sv_record;

typedef struct sv_tape {
    sv_record *records;
    size_t count, capacity;
    size_t n;         /* images of the forward that was recorded */
    uint64_t counter; /* of that forward: whoever runs a layer again draws by it */
} sv_tape;

/* Forgets everything. */
void sv_tape_clear(sv_tape *tape);

/* Runs a layer forward, in training, and records it. The capacity is planned: it always suffices.
 */
void sv_tape_forward(sv_tape *tape, const sv_layer *layer, const sv_run *run, void *saved, real *y,
                     const real *x);

/* Replays the records in reverse, down to number `until`, from the gradient in buffers[0]. The two
 * buffers, each large enough for every map, take turns and are exchanged, so that buffers[0] is
 * always the gradient at hand. The first layer's dx is not wanted. */
void sv_tape_backward(sv_tape *tape, const sv_run *run, real *buffers[2], size_t until);

#endif
