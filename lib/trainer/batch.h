/* The batches of a run: what its loss takes of a loader and of a dataset. */
#ifndef SV_BATCH_H
#define SV_BATCH_H

#include "context/context.h"
#include "losses/objective.h"

#include <shiftvit/loader.h>

/* Whether the objective needs rows of targets, given what the loader makes. */
bool sv_objective_needs_targets(const sv_objective *objective, const svit_loader *loader);

/* SVIT_E_ARGUMENT if the loss is a cross-entropy that can teach and measure nothing: of one output,
 * or with targets of `dataset` that are no probabilities; or SVIT_LOSS_BINARY with targets that are
 * not from 0 to 1. `what` names the dataset in messages. */
svit_status sv_objective_check(const sv_objective *objective, const svit_dataset *dataset,
                               const char *what, svit_context *context, svit_error *err);

/* Creates the loader of a dataset. Its batches have labels, which nothing reads, where the dataset
 * has targets and the objective reconstructs images. */
svit_status sv_objective_open_loader(svit_loader **out, const sv_objective *objective,
                                     svit_dataset *dataset, const svit_pipeline_config *pipeline,
                                     const svit_loader_config *config, svit_error *err);

/* Reads the next batch into the arrays of `batch`; batch->n is 0 at the end of an epoch. */
svit_status sv_batch_next(sv_batch *batch, const sv_objective *objective, svit_loader *loader,
                          svit_error *err);

#endif
