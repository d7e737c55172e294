/* The gradients of leaves, which are fixed parts of a batch (shiftvit/reducer.h). They are added in
 * a binary tree as they are computed, and handed to a reducer bucket by bucket, a range of the
 * gradients at a time, while the backward of the last leaf goes on. */
#ifndef SV_LEAVES_H
#define SV_LEAVES_H

#include "autograd/parameter_subset.h"
#include "context/context.h"

#include <shiftvit/reducer.h>

#include <stdbool.h>

typedef struct sv_leaves sv_leaves;

/* Copies a caller's reducer, of this or another version, to *local. SVIT_E_ARGUMENT names the field
 * that is not accepted, SVIT_E_VERSION says that it sets one of a later version. */
svit_status sv_reducer_read(svit_reducer *local, const svit_reducer *reducer, svit_error *err);

/* The gradients of a session's layers in the order of the backward: the groups of layers whose
 * gradients are final together, which is one layer unless the parameters of several mix. */
typedef struct sv_gradient_groups {
    size_t layers;
    const size_t
        *first;     /* [layers] of the group that a layer is in: its first element, counted from
                            the start of the gradients. A lower layer has the same or a lower one */
    size_t largest; /* elements of a group */
} sv_gradient_groups;

/* Creates the state of a session with these gradients. `groups` is copied. SVIT_E_ARGUMENT:
 * the reducer is not valid; SVIT_E_MEMORY. */
svit_status sv_leaves_create(sv_leaves **out, svit_context *context, const sv_gradients *gradients,
                             const sv_gradient_groups *groups, const svit_reducer *reducer,
                             svit_error *err);

void sv_leaves_free(svit_context *context, sv_leaves *leaves);

/* Bytes that it holds. */
uint64_t sv_leaves_bytes(const sv_leaves *leaves);

/* SVIT_E_STATE if every leaf of this rank has had its backward since the last step. */
svit_status sv_leaves_check_open(const sv_leaves *leaves, svit_error *err);

/* Before the backward of a layer: *fresh is where its group's gradients are added up, and the
 * result the first element of the group, counted from the start of the gradients. */
size_t sv_leaves_begin_layer(const sv_leaves *leaves, size_t layer, real **fresh);

/* After it, or in its place in a leaf without images. Layers are told from the last to the lowest.
 * If the group is complete, adds its gradients to the sums that are held, while they are in the
 * cache; in the last leaf, whose sums go to gradients->values, begins buckets. */
void sv_leaves_end_layer(sv_leaves *leaves, svit_context *context, const sv_gradients *gradients,
                         size_t layer, bool is_lowest);

/* Ends the backward of one leaf. Returns a reducer's failure. */
svit_status sv_leaves_end(sv_leaves *leaves, svit_error *err);

/* Before an update: waits for the reducer, so that gradients->values are the sums of all leaves.
 * SVIT_E_STATE: leaves are missing. A failure of the reducer is returned. */
svit_status sv_leaves_finish(sv_leaves *leaves, svit_error *err);

/* Begins again with the first leaf: after an update, or where gradients are dropped. */
void sv_leaves_restart(svit_context *context, sv_leaves *leaves);

#endif
