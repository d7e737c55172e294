/* How many updates have left each parameter out, as the optimiser counts. */
#ifndef SV_CHECKPOINT_SKIPPED_H
#define SV_CHECKPOINT_SKIPPED_H

#include "io/safetensors.h"
#include "session/optimizer_handle.h"

/* Writes the counts as a member of the metadata object that has been begun, if one is above 0.
 * SVIT_E_MEMORY. */
svit_status sv_skipped_write(sv_json_writer *metadata, const svit_optimizer *optimizer,
                             svit_error *err);

/* Sets the counts of the file, whose optimiser has made `steps` updates; without a member, as in
 * files of older libraries, all are 0. SVIT_E_FORMAT names what is no parameter or no number of
 * updates; SVIT_E_MEMORY. The optimiser is unchanged then. */
svit_status sv_skipped_restore(svit_optimizer *optimizer, const sv_safetensors *file,
                               uint64_t steps, const char *path, svit_error *err);

#endif
