/* The whole numbers that a checkpoint keeps beside its tensors, and the names of its arrays. */
#ifndef SV_CHECKPOINT_STATE_H
#define SV_CHECKPOINT_STATE_H

#include "io/safetensors.h"
#include "session/optimizer_handle.h"
#include "session/session.h"

/* What the library's own metadata keys start with. */
#define SV_CHECKPOINT_PREFIX "svit."

enum { SV_ARRAY_PREFIX = 40 };

typedef struct sv_checkpoint_state {
    uint64_t has_optimizer, kind, ema, swapped, steps;
    uint64_t has_session, counter, seed;
} sv_checkpoint_state;

/* The state of the two handles, each of which may be NULL. */
sv_checkpoint_state sv_checkpoint_state_of(const svit_optimizer *optimizer,
                                           const svit_session *session);

/* Into metadata entries, decimal, and back; SVIT_E_FORMAT names an entry that is missing or no
 * number. */
void sv_checkpoint_state_write(sv_json_writer *metadata, const sv_checkpoint_state *state);
svit_status sv_checkpoint_state_read(sv_checkpoint_state *state, const sv_safetensors *file,
                                     const char *path, svit_error *err);

/* SVIT_E_FORMAT names an entry whose value no library writes beside the others. */
svit_status sv_checkpoint_state_check(const sv_checkpoint_state *state, const char *path,
                                      svit_error *err);

/* What the tensors of a slot have before their names: "optimizer.m.", or "ema.". */
const char *sv_checkpoint_prefix(char prefix[SV_ARRAY_PREFIX], const sv_slot *slot);

#endif
