/* Activation checkpointing: which segments of layers save their activations until the backward, and
 * which are recomputed from their input. */
#ifndef SV_SEGMENTS_H
#define SV_SEGMENTS_H

#include "context/context.h"

/* Bytes of one layer in training. */
typedef struct sv_layer_cost {
    size_t saved;     /* activations saved from the forward to the backward */
    size_t input;     /* the layer's input */
    bool keeps_input; /* the backward also reads the input */
} sv_layer_cost;

/* A segment: layers first..end - 1. Segments in the region write their saved activations to the
 * same memory, so after the forward it holds those of the last such segment. The backward
 * recomputes each of the others from its input, which is kept outside the region. */
typedef struct sv_segment {
    size_t first, end;
    bool in_region;
    bool recomputed;  /* in the region, and not the last one there */
    size_t temporary; /* bytes at the start of the region for a third buffer of the recomputation;
                         0: the session's two buffers suffice */
} sv_segment;

/* The segments of all layers in order. The owner of the struct calls sv_segments_free. */
typedef struct sv_segments {
    sv_segment *list;
    size_t count, capacity;
} sv_segments;

/* Chooses the segments by `memory`, one of SVIT_MEMORY_*:
 *   STORE             one segment of all layers, outside the region;
 *   RECOMPUTE_BLOCKS  segments of one layer in the region;
 *   RECOMPUTE_STAGES  segments of up to 64 layers in the region.
 * The choice needs the fewest bytes, except that a segment is recomputed only if that saves at
 * least half of its own bytes. SVIT_E_MEMORY. */
svit_status sv_segments_choose(sv_segments *out, const svit_context *context,
                               const sv_layer_cost *costs, size_t layers, int32_t memory,
                               svit_error *err);

/* Frees the list and clears *segments. */
void sv_segments_free(const svit_context *context, sv_segments *segments);

#endif
