/* The gradients of leaves, which are fixed parts of a batch (shiftvit/reducer.h). They are added in
 * a binary tree as they are computed, and handed to a reducer bucket by bucket, a range of the
 * gradients at a time, while the backward of the last leaf goes on. */
#ifndef SV_LEAVES_H
#define SV_LEAVES_H

#include "autograd/parameter.h"
#include "context/context.h"

#include <shiftvit/reducer.h>

#include <stdbool.h>

typedef struct sv_leaves sv_leaves;

/* SVIT_E_ARGUMENT names the field of a caller's reducer that is not accepted. */
svit_status sv_reducer_check(const svit_reducer *reducer, svit_error *err);

/* Creates the state of a session whose gradients are `span`. SVIT_E_ARGUMENT: the reducer is not
 * valid; SVIT_E_MEMORY. */
svit_status sv_leaves_create(sv_leaves **out, svit_context *context, const sv_gradient_span *span,
                             const svit_reducer *reducer, svit_error *err);

void sv_leaves_free(svit_context *context, sv_leaves *leaves);

/* The array that span->values was at creation. The session sets span->values to it again before it
 * frees the leaves. */
real *sv_leaves_home(const sv_leaves *leaves);

/* Bytes that the leaves have allocated; 0 for NULL. */
uint64_t sv_leaves_bytes(const sv_leaves *leaves);

/* SVIT_E_STATE if every leaf of this rank has had its backward since the last step. */
svit_status sv_leaves_check_open(const sv_leaves *leaves, svit_error *err);

/* Whether the leaf whose backward runs next is the last of this rank. */
bool sv_leaves_at_last(const sv_leaves *leaves);

/* In the backward of the last leaf: the gradients at `low` and above, counted from the start of the
 * span, are final in span->values. Adds the sums that are held to them, and begins a bucket of
 * those that are in none yet, if they are enough. */
void sv_leaves_ready(sv_leaves *leaves, svit_context *context, const sv_gradient_span *span,
                     size_t low);

/* Ends the backward of one leaf, whose gradients are span->values. Unless it was the last, they are
 * held for the additions to come, and span->values becomes another array, of zeros. Returns a
 * reducer's failure. */
svit_status sv_leaves_end(sv_leaves *leaves, svit_context *context, sv_gradient_span *span,
                          svit_error *err);

/* Before an update: waits for the reducer, so that span->values are the sums of all leaves.
 * SVIT_E_STATE: leaves are missing. A failure of the reducer is returned. */
svit_status sv_leaves_finish(sv_leaves *leaves, svit_error *err);

/* Begins again with the first leaf: after an update, or where gradients are dropped. All arrays but
 * span->values are zeros then. */
void sv_leaves_restart(sv_leaves *leaves);

#endif
