/* The struct behind svit_optimizer: a model and the optimiser of its parameters. */
#ifndef SV_OPTIMIZER_HANDLE_H
#define SV_OPTIMIZER_HANDLE_H

#include "models/model.h"
#include "optim/optimizer.h"

struct svit_optimizer {
    svit_model *model; /* a reference */
    sv_optim *core;
    uint64_t trainable_version; /* of the model, when the optimiser was created */
};

/* Creates an optimiser as svit_optimizer_create does, whose slots and updates are of `context`,
 * which computes as the model's (sv_session_context). Unless `session` is NULL, it takes memory for
 * the parameters alone that have gradients in this session, and only this session may step it. */
svit_status sv_optimizer_create(svit_optimizer **out, svit_model *model, svit_context *context,
                                const svit_session *session, const svit_optimizer_config *config,
                                svit_error *err);

/* SVIT_E_STATE if svit_model_set_trainable was called since the optimiser was created. */
svit_status sv_optimizer_check_trainable(const svit_optimizer *optimizer, svit_error *err);

#endif
