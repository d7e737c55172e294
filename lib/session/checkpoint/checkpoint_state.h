/* The counters and settings that a checkpoint stores beside its tensors, and the names of its
 * arrays. */
#ifndef SV_CHECKPOINT_STATE_H
#define SV_CHECKPOINT_STATE_H

#include "io/safetensors.h"
#include "session/optimizer_handle.h"
#include "session/session.h"

/* The prefix of the library's own metadata keys in a checkpoint. */
#define SV_CHECKPOINT_PREFIX "svit."

/* Bytes of the prefix of a tensor's name, with its NUL. */
enum { SV_ARRAY_PREFIX = 40 };

/* The state of an optimiser and a session. Each value is stored as text in the metadata. */
typedef struct sv_checkpoint_state {
    uint64_t has_optimizer, kind, ema, swapped, steps; /* of the optimiser; 0 without one */
    uint64_t snapshots;                  /* of the optimiser; UINT64_MAX: not in the file */
    uint64_t has_session, counter, seed; /* of the session; 0 without one */
} sv_checkpoint_state;

/* Returns the state of the two handles, each of which may be NULL. */
sv_checkpoint_state sv_checkpoint_state_of(const svit_optimizer *optimizer,
                                           const svit_session *session);

/* Writes the state as members of the metadata object that has been begun. */
void sv_checkpoint_state_write(sv_json_writer *metadata, const sv_checkpoint_state *state);

/* Reads the state from a file's metadata. SVIT_E_FORMAT names an entry that is missing, except for
 * those that older libraries did not write, or is not an unsigned integer. */
svit_status sv_checkpoint_state_read(sv_checkpoint_state *state, const sv_safetensors *file,
                                     const char *path, svit_error *err);

/* Checks that the values are consistent. SVIT_E_FORMAT names the entry that contradicts the others.
 */
svit_status sv_checkpoint_state_check(const sv_checkpoint_state *state, const char *path,
                                      svit_error *err);

/* Writes and returns the prefix of the tensors of an optimiser slot: "optimizer.m." or "ema.". */
const char *sv_checkpoint_prefix(char prefix[SV_ARRAY_PREFIX], const sv_slot *slot);

#endif
