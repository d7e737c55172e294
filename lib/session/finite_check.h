/* The search of a session with check_finite for the first tensor of a pass that is not finite.
 * Without check_finite nothing is searched, and none is found. */
#ifndef SV_FINITE_CHECK_H
#define SV_FINITE_CHECK_H

#include "session/session.h"

/* Forgets what an earlier pass found. `training`: the pass is the forward or the backward of a
 * training step. */
void sv_finite_check_begin(svit_session *session, bool training);

/* After the forward of a layer: y[n, out], its output. If that is not finite because one of the
 * layer's parameters is not, the parameter is named. */
void sv_finite_check_output(svit_session *session, const sv_layer *layer, const real *y, size_t n);

/* Before the backward of a layer: dy[n, out], the gradient of its output. */
void sv_finite_check_dy(svit_session *session, const sv_layer *layer, const real *dy, size_t n);

/* After the backward of a layer: the gradients of its parameters, where run->gradients has them. */
void sv_finite_check_gradients(svit_session *session, const sv_layer *layer, const sv_run *run);

/* What the pass found first, in training with the index of its forward: SVIT_E_NUMERIC, or
 * SVIT_OK. */
svit_status sv_finite_check_end(const svit_session *session, svit_error *err);

#endif
