/* The prepacked weights of sessions. A session that trains packs into memory of its own. Sessions
 * that only infer share one packed copy with all sessions of their model whose copy would have the
 * same bytes: those of the same input size, instruction set and GEMM backend of each layer.
 *
 * A copy is allocated by the first session that needs it and released with the last. It is packed
 * by the first forward, and again in place by the first forward after each change of the model,
 * under the lock of the model. No other forward can read it meanwhile: a change needs the model
 * alone, and every forward after it looks at the version first. */
#ifndef SV_PACKED_WEIGHTS_H
#define SV_PACKED_WEIGHTS_H

#include "session/session.h"

/* Computes the bytes of the shared copy of a session that infers; 0 for one that trains. The
 * session has its layers. SVIT_E_MEMORY if they do not fit a size_t. */
svit_status sv_packed_weights_plan(const svit_session *session, size_t *bytes, svit_error *err);

/* Sets session->shared: an existing copy, or a new one whose memory comes from the model's context.
 * Does nothing if the session trains. The session has its layers. SVIT_E_MEMORY. */
svit_status sv_packed_weights_join(svit_session *session, svit_error *err);

/* Ends the session's use of its copy, if it has one. */
void sv_packed_weights_leave(svit_session *session);

/* Bytes of the session's shared copy; 0 if it has none. */
size_t sv_packed_weights_bytes(const svit_session *session);

/* Points session->packed to the shared copy. */
void sv_packed_weights_place(svit_session *session);

/* Packs the weights that the graph of `mode` reads, if the model has changed since they were
 * packed. */
void sv_packed_weights_update(svit_session *session, int32_t mode);

#endif
