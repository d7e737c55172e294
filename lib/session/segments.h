/* Which layers keep for themselves what the backward needs, and which take turns in one region. */
#ifndef SV_SEGMENTS_H
#define SV_SEGMENTS_H

#include "context/context.h"

/* What layer i keeps from forward to backward, in bytes. */
typedef struct sv_layer_cost {
    size_t saved;    /* its own */
    size_t input;    /* the map that it reads */
    int keeps_input; /* it needs that map too */
} sv_layer_cost;

/* Layers first..end-1. What those of a shared segment keep lies in the region. After a forward the
 * region has that of the last shared segment; the backward makes that of the others once more, from
 * their kept inputs. */
typedef struct sv_segment {
    size_t first, end;
    int shared;
    int again; /* shared, and not the last: it is run again */
    size_t
        passing; /* bytes that running it again needs at the region's begin for maps in passing */
} sv_segment;

/* All layers in their order. Belongs to its owner; zeroed it is empty. */
typedef struct sv_segments {
    sv_segment *list;
    size_t count, capacity;
} sv_segments;

/* Chooses them by SVIT_MEMORY_*: one that shares nothing; shared ones of one layer; shared ones of
 * any length, so that all together is of the fewest bytes, or of hardly more. SVIT_E_MEMORY where
 * the context has no memory. */
svit_status sv_segments_choose(sv_segments *out, const svit_context *context,
                               const sv_layer_cost *costs, size_t layers, int32_t memory,
                               svit_error *err);
void sv_segments_free(const svit_context *context, sv_segments *segments);

#endif
