/* The updates in which parameters were not trainable, which an optimiser counts for them. */
#ifndef SV_CHECKPOINT_RESTS_H
#define SV_CHECKPOINT_RESTS_H

#include "io/safetensors.h"
#include "session/optimizer_handle.h"

/* Writes them as a member of the metadata object that has been begun, if there are any.
 * SVIT_E_MEMORY. */
svit_status sv_rests_write(sv_json_writer *metadata, const svit_optimizer *optimizer,
                           svit_error *err);

/* Sets those of the file, whose optimiser has made `steps` updates; without a member all are 0, as
 * older libraries counted. SVIT_E_FORMAT names what is no parameter or no number of updates, or
 * SVIT_E_MEMORY; the optimiser is unchanged then. */
svit_status sv_rests_restore(svit_optimizer *optimizer, const sv_safetensors *file, uint64_t steps,
                             const char *path, svit_error *err);

#endif
