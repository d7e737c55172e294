/* Checkpoints: everything that a training run needs to go on as if it had never stopped. */
#ifndef SHIFTVIT_CHECKPOINT_H
#define SHIFTVIT_CHECKPOINT_H

#include <shiftvit/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A checkpoint file that was read and checked. Any number of threads may read it. */
typedef struct svit_checkpoint svit_checkpoint;

/* Writes model, optimiser slots, averages, step count, the session's mask counter and seed, and
 * the caller's own entries keys[i] = values[i] (count of them, UTF-8, copied) as one safetensors
 * file, which svit_model_load reads too. `optimizer` and `session` may be NULL. Atomic replace as
 * svit_file_replace: the previous file survives a failure. Keys must be unique, not start with
 * "svit." and not be "format", "format_version", "config", "classes" or "preprocessing". */
SVIT_API svit_status svit_checkpoint_save(const char *path, const svit_model *model,
                                          const svit_optimizer *optimizer,
                                          const svit_session *session, const char *const *keys,
                                          const char *const *values, size_t count, svit_error *err);

/* Reads a checkpoint; `*out` is owned by the caller, free with svit_checkpoint_free. */
SVIT_API svit_status svit_checkpoint_open(svit_checkpoint **out, svit_context *context,
                                          const char *path, svit_error *err);

/* NULL allowed. */
SVIT_API void svit_checkpoint_free(svit_checkpoint *checkpoint);

/* The value of one of the caller's entries; NULL where it has none. Borrowed until
 * svit_checkpoint_free. */
SVIT_API const char *svit_checkpoint_value(const svit_checkpoint *checkpoint, const char *key);

/* A number of the state, by name: "optimizer.steps" (updates so far), "optimizer.swapped" (1: the
 * model's weights and their average are exchanged), "session.counter" (training forwards so far).
 * 0 where the checkpoint holds no such handle. SVIT_E_ARGUMENT names the key and lists the known.
 */
SVIT_API svit_status svit_checkpoint_get_u64(const svit_checkpoint *checkpoint, const char *key,
                                             uint64_t *value, svit_error *err);

/* Puts the state back. Each of the three may be NULL and is then left out. The model must have the
 * checkpoint's configuration, the optimiser its kind and average, the session its seed: else
 * SVIT_E_ARGUMENT. SVIT_E_FORMAT names an entry of the file that no library can have written:
 * weights exchanged with an average that there is not or before the first step, or the state of a
 * handle that the file says it does not hold. On failure nothing is changed. */
SVIT_API svit_status svit_checkpoint_restore(const svit_checkpoint *checkpoint, svit_model *model,
                                             svit_optimizer *optimizer, svit_session *session,
                                             svit_error *err);

#ifdef __cplusplus
}
#endif

#endif
